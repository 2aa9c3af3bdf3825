// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Stamp says where receive stamps come from.
type Stamp string

// The kinds of [Stamp].
const (
	// stampAuto is StampTCX on veth and lo, StampSocket elsewhere and where the
	// kernel cannot do StampTCX, which is then among [Latency.Hooks].
	stampAuto Stamp = ""
	// StampSocket is the kernel's own software stamp, taken where a packet
	// enters the stack (net_timestamp_check of net/core/dev.c), after GRO.
	StampSocket Stamp = "socket"
	// StampTCX is a program at the interface's tcx ingress. Packets that a
	// sender on this machine has stamped are stamped anew. Linux 6.6.
	StampTCX Stamp = "tcx"
)

// stamper makes the kernel stamp received packets, as long as it is open.
type stamper struct {
	fd    int // a socket that asks for stamps
	prog  *ebpf.Program
	links []link.Link
	// names and indices of interfaces with a program of ours.
	names  []string
	devs   []int
	netns  uint64 // where they are
	attach attachTCX
	// without are interfaces that wanted a program and could not have it.
	without []string
	reasons []Hook
}

// attachTCX is [link.AttachTCX].
type attachTCX func(link.TCXOptions) (link.Link, error)

func newStamper(s *set, kind Stamp, ifindex int, attach attachTCX) (*stamper, error) {
	st := &stamper{fd: -1, attach: attach}
	if err := st.open(s, kind, ifindex); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func (st *stamper) open(s *set, kind Stamp, ifindex int) (err error) {
	if st.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fmt.Errorf("make a socket that requests receive time stamps: %w", err)
	}
	const flags = unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_SOFTWARE
	if err := unix.SetsockoptInt(st.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags); err != nil {
		return fmt.Errorf("setsockopt(SO_TIMESTAMPING): %w", err)
	}
	if kind == StampSocket {
		return nil
	}
	if st.netns, err = NetnsInode(); err != nil {
		return err
	}
	devs, err := stampDevs(kind, ifindex)
	if err != nil || len(devs) == 0 {
		return err
	}
	st.prog, err = s.program(latencyProgStamp, nil)
	for _, d := range devs {
		name := d.Name
		var l link.Link
		aerr := err
		if err == nil {
			l, aerr = st.attach(link.TCXOptions{Interface: d.Index, Program: st.prog, Attach: ebpf.AttachTCXIngress,
				Anchor: link.Head()})
		}
		switch {
		case aerr == nil:
			st.links, st.names, st.devs = append(st.links, l), append(st.names, name), append(st.devs, d.Index)
		case kind == stampAuto: // the socket's stamps must do
			h := Hook{Stage: "stamp", Backend: "tcx", Function: "ingress of " + name}
			h.Reason = reason(h, aerr) + " (tcx needs Linux 6.6)"
			st.without, st.reasons = append(st.without, name), append(st.reasons, h)
		default:
			return s.explain("put the stamping program at tcx ingress of "+name+
				" (needs Linux 6.6; --stamp socket does not)", aerr)
		}
	}
	return nil
}

// stampDevs lists the interfaces of this namespace that need a program.
func stampDevs(kind Stamp, ifindex int) ([]rtnl.Link, error) {
	links, err := rtnl.Links()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(links, func(l rtnl.Link) bool {
		if ifindex != 0 && l.Index != ifindex {
			return true
		}
		return kind == stampAuto && l.Kind != "veth" && l.Name != "lo"
	}), nil
}

// where describes where t0 is.
func (st *stamper) where() string {
	w := "software receive stamp (after GRO; its wait, and that of interrupt coalescing, are hidden)"
	if len(st.links) > 0 {
		w = "tcx ingress of " + strings.Join(st.names, ", ") + "; elsewhere the " + w
	}
	if len(st.without) > 0 {
		w += "; on " + strings.Join(st.without, ", ") +
			" it may be late or the sender's, because tcx ingress was not available"
	}
	return w
}

func (st *stamper) close() error {
	var errs []error
	for _, l := range st.links {
		errs = append(errs, l.Close())
	}
	if st.prog != nil {
		errs = append(errs, st.prog.Close())
	}
	if st.fd >= 0 {
		errs = append(errs, unix.Close(st.fd))
	}
	return errors.Join(errs...)
}

// taiOffset returns CLOCK_TAI - CLOCK_REALTIME in ns. Programs can read only the former, stamps are
// of the latter.
func taiOffset() (int64, error) {
	var tx unix.Timex
	if _, err := unix.Adjtimex(&tx); err != nil {
		return 0, fmt.Errorf("adjtimex: %w", err)
	}
	return int64(tx.Tai) * 1e9, nil
}

// NetnsInode returns the inode of the calling thread's network namespace, which [Filter] takes.
func NetnsInode() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return 0, fmt.Errorf("stat /proc/thread-self/ns/net: %w", err)
	}
	return st.Ino, nil
}
