// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What a receiver's interface drops in a cell's turns is in that cell's record, with what TCP did
// about it, and not in that of the cell beside it. Each has a row of samples.csv for each of its
// turns, whose mean is its throughput, and what protocols and interface counted in them.
func TestIntegrationTurnsRecord(t *testing.T) {
	r := newRig(t)
	lossy, other := cell("tcp", "tcp"), cell("tcp", "tcp")
	lossy.ID, other.ID, lossy.PaceBitsPS, other.PaceBitsPS = "lossy", "other", 2e9, 2e9
	lossy.Probe = plan.ProbeTCP
	r.Runner.Opt.Port = 7400
	unreadable(t, r.pair.TG, r.Runner.Opt.Port, 60)
	runs := r.inTurns(lossy, other)
	r.Runner.Opt.Duration = 800 * time.Millisecond
	r.Session.Again, r.Session.Gates = &again{}, plan.DefaultGates()
	by := map[string]*results.Record{}
	for try := range 3 { // else what a busy machine spoilt must do
		recs, err := r.Play(t.Context(), runs)
		if err != nil {
			t.Fatal(err)
		}
		by[recs[0].Cell.ID], by[recs[1].Cell.ID] = &recs[0], &recs[1]
		if recs[0].Verdict == results.OK && recs[1].Verdict == results.OK {
			break
		}
		t.Logf("try %d: %s %s, %s %s", try, recs[0].Verdict, recs[0].Reason, recs[1].Verdict, recs[1].Reason)
	}
	a, b := by["lossy"], by["other"]
	for _, rec := range []*results.Record{a, b} {
		if rec.Verdict != results.OK && !rec.Spoilt() || rec.SUT.Bytes == nil || rec.TG.Bytes == nil {
			t.Fatalf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
		}
	}
	if a.SUT.RXDrops == nil || b.SUT.RXDrops == nil || a.TG.Retrans == nil {
		t.Fatalf("drops %v and %v, retransmitted %v; %q", a.SUT.RXDrops, b.SUT.RXDrops, a.TG.Retrans, a.Warnings)
	}
	t.Logf("dropped %d and %d, retransmitted %d and %d", *a.SUT.RXDrops, *b.SUT.RXDrops, *a.TG.Retrans, *b.TG.Retrans)
	// A segment of the last moments of a turn may be sent again in the next one.
	if *a.SUT.RXDrops < 3 || 10**b.SUT.RXDrops > *a.SUT.RXDrops || *a.TG.Retrans < 10 {
		t.Errorf("dropped %d and %d", *a.SUT.RXDrops, *b.SUT.RXDrops)
	}
	if flagged := slices.Contains(a.Flags, "drops_per_gb"); flagged != (a.Verdict == results.OK) ||
		slices.Contains(b.Flags, "drops_per_gb") && *b.SUT.RXDrops == 0 {
		t.Errorf("%s, flags %q and %q", a.Verdict, a.Flags, b.Flags)
	}
	for _, rec := range []*results.Record{a, b} {
		recordOfTurns(t, rec)
	}
	i := slices.IndexFunc(a.TG.Series, func(s measure.Series) bool { return s.Name == "tcp_retrans_packets" })
	if i < 0 {
		t.Fatalf("no course of TCP, %q", a.Warnings)
	}
	if s := a.TG.Series[i]; len(s.V) != a.Turns.Turns || !(s.V[len(s.V)-1] > s.V[0]) {
		t.Errorf("retransmitted in %d turns: %v", a.Turns.Turns, s.V)
	}
}

// recordOfTurns checks what the record of a cell that had turns tells of them.
func recordOfTurns(t *testing.T, rec *results.Record) {
	t.Helper()
	for label, h := range map[string]*results.Host{"SUT": &rec.SUT, "TG": &rec.TG} {
		i := slices.IndexFunc(h.Series, func(s measure.Series) bool { return s.Name == "throughput_gbps" })
		if i < 0 {
			t.Errorf("%s %s: no series", rec.Cell.ID, label)
			continue
		}
		sum, all := 0., h.Series[i]
		for _, v := range all.V {
			sum += v
		}
		mean, want := sum/float64(len(all.V)), *h.ThroughputGbps
		left := int(h.Value("turns_left_out"))
		if rec.Verdict == results.OK && math.Abs(mean/want-1) > .05 || want < slices.Min(all.V)*.999 ||
			want > slices.Max(all.V)*1.001 || len(all.T) != rec.Turns.Turns-left || all.T[0] < 0 {
			t.Errorf("%s %s: %d samples of %d turns, %d left out, mean %.3g, want %.3g Gbit/s, the first at %d ns",
				rec.Cell.ID, label, len(all.T), rec.Turns.Turns, left, mean, want, all.T[0])
		}
		way := map[string]string{"SUT": "rx", "TG": "tx"}[label]
		wire, segments := h.Value("link_"+way+"_bytes"), h.Value("netstat_tcp_in_segs")
		payload := float64(*h.Bytes)
		t.Logf("%s %s: %.0f bytes on the link, %.0f of payload; %.0f segments; a reading takes %.0f us; the "+
			"reader %.4f cores",
			rec.Cell.ID, label, wire, payload, segments, h.Value("turns_read_us"), h.Value("turns_reader_cores"))
		if !(wire > .95*payload) || !(wire < 1.3*payload) || !(segments > 0) || math.IsNaN(h.Value("link_mtu")) {
			t.Errorf("%s %s: %.0f bytes on the link, %.0f of payload, %.0f segments", rec.Cell.ID, label, wire, payload,
				segments)
		}
	}
}

// unreadable makes every so many packets with payload that leave an end of a veth for a TCP port
// packets of a protocol that nobody takes there: the interface at the other end drops these.
func unreadable(t *testing.T, e veth.End, port int, every int32) {
	t.Helper()
	vethtest.Attach(t, e, ebpf.AttachTCXEgress, asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R7, asm.R6, 0, asm.Word), // len
		asm.LoadAbs(12, asm.Half),
		asm.JNE.Imm(asm.R0, 0x0800, "pass"),
		asm.LoadAbs(14+20+2, asm.Half),
		asm.JNE.Imm(asm.R0, int32(port), "pass"),
		asm.JLT.Imm(asm.R7, 4000, "pass"), // not what opens and ends a flow
		asm.FnGetPrandomU32.Call(),
		asm.Mod.Imm(asm.R0, every),
		asm.JNE.Imm(asm.R0, 0, "pass"),
		asm.StoreImm(asm.RFP, -4, 0xb588, asm.Half), // ETH_P_802_EX1, 0x88b5
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, 12),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -4),
		asm.Mov.Imm(asm.R4, 2),
		asm.Mov.Imm(asm.R5, 0),
		asm.FnSkbStoreBytes.Call(),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("pass"), // TCX_NEXT
		asm.Return(),
	})
}
