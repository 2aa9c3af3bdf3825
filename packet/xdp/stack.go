// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// filter is a program of the stack that drops the generator's frames: at tcx ingress, or in
// netfilter. All else goes on.
type filter struct {
	c      *ebpf.Collection
	counts *countMap
	link   link.Link
}

// openIngress drops them where an interface hands them to the stack, behind generic XDP. Other
// programs there keep their places; this one comes first.
func openIngress(dev string, t Tuples) (*filter, error) {
	l, err := rtnl.LinkNamed(dev)
	if err != nil {
		return nil, err
	}
	return openFilter(t, framesProgIngress, "put a program at tcx ingress of "+dev,
		"this needs Linux 6.6 with CONFIG_NET_XGRESS", func(p *ebpf.Program) (link.Link, error) {
			return link.AttachTCX(link.TCXOptions{Interface: l.Index, Program: p, Attach: ebpf.AttachTCXIngress,
				Anchor: link.Head()})
		})
}

// openPrerouting drops them in netfilter's prerouting hook of the calling thread's network
// namespace, before connection tracking and all tables.
func openPrerouting(t Tuples) (*filter, error) {
	family := link.NetfilterProtoIPv4
	if t.v6() {
		family = link.NetfilterProtoIPv6
	}
	return openFilter(t, framesProgPrerouting, "put a program into netfilter's prerouting hook",
		"this needs Linux 6.4 with CONFIG_NETFILTER_BPF_LINK; another program of that priority may be there",
		func(p *ebpf.Program) (link.Link, error) {
			// The first priorities are not for programs (net/netfilter/nf_bpf_link.c, 6.18).
			return link.AttachNetfilter(link.NetfilterOptions{Program: p, ProtocolFamily: family,
				Hook: link.NetfilterInetPreRouting, Priority: math.MinInt32 + 1000})
		})
}

func openFilter(t Tuples, program, op, how string, attach func(*ebpf.Program) (link.Link, error)) (*filter, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	c, err := load(t.constants(), nil, program)
	if err != nil {
		return nil, err
	}
	f := &filter{c: c}
	if f.counts, err = mapCounts(c.Maps[framesMapCounts]); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if f.link, err = attach(c.Programs[program]); err != nil {
		return nil, errors.Join(&fault.Error{Op: op, Err: err, How: how}, f.Close())
	}
	return f, nil
}

// Read does what [Rung.Read] does.
func (f *filter) Read() []Counts { return f.counts.read(atRung) }

// Close detaches the program. It may be called twice.
func (f *filter) Close() (err error) {
	if f.link != nil {
		err = f.link.Close()
	}
	f.counts.close()
	if f.c != nil {
		f.c.Close()
	}
	f.link, f.c = nil, nil
	return err
}
