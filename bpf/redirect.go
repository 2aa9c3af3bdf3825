// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Redirection passes packets between a NIC and a container's end of a netkit pair, past the host's
// routes, as long as it is open: the kernel takes it away with the process.
type Redirection struct{ set *set }

// RedirectOptions are whose packets go where. Interfaces are given by their indices in the calling
// thread's network namespace, that of the NIC.
type RedirectOptions struct {
	NIC     int
	Primary int            // the end of the pair that is beside the NIC
	At      netip.AddrPort // where the container listens, for TCP
}

func (o RedirectOptions) vars() map[string]any {
	return map[string]any{"nic": uint32(o.NIC), "primary": uint32(o.Primary), "port": o.At.Port(),
		"addr": o.At.Addr().As16()}
}

// OpenRedirection begins to pass packets.
func OpenRedirection(o RedirectOptions) (*Redirection, error) {
	s, err := newSet(loadRedirect, o.vars())
	if err != nil {
		return nil, err
	}
	r := &Redirection{s}
	err = r.attach("to_container", r.toContainer(o.NIC))
	if err == nil {
		err = r.attach("from_container", func(p *ebpf.Program) (link.Link, error) {
			return link.AttachNetkit(link.NetkitOptions{Interface: o.Primary, Program: p, Attach: ebpf.AttachNetkitPeer,
				Anchor: link.Head()})
		})
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// toContainer attaches a program to what comes by a NIC.
func (*Redirection) toContainer(nic int) func(*ebpf.Program) (link.Link, error) {
	return func(p *ebpf.Program) (link.Link, error) {
		return link.AttachTCX(link.TCXOptions{Interface: nic, Program: p, Attach: ebpf.AttachTCXIngress,
			Anchor: link.Head()})
	}
}

func (r *Redirection) attach(name string, to func(*ebpf.Program) (link.Link, error)) error {
	p, err := r.set.program(name, nil)
	if err != nil {
		return r.set.explain("load eBPF program "+name, err)
	}
	r.set.progs[name] = p
	l, err := to(p)
	if err != nil {
		return notAttached(name, err)
	}
	r.set.links[name] = l
	return nil
}

// Close ends it. A nil one has ended.
func (r *Redirection) Close() error {
	if r == nil {
		return nil
	}
	return r.set.close()
}
