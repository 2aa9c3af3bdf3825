// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// Probe tries what receiving needs of the kernel; ProbeDevice says whether a NIC
// can.
func Probe() error {
	return tape.Try("kernel for rx "+Mode, func() error {
		if err := probeSocket(); err != nil {
			return err
		}
		return probe(false)
	})
}

// probeSend tries what sending needs of the kernel.
func probeSend() error {
	return tape.Try("kernel for tx "+Mode, func() error { return probe(true) })
}

func probe(tx bool) error {
	if err := nic.CanBind(tx); err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	mem, err := page()
	if err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	return mem.Close()
}

// probeSocket gives back nothing, on a socket that has nothing.
func probeSocket() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a TCP socket: %w", err)
	}
	defer unix.Close(fd)
	if _, errno := sock.ReleaseTokens(fd, []sock.TokenRange{{}}); errno != 0 {
		return nicqueue.Unsupported(Mode, remedy.Error(remedy.DontNeed, "setsockopt SO_DEVMEM_DONTNEED", errno,
			remedy.On{FD: fd}))
	}
	return nil
}

// ProbeDevice goes through all that receiving asks of interface dev and changes
// nothing there: the first thing that is missing, in the order in which a run
// would meet it. It cannot tell what a driver does with a setting until it is
// set.
func ProbeDevice(dev string) error {
	if err := Probe(); err != nil {
		return err
	}
	return nicqueue.Probe(Mode, dev, bindNothing)
}

// ProbeProvider asks the driver whether its queues take a dmabuf: a part of [ProbeDevice].
func ProbeProvider(dev string) error {
	if err := Probe(); err != nil {
		return err
	}
	return nicqueue.On(Mode, dev, bindNothing)
}

// probeQueue checks that the last queue is free, which the mode takes by default: a part of
// [ProbeDevice].
func probeQueue(dev string) error { return nicqueue.ProbeQueue(Mode, dev) }

// bindNothing asks the kernel to bind a page of memory where it says no, see
// [nicqueue.ProbeProvider].
func bindNothing(d *nic.Device) error {
	return onPage(func(mem *dmabuf.Memory) error {
		return nicqueue.ProbeProvider(Mode, d, func(queue int) error {
			b, err := d.BindRX(mem.FD, queue)
			if err == nil {
				err = b.Close()
			}
			return err
		})
	})
}

// ProbeSendDevice tries sending from memory by interface dev: it binds a page of
// memory and lets it go.
func ProbeSendDevice(dev string) error {
	if err := probeSend(); err != nil {
		return err
	}
	d, err := nic.Open(dev)
	if err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	defer d.Close()
	return onPage(func(mem *dmabuf.Memory) error {
		b, err := d.BindTX(mem.FD)
		if err != nil {
			return err
		}
		return b.Close()
	})
}

// page makes a page of memory: a udmabuf, as runs have by default, or of the kernel's heap where
// there is no udmabuf, so that a run with another area is not refused for want of it.
func page() (*dmabuf.Memory, error) {
	mem, err := dmabuf.NewUdmabuf(os.Getpagesize())
	if err == nil {
		return mem, nil
	}
	if other, herr := dmabuf.Make("heap", os.Getpagesize()); herr == nil {
		return other, nil
	}
	return nil, err
}

// onPage runs f with a page of memory.
func onPage(f func(*dmabuf.Memory) error) error {
	mem, err := page()
	if err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	defer mem.Close()
	err = f(mem)
	if u := (*fault.Unsupported)(nil); err == nil || errors.As(err, &u) || fault.Doubtful(err) != nil {
		return err
	}
	return nicqueue.Unsupported(Mode, err)
}
