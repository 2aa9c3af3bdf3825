// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// zcrxRing are the options without which the kernel refuses an interface queue.
var zcrxRing = Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, CQE32: true}

// tryZcrx hands over an address that nobody has: a kernel with zero-copy
// receive gets as far as reading it, EFAULT (io_uring/zcrx.c).
func tryZcrx() error {
	r, err := New(zcrxRing)
	if err != nil {
		return err
	}
	defer r.Close()
	const nowhere = 1 // an address, but no pointer
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerZcrxIfq, nowhere, 1, 0, 0)
	switch errno {
	case unix.EFAULT:
		return nil
	case 0:
		return errors.New("the kernel accepted a nonsense registration")
	}
	// EINVAL before 6.15, EOPNOTSUPP where it is left out
	return r.failed(remedy.ZcrxProbe, "register zcrx interface queue", errno, 0)
}

// tryNoDevice registers a small interface queue that belongs to no NIC, which is
// all of zero-copy receive that can be tried without one, and does something with it. Where the
// kernel refuses that registration, older is the advice: what was to be tried may be there all the
// same. "": the registration's own.
func tryNoDevice(o ZcrxOptions, older string, then func(*Zcrx) error) error {
	if err := tryZcrx(); err != nil {
		return err
	}
	r, err := New(zcrxRing)
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := NewMemory(16*unix.Getpagesize(), PagesBase)
	if err != nil {
		return err
	}
	defer m.Close()
	o.NoDevice, o.Area, o.RefillEntries = true, ZcrxArea{Bytes: m.Bytes()}, 16
	z, err := r.NewZcrx(o)
	if err != nil {
		return notWithoutNIC(err, older)
	}
	if then == nil {
		return nil
	}
	return then(z)
}

// tryImport lets a second ring join the queue.
func tryImport(z *Zcrx) error {
	s, err := z.Share()
	if err != nil {
		return err
	}
	defer unix.Close(s.FD)
	r, err := New(zcrxRing)
	if err != nil {
		return err
	}
	_, err = r.ImportZcrx(s, z.area)
	return errors.Join(err, r.Close())
}

// tryGrow gives the queue a second page.
func tryGrow(z *Zcrx) error {
	_, err := z.Grow()
	return err
}

// withoutNIC is the advice where what a release has could not be tried.
func withoutNIC(release string) string {
	return "use Linux " + release + " or later; whether it is there can be tried without a NIC from Linux 7.1 on " +
		"(ZCRX_REG_NODEV)"
}

// notWithoutNIC corrects the advice where a kernel refused a registration without a NIC.
func notWithoutNIC(err error, older string) error {
	e := (*fault.Error)(nil)
	if older == "" || !errors.As(err, &e) || !errors.Is(e.Err, unix.EINVAL) && !errors.Is(e.Err, unix.EOPNOTSUPP) {
		return err
	}
	return &fault.Error{Op: e.Op, Err: e.Err, Ack: e.Ack, How: older}
}

func tryBusyPoll() error {
	r, err := New(Options{SQEntries: 4})
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.RegisterBusyPoll(busyPoll{Time: time.Microsecond}); err != nil {
		return err
	}
	return r.UnregisterBusyPoll()
}

func tryResize() error {
	r, err := New(Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true, NoSQArray: true})
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Resize(8, 0); err != nil {
		return err
	}
	r.GetSQE().Nop(1)
	_, err = r.await()
	return err
}
