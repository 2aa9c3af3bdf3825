// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Datagrams as long as there can be, over a link whose MTU they are many times: each comes whole,
// right to its last byte, or is lost as one. The kernel's counters of fragments say the same.
func TestIntegrationFragments(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 250*time.Millisecond, 50*time.Millisecond
	for i, x := range []struct {
		rx, tx string
		v6     bool
		taken  int32 // fragments that are lost, each of another datagram
	}{{"udp", "udp", false, 0}, {"udp-gro", "udp-uring", false, 0}, {"udp-uring", "udp", false, 5},
		{"udp", "udp", true, 5}, {"udp-gro", "udp", true, 0}, {"udp-uring", "udp-uring", true, 0}} {
		t.Run(fmt.Sprintf("%s from %s, IPv6 %v, %d lost", x.rx, x.tx, x.v6, x.taken), func(t *testing.T) {
			of := ipv4
			if x.v6 {
				if of = ipv6; r.pair.SUT.IPv6 == nil {
					t.Skip("this kernel has no IPv6")
				}
			}
			r.Runner.Opt.Addr = of.addr(r.pair.SUT)
			taken := func() uint64 { return 0 }
			var sut, tg fragments
			before := func() {
				if x.taken > 0 {
					taken = fragmentLoss(t, r.pair.SUT, 457, x.taken) // none of which is twice in one datagram
				}
				sut, tg = reassembly(t, r.pair.SUT, of), reassembly(t, r.pair.TG, of)
			}
			// At a pace that is no more than the receiver's memory for fragments can bear.
			c := plan.Cell{ID: fmt.Sprint(i), RX: x.rx, TX: x.tx, MTU: 1500, MessageBytes: stream.MaxDatagramBytes,
				Touch: "verify", RcvBuf: 8 << 20, PaceBitsPS: 200e6}
			rec := r.seen(t, matrix.Run{Cell: c}, func(rec *results.Record) bool { return *rec.SUT.Packets.Sent >= 20 },
				before)
			if rec.Verdict == results.Unsupported {
				t.Skip(rec.Reason)
			}
			if rec.Verdict != results.OK {
				t.Fatalf("%s: %s (%s)", rec.Verdict, rec.Reason, rec.Fix)
			}
			p := rec.SUT.Packets
			// of a busy machine
			other := slices.ContainsFunc(p.Counted, func(c results.DropCounter) bool { return *c.Value > 0 })
			if *p.Sent < 20 || *p.Received+*p.Lost != *p.Sent || *p.Corrupted+*p.Duplicated+*p.OutOfOrder != 0 ||
				*rec.SUT.Mismatches != 0 || *rec.SUT.TotalBytes != *p.Received*stream.MaxDatagramBytes {
				t.Errorf("%s: %d bytes, %d wrong", p.PacketsText(), *rec.SUT.TotalBytes, *rec.SUT.Mismatches)
			}
			if n := taken(); n != uint64(x.taken) || *p.Lost < n || *p.Lost > n && !other {
				t.Errorf("%d fragments were taken away, want %d; %s, %+v", n, x.taken, p.PacketsText(), p.Counted)
			}
			told := slices.ContainsFunc(rec.Warnings,
				func(w string) bool { return strings.Contains(w, "they travel in fragments") })
			if closed := p.Unaccounted != nil && *p.Unaccounted == 0; slices.Contains(rec.Flags,
				results.FlagPacketsUnaccounted) || !other && (told != (x.taken > 0) || closed == told) {
				t.Errorf("unaccounted %v, told %v, %q, %q", p.Unaccounted, told, rec.Flags, rec.Warnings)
			}
			got, sent := reassembly(t, r.pair.SUT, of), reassembly(t, r.pair.TG, of)
			if n := got.ok - sut.ok; n != *p.Received || sent.made-tg.made != *p.Sent*of.each {
				t.Errorf("the kernel made %d fragments, and %d datagrams of them; %s", sent.made-tg.made, n,
					p.PacketsText())
			}
			if n := got.came - sut.came; !other && n != *p.Sent*of.each-taken() {
				t.Errorf("%d fragments came; %s of %d each, %d taken away", n, p.PacketsText(), of.each, taken())
			}
			t.Logf("%s, by %d fragments", p.PacketsText(), got.came-sut.came)
		})
	}
}

// fragmented is a protocol, whose datagrams of the longest payload are each so many fragments at an
// MTU of 1500: of IPv4 one carries 1480 bytes, of IPv6 1448 beside the fragment header.
type fragmented struct {
	name string // as the counters' names begin
	each uint64
	addr func(veth.End) string
}

var (
	ipv4 = fragmented{"Ip", 45, func(e veth.End) string { return e.IPv4.String() }}
	ipv6 = fragmented{"Ip6", 46, func(e veth.End) string { return e.IPv6.String() }}
)

// fragments are what a namespace's kernel has counted of them.
type fragments struct{ made, came, ok uint64 }

func reassembly(t *testing.T, e veth.End, of fragmented) (f fragments) {
	t.Helper()
	err := e.Netns.Do(func() error {
		n, err := counter.ReadNetstat(counter.FS{})
		f = fragments{n[of.name+"FragCreates"].Value, n[of.name+"ReasmReqds"].Value, n[of.name+"ReasmOKs"].Value}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Fragments whose datagram lacks one wait for it, and fill the receiver's memory for them: from
// then on no datagram is put together, which the run says, with what to do.
func TestIntegrationFragmentsFillMemory(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 250*time.Millisecond, 50*time.Millisecond
	fragmentLoss(t, r.pair.SUT, 46, 1000) // of nearly each datagram one
	warned := func(rec *results.Record) bool {
		return slices.ContainsFunc(rec.Warnings, func(w string) bool {
			return strings.Contains(w, "ipfrag_high_thresh") && strings.Contains(w, "ReasmFails")
		})
	}
	run := matrix.Run{Cell: plan.Cell{ID: "full", RX: "udp", TX: "udp", MTU: 1500,
		MessageBytes: stream.MaxDatagramBytes, RcvBuf: 8 << 20, PaceBitsPS: 400e6}}
	rec := r.Runner.Run(t.Context(), run)
	for try := 1; !warned(&rec) && try < lateTries; try++ { // it may take longer to fill the memory
		r.longer()
		rec = r.Runner.Run(t.Context(), run)
	}
	if !warned(&rec) {
		t.Errorf("%s: %s, %q", rec.Verdict, rec.Reason, rec.Warnings)
	}
	t.Logf("%s: %s, %s, %q", rec.Verdict, rec.Reason, rec.SUT.Packets.PacketsText(), rec.Warnings)
}

// fragmentLoss takes one of every so many fragments away that come to an end of a veth, at tc
// ingress, but no more than most: nothing of the kernel's counts these. It returns how many it
// took.
func fragmentLoss(t *testing.T, e veth.End, every, most int32) (taken func() uint64) {
	t.Helper()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	vethtest.Attach(t, e, ebpf.AttachTCXIngress, asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadAbs(12, asm.Half),
		asm.JEq.Imm(asm.R0, 0x0800, "v4"),
		asm.JNE.Imm(asm.R0, 0x86dd, "pass"),
		asm.LoadAbs(14+6, asm.Byte),
		asm.JNE.Imm(asm.R0, 44, "pass"), // IPPROTO_FRAGMENT
		asm.Ja.Label("fragment"),
		asm.LoadAbs(14+6, asm.Half).WithSymbol("v4"),
		asm.And.Imm(asm.R0, 0x3fff), // more fragments, or an offset
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word).WithSymbol("fragment"),
		asm.LoadMapPtr(asm.R1, m.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), // seen
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.Mod.Imm(asm.R1, every),
		asm.JNE.Imm(asm.R1, 0, "pass"),
		asm.LoadMem(asm.R1, asm.R0, 8, asm.DWord), // taken
		asm.JGE.Imm(asm.R1, most, "pass"),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R0, 8, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 2), // TC_ACT_SHOT
		asm.Return(),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("pass"), // TCX_NEXT
		asm.Return(),
	})
	return func() uint64 {
		var v [2]uint64
		if err := m.Lookup(uint32(0), &v); err != nil {
			t.Error(err)
		}
		return v[1]
	}
}
