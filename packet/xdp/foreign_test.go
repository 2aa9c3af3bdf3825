// SPDX-License-Identifier: MIT

package xdp

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// A program of somebody else is refused and stays, wherever ours was to go.
func TestIntegrationForeignProgram(t *testing.T) {
	for _, theirs := range []link.XDPAttachFlags{link.XDPDriverMode, link.XDPGenericMode} {
		for _, ours := range []Attach{Native, Generic} {
			l := newLadder(t)
			p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Flags: unix.BPF_F_XDP_HAS_FRAGS,
				Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			held := in(t, l.pair.SUT.Netns, func() (link.Link, error) {
				dev, err := rtnl.LinkNamed(l.pair.SUT.Dev)
				if err != nil {
					return nil, err
				}
				return link.AttachXDP(link.XDPOptions{Program: p, Interface: dev.Index, Flags: theirs})
			})
			var refusal, raced error
			in(t, l.pair.SUT.Netns, func() (any, error) {
				o := Options{Dev: l.pair.SUT.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Attach: ours}
				_, refusal = OpenRung(o)
				// As if it had come between look and attachment.
				r := &Rung{Options: o}
				dev, err := rtnl.LinkNamed(o.Dev)
				if err != nil {
					return nil, err
				}
				raced = r.open(dev.Index)
				return nil, r.Close()
			})
			for _, err := range []error{refusal, raced} {
				if err == nil || !strings.Contains(err.Error(), "does not replace it") || fault.Fix(err) == "" {
					t.Errorf("%v over %v: %v", ours, theirs, err)
				}
			}
			info, err := held.Info()
			if id, ok := mustInfo(t, p).ID(); err != nil || !ok || info.Program != id {
				t.Errorf("%v over %v: its program is not there any more: %+v, %v", ours, theirs, info, err)
			}
			held.Close()
		}
	}
}

func mustInfo(t *testing.T, p *ebpf.Program) *ebpf.ProgramInfo {
	t.Helper()
	i, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	return i
}
