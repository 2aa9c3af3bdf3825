// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Options of [OpenRung].
type Options struct {
	Dev        string // in the calling thread's network namespace
	Tuples     Tuples
	FrameBytes int
	Action     Action
	Touch      Touch
	Attach     Attach
	CPU        int    // of [toCPU]
	OutDev     string // of [toDev]; "": Dev, which sends the frames back
}

// queueOfCPU is how many frames wait for the CPU that they are redirected to, at most.
const queueOfCPU = 2048

// Rung is an XDP program at an interface.
type Rung struct {
	Options
	c      *ebpf.Collection
	counts *countMap
	link   link.Link
}

// check refuses what would not do what it says.
func (o Options) check() error {
	if err := o.Tuples.check(); err != nil {
		return err
	}
	if o.Action == Pass && o.Touch == TouchWrite && o.Tuples.v6() {
		return &fault.Error{Op: "XDP pass with touch write: what is written spoils the UDP checksum, without " +
			"which IPv6 takes no datagram", How: "take IPv4, whose frames have none, or xdp_touch none, read or parse"}
	}
	return checkTouch(o.Action, o.Touch, o.sendsBack())
}

// sendsBack reports whether frames leave again by the interface by which they came: their addresses
// must be swapped, or a NIC or a switch may not take them back.
func (o Options) sendsBack() bool {
	return o.Action == TX || o.Action == toDev && (o.OutDev == "" || o.OutDev == o.Dev)
}

func checkTouch(a Action, t Touch, back bool) error {
	switch {
	case back && t != TouchSwapMACs:
		return &fault.Error{Op: fmt.Sprintf("XDP %v with touch %v: frames sent back must be addressed to their sender",
			a, t), How: "use xdp_touch swap-macs"}
	case t == TouchSwapMACs && (a == Pass || a == ToSocket):
		return &fault.Error{Op: fmt.Sprintf(
			"XDP %v with touch %v: the frames would be addressed to their sender and not accepted", a, t),
			How: "use xdp_touch none, read, write or parse"}
	}
	return nil
}

// OpenRung attaches the program. A program that is there already is refused, never replaced. It
// needs root. The program goes when the rung is closed, or with this process.
func OpenRung(o Options) (_ *Rung, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dev, err := rtnl.LinkNamed(o.Dev)
	if err != nil {
		return nil, err
	}
	if err := o.Tuples.checkFrameBytes(o.FrameBytes, dev.MTU); err != nil {
		return nil, err
	}
	if dev.XDP {
		return nil, Taken(o.Dev, unix.EBUSY)
	}
	r := &Rung{Options: o}
	if err := r.open(dev.Index); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rung) open(dev int) (err error) {
	programs, mend := []string{framesProgRung}, (func(*ebpf.CollectionSpec))(nil)
	if r.Action == toCPU {
		cpus, err := ebpf.PossibleCPU()
		if err != nil {
			return fmt.Errorf("redirect to a CPU: %w", err)
		}
		if r.CPU < 0 || r.CPU >= cpus {
			return fmt.Errorf("redirect to CPU %d: want 0 to %d", r.CPU, cpus-1)
		}
		programs = append(programs, framesProgOnCpu)
		mend = func(s *ebpf.CollectionSpec) { s.Maps[framesMapCpus].MaxEntries = uint32(cpus) }
	}
	r.c, err = load(with(r.Tuples.constants(), map[string]any{framesVarAction: uint8(r.Action),
		framesVarTouch: uint8(r.Touch), framesVarTargetCpu: uint32(r.CPU)}), mend, programs...)
	if err != nil {
		return err
	}
	if r.counts, err = mapCounts(r.c.Maps[framesMapCounts]); err != nil {
		return err
	}
	if err := r.aim(dev); err != nil {
		return err
	}
	if r.link, err = link.AttachXDP(link.XDPOptions{Program: r.c.Programs[framesProgRung], Interface: dev,
		Flags: r.flags()}); err != nil {
		return refused(r.Dev, r.Attach, err)
	}
	return nil
}

// flags chooses how it is attached.
func (r *Rung) flags() link.XDPAttachFlags {
	if r.Attach == Generic {
		return link.XDPGenericMode
	}
	return link.XDPDriverMode
}

// aim fills the map that frames are redirected by.
func (r *Rung) aim(dev int) (err error) {
	switch r.Action {
	case toCPU:
		v := binary.NativeEndian.AppendUint32(nil, queueOfCPU)
		v = binary.NativeEndian.AppendUint32(v, uint32(r.c.Programs[framesProgOnCpu].FD()))
		err = r.c.Maps[framesMapCpus].Put(uint32(r.CPU), v)
	case toDev:
		if r.OutDev != "" && r.OutDev != r.Dev {
			if dev, err = wayOut(r.OutDev); err != nil {
				return err
			}
		}
		err = r.c.Maps[framesMapDevs].Put(uint32(0), uint32(dev))
	}
	if err != nil {
		return fmt.Errorf("%v: %w", r.Action, err)
	}
	return nil
}

// Socket redirects frames of an RX queue to an AF_XDP socket, which is bound to it.
func (r *Rung) Socket(queue, fd int) error {
	if err := r.c.Maps[framesMapSockets].Put(uint32(queue), uint32(fd)); err != nil {
		return remedy.Error(remedy.XDPSocket, fmt.Sprintf("redirect queue %d of %s to an AF_XDP socket", queue, r.Dev),
			err, remedy.On{Dev: r.Dev, FD: fd})
	}
	return nil
}

// Read returns what each CPU has counted, by its number. It needs no system call. It must not be
// called during or after Close, nor must Behind.
func (r *Rung) Read() []Counts { return r.counts.read(atRung) }

// Behind returns what arrived behind the redirection to a CPU, by the number of the CPU.
func (r *Rung) Behind() []Counts { return r.counts.read(behindCPUMap) }

// Close detaches the program. It may be called twice.
func (r *Rung) Close() error {
	var err error
	if r.link != nil {
		err = r.link.Close()
	}
	r.counts.close()
	if r.c != nil {
		r.c.Close()
	}
	r.link, r.c = nil, nil
	return err
}

// Taken makes the error for an interface that has somebody else's program.
func Taken(dev string, err error) error {
	return remedy.Error(remedy.XDPAttach, "attach an XDP program to "+dev+
		": another one is attached, and zcbench does not replace it", err, remedy.On{Dev: dev})
}

// refused explains why the kernel attached nothing.
func refused(dev string, a Attach, err error) error {
	op := fmt.Sprintf("attach an XDP program to %s (%v)", dev, a)
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return &fault.Error{Op: op, Err: err}
	}
	if errno == unix.EBUSY || errno == unix.EEXIST {
		return Taken(dev, errno)
	}
	return remedy.Error(remedy.XDPAttach, op, errno, remedy.On{Dev: dev, Facts: func(f remedy.Fact) (string, bool) {
		return "", f == remedy.NativeXDP && native(dev)
	}})
}

// native reports whether the driver of an interface says that it has XDP.
func native(dev string) bool {
	d, err := nic.Open(dev)
	if err != nil {
		return false
	}
	defer d.Close()
	f, err := d.XDPFeatures()
	return err == nil && f&nic.XDPBasic != 0
}
