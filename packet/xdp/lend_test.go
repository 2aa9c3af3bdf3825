// SPDX-License-Identifier: MIT

package xdp

import (
	"io"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// Another program has the rung's place until it gets it back, and goes with the rung.
func TestIntegrationLend(t *testing.T) {
	l := newLadder(t)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "MIT",
		Flags: unix.BPF_F_XDP_HAS_FRAGS, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	other, _ := mustInfo(t, p).ID()
	attached := func() uint32 {
		return in(t, l.pair.SUT.Netns, func() (rtnl.Link, error) { return rtnl.LinkNamed(l.pair.SUT.Dev) }).XDPProgram
	}
	r := in(t, l.pair.SUT.Netns, func() (*Rung, error) {
		return OpenRung(Options{Dev: l.pair.SUT.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes})
	})
	own, _ := mustInfo(t, r.c.Programs[framesProgRung]).ID()
	for _, step := range []struct {
		lend *ebpf.Program
		want ebpf.ProgramID
	}{{nil, own}, {p, other}, {nil, own}, {p, other}} {
		if err := r.Lend(step.lend); err != nil {
			t.Fatal(err)
		}
		if got := attached(); got != uint32(step.want) {
			t.Errorf("program %d is there, not %d (ours is %d)", got, step.want, own)
		}
	}
	peer := func() uint32 {
		return in(t, l.pair.TG.Netns, func() (rtnl.Link, error) { return rtnl.LinkNamed(l.pair.TG.Dev) }).XDPProgram
	}
	also := in(t, l.pair.TG.Netns, func() (io.Closer, error) { return r.Also(l.pair.TG.Dev) })
	if got := peer(); got != uint32(own) {
		t.Errorf("program %d is at the other interface, not ours, %d", got, own)
	}
	if err := also.Close(); err != nil || peer() != 0 {
		t.Errorf("program %d is left there, %v", peer(), err)
	}
	if err := r.Close(); err != nil || attached() != 0 {
		t.Errorf("after the end: program %d, %v", attached(), err)
	}
}
