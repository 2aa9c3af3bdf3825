// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// errnos are those of the manual pages of io_uring_setup, io_uring_enter and io_uring_register,
// and of the kernel's functions behind them.
var errnos = map[uint32][]unix.Errno{
	unix.SYS_IO_URING_SETUP: {unix.EACCES, unix.EFAULT, unix.EINVAL, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSYS,
		unix.EOVERFLOW, unix.EPERM},
	unix.SYS_IO_URING_ENTER: {unix.EACCES, unix.EAGAIN, unix.EBADF, unix.EBADFD, unix.EBADR, unix.EBUSY, unix.EEXIST, unix.EFAULT,
		unix.EINVAL, unix.ENOMEM, unix.ENOSYS, unix.ENXIO, unix.EOPNOTSUPP, unix.EOWNERDEAD, unix.EPERM},
	unix.SYS_IO_URING_REGISTER: {unix.E2BIG, unix.EACCES, unix.EBADF, unix.EBADFD, unix.EBUSY, unix.EEXIST, unix.EFAULT, unix.EINVAL,
		unix.EMFILE, unix.ENFILE, unix.ENODATA, unix.ENODEV, unix.ENOENT, unix.ENOMEM, unix.ENOSYS, unix.ENXIO, unix.EOPNOTSUPP,
		unix.EOVERFLOW, unix.EPERM, unix.ERANGE, unix.ENETDOWN},
}

// calls are what this package asks of a ring, by the system call that is denied.
var calls = map[uint32]map[string]func(*Ring, *Memory) error{
	unix.SYS_IO_URING_SETUP: {
		"setup": func(*Ring, *Memory) error { return makeAndClose(Options{CQEntries: 65536, SQEntries: 8}) },
	},
	unix.SYS_IO_URING_ENTER: {
		"enter": func(r *Ring, _ *Memory) error {
			if s := r.GetSQE(); s != nil { // none is taken: the queue fills
				s.Nop(1)
			}
			_, err := r.Submit()
			return err
		},
		"wait": func(r *Ring, _ *Memory) error { _, err := r.SubmitAndWait(1, -1); return err },
	},
	unix.SYS_IO_URING_REGISTER: {
		"ring":       func(r *Ring, _ *Memory) error { return r.registerRingFD() },
		"enable":     func(r *Ring, _ *Memory) error { return r.Enable() },
		"buffers":    func(r *Ring, m *Memory) error { return r.RegisterBuffers([][]byte{m.Bytes()}) },
		"no buffers": func(r *Ring, _ *Memory) error { return r.UnregisterBuffers() },
		"files":      func(r *Ring, _ *Memory) error { return r.RegisterFiles([]int{-1}) },
		"file":       func(r *Ring, _ *Memory) error { return r.UpdateFile(0, -1) },
		"no files":   func(r *Ring, _ *Memory) error { return r.UnregisterFiles() },
		"group": func(r *Ring, _ *Memory) error {
			_, err := r.NewBufRing(BufRingOptions{Entries: 8, Size: 64})
			return err
		},
		"incremental": func(r *Ring, _ *Memory) error {
			_, err := r.NewBufRing(BufRingOptions{Entries: 8, Size: 64, Incremental: true})
			return err
		},
		"poll":       func(r *Ring, _ *Memory) error { return r.RegisterBusyPoll(BusyPoll{Time: 1000}) },
		"no poll":    func(r *Ring, _ *Memory) error { return r.UnregisterBusyPoll() },
		"resize":     func(r *Ring, _ *Memory) error { return r.Resize(16, 0) },
		"zcrx":       registered(ZcrxOptions{IfIndex: 1}),
		"long":       registered(ZcrxOptions{IfIndex: 1, BufLen: 2 * unix.Getpagesize()}),
		"no NIC":     registered(ZcrxOptions{NoDevice: true}),
		"statistics": registered(ZcrxOptions{IfIndex: 1, Stats: true}),
		"query":      func(*Ring, *Memory) error { return query(queryZcrx, new(zcrxQuery)) },
		"flush":      func(r *Ring, _ *Memory) error { return (&Zcrx{ring: r}).Flush() },
		"export":     func(r *Ring, _ *Memory) error { _, err := (&Zcrx{ring: r}).Export(); return err },
		"arm":        func(r *Ring, _ *Memory) error { return (&Zcrx{ring: r}).ArmEvent(0) },
	},
}

func registered(o ZcrxOptions) func(*Ring, *Memory) error {
	return func(r *Ring, m *Memory) error {
		o.Area, o.RefillEntries = ZcrxArea{Bytes: m.Bytes()}, 8
		_, err := r.NewZcrx(o)
		return err
	}
}

func makeAndClose(o Options) error {
	r, err := New(o)
	if err == nil {
		err = r.Close()
	}
	return err
}

// TestEachErrnoHasWords injects each errno into each call: the error names the call and what to
// do. None of what the kernel answers is left without a word, and root is never told to be root.
func TestEachErrnoHasWords(t *testing.T) {
	if s := privilege.Look(); s.Lacks(privilege.Machine, unix.CAP_NET_ADMIN, unix.CAP_IPC_LOCK) != privilege.Granted {
		t.Skipf("needs root of the machine: others are told other things: %+v", s)
	}
	m := newMemory(t, 16*unix.Getpagesize())
	for nr, byName := range calls {
		r := newRing(t, Options{SQEntries: 8, CQE32: true, NoSQArray: true})
		for _, errno := range errnos[nr] {
			if err := denied.Run(nr, errno, func() {
				for name, call := range byName {
					checkWords(t, name, errno, call(r, m))
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// met are errnos that users meet, whatever is asked for: no fix known is none.
var met = []unix.Errno{unix.EACCES, unix.EAGAIN, unix.EBADFD, unix.EBADR, unix.EEXIST, unix.EINVAL, unix.EMFILE, unix.ENFILE,
	unix.ENOMEM, unix.ENOSYS, unix.EPERM}

func checkWords(t *testing.T, name string, errno unix.Errno, err error) {
	t.Helper()
	how := fault.Fix(err)
	switch {
	case !errors.Is(err, errno):
		t.Errorf("%s, %v: %v", name, errno, err)
	case how == "":
		t.Errorf("%s, %s: no fix in %v", name, fault.ErrnoName(errno), err)
	case strings.Contains(how, "run as root") || errno == unix.ENOMEM && strings.Contains(how, "CAP_IPC_LOCK"):
		t.Errorf("%s, %s: root that has all capabilities is told: %s", name, fault.ErrnoName(errno), how)
	case errno == unix.ENOMEM && name == "setup" && !strings.Contains(how, "--cq-entries"):
		t.Errorf("%s: %s", name, how)
	}
	if strings.Contains(how, remedy.NoFix) && slices.Contains(met, errno) {
		t.Errorf("%s, %s: no fix is known", name, fault.ErrnoName(errno))
	}
}
