// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"

	"golang.org/x/sys/unix"
)

// errnos are those of the manual pages of io_uring_setup, io_uring_enter and io_uring_register,
// and of the kernel's functions behind them.
var errnos = map[uint32][]unix.Errno{
	unix.SYS_IO_URING_SETUP: {unix.EACCES, unix.EFAULT, unix.EINVAL, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSYS,
		unix.EOVERFLOW, unix.EPERM},
	unix.SYS_IO_URING_ENTER: {unix.EACCES, unix.EAGAIN, unix.EBADF, unix.EBADFD, unix.EBADR, unix.EBUSY, unix.EEXIST,
		unix.EFAULT,
		unix.EINVAL, unix.ENOMEM, unix.ENOSYS, unix.ENXIO, unix.EOPNOTSUPP, unix.EOWNERDEAD, unix.EPERM},
	unix.SYS_IO_URING_REGISTER: {unix.E2BIG, unix.EACCES, unix.EBADF, unix.EBADFD, unix.EBUSY, unix.EEXIST, unix.EFAULT,
		unix.EINVAL,
		unix.EMFILE, unix.ENFILE, unix.ENODATA, unix.ENODEV, unix.ENOENT, unix.ENOMEM, unix.ENOSYS, unix.ENXIO,
		unix.EOPNOTSUPP,
		unix.EOVERFLOW, unix.EPERM, unix.ERANGE, unix.ENETDOWN},
}

// asked is what this package asks of a ring: by which system call, and what the error names.
var asked = map[remedy.Call][]struct {
	nr     uint32
	object string
	do     func(*Ring, *Memory) error
}{
	remedy.UringSetup: {{unix.SYS_IO_URING_SETUP, "io_uring_setup",
		func(*Ring, *Memory) error { return makeAndClose(Options{CQEntries: 65536, SQEntries: 8}) }}},
	remedy.UringEnter: {
		{unix.SYS_IO_URING_ENTER, "io_uring_enter", func(r *Ring, _ *Memory) error {
			if s := r.GetSQE(); s != nil { // none is taken: the queue fills
				s.Nop(1)
			}
			_, err := r.Submit()
			return err
		}},
		{unix.SYS_IO_URING_ENTER, "io_uring_enter", func(r *Ring, _ *Memory) error {
			_,
				err := r.SubmitAndWait(1, -1)
			return err
		}},
	},
	remedy.UringRingFD: {{unix.SYS_IO_URING_REGISTER, "ring descriptor",
		func(r *Ring, _ *Memory) error { return r.registerRingFD() }}},
	remedy.UringEnable: {{unix.SYS_IO_URING_REGISTER, "enable ring",
		func(r *Ring, _ *Memory) error { return r.Enable() }}},
	remedy.UringBuffers: {
		{unix.SYS_IO_URING_REGISTER, "1 buffers of",
			func(r *Ring, m *Memory) error { return r.RegisterBuffers([][]byte{m.Bytes()}) }},
		{unix.SYS_IO_URING_REGISTER, "unregister buffers",
			func(r *Ring, _ *Memory) error { return r.UnregisterBuffers() }},
	},
	remedy.UringFiles: {
		{unix.SYS_IO_URING_REGISTER, "register 1 files",
			func(r *Ring, _ *Memory) error { return r.RegisterFiles([]int{-1}) }},
		{unix.SYS_IO_URING_REGISTER, "update file 0", func(r *Ring, _ *Memory) error { return r.UpdateFile(0, -1) }},
		{unix.SYS_IO_URING_REGISTER, "unregister files", func(r *Ring, _ *Memory) error { return r.UnregisterFiles() }},
	},
	remedy.UringBufRing: {{unix.SYS_IO_URING_REGISTER, "pbuf ring", func(r *Ring, _ *Memory) error {
		_, err := r.NewBufRing(BufRingOptions{Entries: 8, Size: 64})
		return err
	}}},
	remedy.UringBufInc: {{unix.SYS_IO_URING_REGISTER, "pbuf ring", func(r *Ring, _ *Memory) error {
		_, err := r.NewBufRing(BufRingOptions{Entries: 8, Size: 64, Incremental: true})
		return err
	}}},
	remedy.UringNAPI: {
		{unix.SYS_IO_URING_REGISTER, "register busy polling",
			func(r *Ring, _ *Memory) error { return r.RegisterBusyPoll(busyPoll{Time: 1000}) }},
		{unix.SYS_IO_URING_REGISTER, "unregister busy polling",
			func(r *Ring, _ *Memory) error { return r.UnregisterBusyPoll() }},
	},
	remedy.UringResize: {{unix.SYS_IO_URING_REGISTER, "resize",
		func(r *Ring, _ *Memory) error { return r.Resize(16, 0) }}},
	remedy.UringQuery: {{unix.SYS_IO_URING_REGISTER, "IORING_REGISTER_QUERY",
		func(*Ring, *Memory) error { return query(queryZcrx, new(zcrxQuery)) }}},
	remedy.Zcrx: {{unix.SYS_IO_URING_REGISTER, "zcrx", registered(ZcrxOptions{IfIndex: 1})}},
	remedy.ZcrxLong: {{unix.SYS_IO_URING_REGISTER, "zcrx",
		registered(ZcrxOptions{IfIndex: 1, BufLen: 2 * unix.Getpagesize()})}},
	remedy.ZcrxNoNIC: {{unix.SYS_IO_URING_REGISTER, "zcrx", registered(ZcrxOptions{NoDevice: true})}},
	remedy.ZcrxStats: {{unix.SYS_IO_URING_REGISTER, "zcrx", registered(ZcrxOptions{IfIndex: 1, Stats: true})}},
	remedy.ZcrxProbe: {{unix.SYS_IO_URING_REGISTER, "zcrx", func(*Ring, *Memory) error { return tryZcrx() }}},
	remedy.ZcrxFlush: {{unix.SYS_IO_URING_REGISTER, "flush the zcrx",
		func(r *Ring, _ *Memory) error { return (&Zcrx{ring: r}).Flush() }}},
	remedy.ZcrxExport: {{unix.SYS_IO_URING_REGISTER, "export the zcrx", func(r *Ring, _ *Memory) error {
		_,
			err := (&Zcrx{ring: r}).Export()
		return err
	}}},
	remedy.ZcrxArm: {{unix.SYS_IO_URING_REGISTER, "arm a zcrx event",
		func(r *Ring, _ *Memory) error { return (&Zcrx{ring: r}).ArmEvent(0) }}},
	remedy.ZcrxAddArea: {{unix.SYS_IO_URING_REGISTER, "add an area", grow}},
	remedy.ZcrxImport:  {{unix.SYS_IO_URING_REGISTER, "import the zcrx", imported}},
}

func grow(r *Ring, m *Memory) error {
	_, err := (&Zcrx{ring: r, area: m.Bytes(), start: unix.Getpagesize(), size: unix.Getpagesize()}).Grow()
	return err
}

func imported(r *Ring, m *Memory) error {
	_, err := r.ImportZcrx(ZcrxShare{FD: -1, region: m}, m.Bytes())
	return err
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
	for call, all := range asked {
		for _, x := range all {
			r := newRing(t, Options{SQEntries: 8, CQE32: true, NoSQArray: true})
			injected := remedytest.Denied(x.nr, func() error { return x.do(r, m) })
			but := []unix.Errno{unix.EINTR} // after which a call is made again
			if call == remedy.ZcrxProbe {
				but = append(but, unix.EFAULT) // which says that there is zcrx
			}
			remedytest.Try(t, call, x.object, injected, but...)
			for _, errno := range errnos[x.nr] {
				if !slices.Contains(but, errno) {
					checkWords(t, call, errno, injected(errno))
				}
			}
		}
	}
}

// Each errno of a completion, and of a mapping of a ring, has the table's words.
func TestEachAnswerHasWords(t *testing.T) {
	for call, op := range map[remedy.Call]string{remedy.UringRecv: "multishot recv",
		remedy.UringSendZC: "zero-copy send"} {
		remedytest.Try(t, call, op, func(errno unix.Errno) error { return CQE{Res: -int32(errno)}.failed(call, op) })
	}
	ring := func() error { return makeAndClose(Options{Engine: Native, SQEntries: 8}) }
	remedytest.Try(t, remedy.UringMap, "of the ring", remedytest.DeniedIf(unix.SYS_MMAP, 5, offSQEs, ring))
	const size = 117 * 4096 // as nobody else maps
	memory := func(bytes int, pages Pages) func() error {
		return func() error {
			m, err := NewMemory(bytes, pages)
			return errors.Join(err, m.Close())
		}
	}
	remedytest.Try(t, remedy.Mmap, "mmap of 479232 bytes", remedytest.DeniedIf(unix.SYS_MMAP, 1, size,
		memory(size, PagesBase)))
	remedytest.Try(t, remedy.MmapHuge, "mmap of 6291456 bytes", remedytest.DeniedIf(unix.SYS_MMAP, 1, 3*hugePage,
		memory(3*hugePage, PagesHuge)))
}

// met are errnos that users meet, whatever is asked for: no fix known is none. EBADFD is of a ring
// that is disabled, or is not.
var met = []unix.Errno{unix.EACCES, unix.EAGAIN, unix.EBADR, unix.EEXIST, unix.EINVAL, unix.EMFILE, unix.ENFILE,
	unix.ENOMEM, unix.ENOSYS, unix.EPERM}

func checkWords(t *testing.T, name remedy.Call, errno unix.Errno, err error) {
	t.Helper()
	how := fault.Fix(err)
	switch {
	case !errors.Is(err, errno):
		t.Errorf("%s, %v: %v", name, errno, err)
	case how == "":
		t.Errorf("%s, %s: no fix in %v", name, fault.ErrnoName(errno), err)
	case strings.Contains(how, "run as root") || errno == unix.ENOMEM && strings.Contains(how, "CAP_IPC_LOCK"):
		t.Errorf("%s, %s: root that has all capabilities is told: %s", name, fault.ErrnoName(errno), how)
	case errno == unix.ENOMEM && name == remedy.UringSetup && !strings.Contains(how, "--cq-entries"):
		t.Errorf("%s: %s", name, how)
	}
	disabled := errno == unix.EBADFD && (name == remedy.UringEnter || name == remedy.UringEnable)
	if strings.Contains(how, remedy.NoFix) && (disabled || slices.Contains(met, errno)) {
		t.Errorf("%s, %s: no fix is known", name, fault.ErrnoName(errno))
	}
}
