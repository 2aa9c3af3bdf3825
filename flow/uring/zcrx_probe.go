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
// all of zero-copy receive that can be tried without one.
func tryNoDevice(flush, stats bool) error {
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
	z, err := r.NewZcrx(ZcrxOptions{NoDevice: true, Area: ZcrxArea{Bytes: m.Bytes()}, RefillEntries: 16, Stats: stats})
	if err != nil {
		return notWithoutNIC(err, flush, stats)
	}
	if !flush {
		return nil
	}
	return z.Flush()
}

// notWithoutNIC corrects the advice where a kernel refused a registration without a NIC: what was
// to be tried by it may be there without such registrations.
func notWithoutNIC(err error, flush, stats bool) error {
	e := (*fault.Error)(nil)
	if !errors.As(err, &e) || !errors.Is(e.Err, unix.EINVAL) && !errors.Is(e.Err, unix.EOPNOTSUPP) {
		return err
	}
	how := e.How
	switch {
	case flush:
		how = "use Linux 6.19 or later; whether it is there can be tried without a NIC from Linux 7.1 on " +
			"(ZCRX_REG_NODEV)"
	case stats:
		how = "use Linux 7.2 or later"
	}
	return &fault.Error{Op: e.Op, Err: e.Err, Ack: e.Ack, How: how}
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
