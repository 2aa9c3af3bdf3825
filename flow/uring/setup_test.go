// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// newRing is a ring that the test closes, on a thread of its own.
func newRing(t testing.TB, o Options) *Ring {
	t.Helper()
	runtime.LockOSThread()
	r, err := open(o)
	if err != nil {
		runtime.UnlockOSThread()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		runtime.UnlockOSThread()
	})
	return r
}

func TestNewZeroValue(t *testing.T) { eachEngine(t, testNewZeroValue) }

func testNewZeroValue(t *testing.T) {
	r := newRing(t, Options{})
	if r.SQEntries() != 256 || r.CQEntries() != 512 || r.SQSpace() != 256 {
		t.Errorf("ring of %d and %d entries, %d free", r.SQEntries(), r.CQEntries(), r.SQSpace())
	}
	if !r.Features().Has(featExtArg | featNoDrop) {
		t.Errorf("features %#x", r.Features())
	}
	if r.NoIowait() != (r.Features().Has(featNoIowait) && !lacks(lackNoIowait)) {
		t.Error("NoIowait does not follow the feature bit and the engine")
	}
}

func TestNewRefused(t *testing.T) { eachEngine(t, testNewRefused) }

func testNewRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want []string
	}{
		{"sq", Options{SQEntries: 40000}, []string{"SQEntries 40000", "Clamp"}},
		{"cq", Options{SQEntries: 8, CQEntries: 70000}, []string{"CQEntries 70000", "Clamp"}},
		{"small cq", Options{SQEntries: 64, CQEntries: 8}, []string{"CQEntries 8 is below SQEntries 64"}},
		{"defer", Options{DeferTaskrun: true}, []string{"DeferTaskrun needs SingleIssuer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fds := openFDs(t)
			r, err := open(c.o)
			if err == nil {
				r.Close()
				t.Fatal("made a ring")
			}
			var op *fault.Error
			if !errors.As(err, &op) || !errors.Is(err, unix.EINVAL) {
				t.Fatalf("error %v is not an fault.Error with EINVAL", err)
			}
			for _, w := range append(c.want, "io_uring_setup", "EINVAL") {
				if !strings.Contains(told(err), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if n := openFDs(t); n != fds {
				t.Errorf("descriptors: %d before, %d after", fds, n)
			}
		})
	}
}

func TestNewClamp(t *testing.T) { eachEngine(t, testNewClamp) }

func testNewClamp(t *testing.T) {
	r := newRing(t, Options{SQEntries: 40000, CQEntries: 1 << 20, Clamp: true})
	if r.SQEntries() != 32768 || r.CQEntries() != 65536 {
		t.Errorf("clamped to %d and %d", r.SQEntries(), r.CQEntries())
	}
}

// A flag that no kernel has stands for one that an old kernel lacks.
func TestFixInvalidNamesFlag(t *testing.T) {
	saved := setupFlags
	defer func() { setupFlags = saved }()
	setupFlags = []setupFlag{{setupCQE32, 1 << 30, "IORING_SETUP_FUTURE", "9.9"}}
	if s := (Options{SQEntries: 8, CQE32: true}).atFault(); !strings.Contains(s, "IORING_SETUP_FUTURE (Linux 9.9)") {
		t.Errorf("fix %q", s)
	}
}

// onDoomedThread runs f on a thread that ends with it, so that f may take
// rights away from the thread.
func onDoomedThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

// refuseSetup makes io_uring_setup fail on this thread.
func refuseSetup(errno unix.Errno) error {
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_IO_URING_SETUP},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x00050000 | uint32(errno)}, // SECCOMP_RET_ERRNO
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000},                 // SECCOMP_RET_ALLOW
	}
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 2, uintptr(unsafe.Pointer(&f))); e != 0 {
		return e
	}
	return nil
}

func TestNewForbidden(t *testing.T) { eachEngine(t, testNewForbidden) }

func testNewForbidden(t *testing.T) {
	for errno, want := range map[unix.Errno]string{unix.EPERM: "seccomp profile", unix.ENOSYS: "CONFIG_IO_URING"} {
		var setupErr, err error
		var fs Features
		onDoomedThread(func() {
			if setupErr = refuseSetup(errno); setupErr == nil {
				_, err = open(Options{})
				fs = Probe()
			}
		})
		if setupErr != nil {
			t.Skipf("no seccomp filters here: %v", setupErr)
		}
		if !errors.Is(err, errno) || !strings.Contains(told(err), want) {
			t.Errorf("%v: error %q does not say %q", errno, err, want)
		}
		for _, f := range fs.List() {
			if f.Supported || f.Errno != errno || !strings.Contains(f.Fix, want) {
				t.Errorf("%v: probed %+v", errno, f)
			}
		}
	}
}

// With less locked memory than it takes, the error says so.
func TestMemlock(t *testing.T) { eachEngine(t, testMemlock) }

func testMemlock(t *testing.T) {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil || lim.Cur > 1<<30 {
		t.Skipf("the limit on locked memory does not bind: %d %v", lim.Cur, err)
	}
	m, err := NewMemory(int(lim.Cur)+1<<20, PagesBase)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var regErr error
	onDoomedThread(func() {
		if regErr = dropIPCLock(); regErr != nil {
			return
		}
		var r *Ring
		if r, regErr = open(Options{SQEntries: 4}); regErr == nil {
			regErr = r.RegisterBuffers([][]byte{m.Bytes()})
			r.Close()
		}
	})
	if !errors.Is(regErr, unix.ENOMEM) || !strings.Contains(told(regErr), "ulimit -l") {
		t.Errorf("error %v", regErr)
	}
}

// dropIPCLock takes CAP_IPC_LOCK from this thread.
func dropIPCLock() error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return err
	}
	d[0].Effective &^= 1 << unix.CAP_IPC_LOCK
	return unix.Capset(&h, &d[0])
}

func TestNothingLeaks(t *testing.T) { eachEngine(t, testNothingLeaks) }

func testNothingLeaks(t *testing.T) {
	o := Options{SingleIssuer: true, DeferTaskrun: true, RegisterFD: true}
	cycle := func() {
		r, err := open(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.NewBufRing(BufRingOptions{Entries: 64, Size: 4096, Pages: PagesTransparent}); err != nil {
			t.Fatal(err)
		}
		if err = errors.Join(r.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cycle()
	fds, maps := openFDs(t), mappings(t)
	for range 40 { // more than the 16 rings that a thread can register
		cycle()
	}
	if n := openFDs(t); n != fds {
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
	if n := mappings(t); n > maps+8 {
		t.Errorf("mappings: %d before, %d after", maps, n)
	}
}

// A New that fails half way, for want of a seventeenth place among the thread's
// registered rings, leaves nothing.
func TestHalfFailedNew(t *testing.T) { eachEngine(t, testHalfFailedNew) }

func testHalfFailedNew(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := Options{SQEntries: 4, RegisterFD: true}
	var err error
	for range 17 {
		var r *Ring
		if r, err = open(o); err != nil {
			break
		}
		defer r.Close()
	}
	if !errors.Is(err, unix.EBUSY) {
		t.Fatalf("seventeenth registered ring: %v", err)
	}
	fds, maps := openFDs(t), mappings(t)
	for range 40 {
		if _, err := open(o); !errors.Is(err, unix.EBUSY) || !strings.Contains(told(err), "16 registered rings") {
			t.Fatalf("error %v", err)
		}
	}
	if n := openFDs(t); n != fds {
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
	if n := mappings(t); n > maps+8 {
		t.Errorf("mappings: %d before, %d after", maps, n)
	}
}
