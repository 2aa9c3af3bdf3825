// SPDX-License-Identifier: MIT

package xdp

import (
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Lend replaces the rung's program by another from the next frame on, or with nil puts its own
// back. It must have been loaded for XDP (expected_attach_type BPF_XDP), and goes with the rung. So
// two programs can be compared in one flood, where all else is the same for both (BPF_LINK_UPDATE,
// bpf_xdp_link_update of net/core/dev.c, Linux 5.9).
func (r *Rung) Lend(p *ebpf.Program) error {
	if p == nil {
		p = r.c.Programs[framesProgRung]
	}
	if err := r.link.Update(p); err != nil {
		return &fault.Error{Op: "replace the XDP program of " + r.Dev, Err: err,
			How: "lend a program that was loaded for XDP (BPF_XDP), and takes frames in several buffers if ours does"}
	}
	return nil
}

// Also attaches the rung's program at another interface of the calling thread's network namespace,
// until what it returns is closed.
func (r *Rung) Also(dev string) (io.Closer, error) {
	at, err := rtnl.LinkNamed(dev)
	if err != nil {
		return nil, err
	}
	l, err := link.AttachXDP(link.XDPOptions{Program: r.c.Programs[framesProgRung], Interface: at.Index,
		Flags: r.flags()})
	if err != nil {
		return nil, refused(dev, r.Attach, err)
	}
	return l, nil
}
