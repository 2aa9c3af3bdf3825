// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// kernelCounts are what the kernel counted of a namespace's datagrams and its interface's packets.
type kernelCounts struct {
	inDatagrams, outDatagrams uint64
	link                      rtnl.Stats
}

func countsOf(t *testing.T, e veth.End) (k kernelCounts) {
	t.Helper()
	err := e.Netns.Do(func() error {
		n, err := counter.ReadNetstat(counter.FS{})
		if err != nil {
			return err
		}
		k.inDatagrams, k.outDatagrams = n["UdpInDatagrams"].Value, n["UdpOutDatagrams"].Value
		l, err := rtnl.LinkNamed(e.Dev)
		if err == nil && l.Stats != nil {
			k.link = *l.Stats
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Datagrams over veth, as fast as they can be, into a small buffer, paced, and really split: each
// is right, and each that did not come is told by an exact counter. Those that came and that were
// sent are as many as the kernel counts.
func TestIntegrationDatagrams(t *testing.T) {
	r := newRig(t)
	r.Again = &again{}
	off, right := false, 0
	verified := plan.Cell{Touch: "verify", MessageBytes: 64}
	cell := func(rx, tx string, change func(*plan.Cell)) plan.Cell {
		c := verified
		c.RX, c.TX = rx, tx
		if change != nil {
			change(&c)
		}
		c.ID = fmt.Sprintf("%s/%s %d", rx, tx, c.UDPBatch)
		return c
	}
	for _, c := range []plan.Cell{
		cell("udp", "udp", nil),
		cell("udp", "udp", func(c *plan.Cell) { c.UDPBatch = 1; c.MessageBytes = 18 }),
		cell("udp", "udp", func(c *plan.Cell) { c.RcvBuf = 16 << 10; c.MessageBytes = 1472 }),
		cell("udp", "udp", func(c *plan.Cell) { c.PaceBitsPS = 5e6; c.RcvBuf = 8 << 20 }),
		cell("udp", "udp-gso", func(c *plan.Cell) { c.UDPSegment = &off }),
		cell("udp-gro", "udp-gso", func(c *plan.Cell) { c.UDPSegment = &off }),
		cell("udp-gro", "udp-gso", nil),
		cell("udp-uring", "udp-uring", nil),
	} {
		var sut, tg kernelCounts
		recs := r.playLonger(t, matrix.Run{Cell: c}, func() {
			sut, tg = countsOf(t, r.pair.SUT),
				countsOf(t, r.pair.TG)
		})
		rec := recs[len(recs)-1]
		if rec.Verdict == results.Unsupported || late(t, rec) {
			t.Logf("%s: %s", c.ID, rec.Reason)
			continue
		}
		if rec.Verdict != results.OK {
			t.Errorf("%s: %s: %s", c.ID, rec.Verdict, rec.Reason)
			continue
		}
		right++
		p := rec.SUT.Packets
		t.Logf("%s: %.0f sent, %.0f received a second, %s; limit %q, flags %q", c.ID, *rec.TG.PacketsPerS,
			*rec.SUT.PacketsPerS, p.PacketsText(), rec.Limit, rec.Flags)
		checkDatagrams(t, c, &rec)
		sent, received := uint64(0), uint64(0) // also of runs that were made again
		for _, made := range recs {
			if made.SUT.Packets != nil && made.TG.Packets != nil {
				sent, received = sent+*made.TG.Packets.Sent, received+*made.SUT.Packets.Received
			}
		}
		after, afterTG := countsOf(t, r.pair.SUT), countsOf(t, r.pair.TG)
		switch split := c.TX != "udp-gso" || c.UDPSegment != nil; {
		case c.RX == "udp-gro" || !split: // the kernel counts what it has put together once
		case after.inDatagrams-sut.inDatagrams != received || afterTG.outDatagrams-tg.outDatagrams > sent ||
			c.TX != "udp-gso" && afterTG.outDatagrams-tg.outDatagrams != sent:
			t.Errorf("%s: the kernel received %d and sent %d datagrams; %s", c.ID, after.inDatagrams-sut.inDatagrams,
				afterTG.outDatagrams-tg.outDatagrams, p.PacketsText())
		}
		if c.TX == "udp-gso" && c.UDPSegment == nil {
			if !slices.Contains(rec.Flags, results.FlagSuperPackets) {
				t.Errorf("%s: %v datagrams in a packet of the link, flags %q", c.ID, rec.PerLinkPacket(), rec.Flags)
			}
			continue
		}
		// Beside the datagrams there are TCP's few packets.
		links := afterTG.link.TxPackets - tg.link.TxPackets + afterTG.link.TxDropped - tg.link.TxDropped
		if in := after.link.RxPackets - sut.link.RxPackets; links < sent || links > sent+500 || in < received ||
			in > sent+500 {
			t.Errorf("%s: %d packets on the link, %d came; %s", c.ID, links, in, p.PacketsText())
		}
	}
	if right == 0 {
		t.Error("no run was right")
	}
}

func checkDatagrams(t *testing.T, c plan.Cell, rec *results.Record) {
	t.Helper()
	p := rec.SUT.Packets
	switch {
	case *p.Sent < 1000 || *p.Received < 100:
		t.Errorf("%s: %s", c.ID, p.PacketsText())
	case *p.Corrupted+*p.Duplicated != 0 || *p.Sent != *p.Received+*p.Lost || rec.SUT.Mismatches == nil ||
		*rec.SUT.Mismatches != 0:
		t.Errorf("%s: %s", c.ID, p.PacketsText())
	case p.Unaccounted == nil && c.RX != "udp-gro" && c.TX != "udp-gso" || p.Unaccounted != nil &&
		*p.Unaccounted != 0 || slices.Contains(rec.Flags, results.FlagPacketsUnaccounted):
		t.Errorf("%s: %s, unaccounted %v: %+v, %+v", c.ID, p.PacketsText(), p.Unaccounted, p.Counted,
			rec.TG.Packets.Counted)
	case rec.SUT.Bytes == nil || *rec.SUT.TotalBytes != *p.Received*uint64(c.MessageBytes) ||
		*rec.TG.TotalBytes != *p.Sent*uint64(c.MessageBytes):
		t.Errorf("%s: %d bytes received, %d sent; %s", c.ID, *rec.SUT.TotalBytes, *rec.TG.TotalBytes, p.PacketsText())
	}
	for _, h := range []*results.Host{&rec.SUT, &rec.TG} {
		for _, m := range h.Rows() {
			if err := metrics.CheckRow(m.Named(), m.Unit, m.Source); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
		}
	}
}

// A search ends with a rate at which each of its runs passed, or says that it did not; all its runs
// are in the journal.
func TestIntegrationLossFree(t *testing.T) {
	r := newRig(t) // for its skips; the experiment makes hosts of its own
	r.Journal.Close()
	spec := matrix.New()
	spec.Name, spec.Repetitions, spec.Warmup, spec.Duration, spec.RampUp, spec.RampDown = "loss-free", 1, false,
		100*time.Millisecond, 30*time.Millisecond, 10*time.Millisecond
	spec.Rest, spec.Gates = new(time.Duration(0)), plan.Gates{} // whatever else this machine does
	spec.Cells = []plan.Cell{{ID: "udp/udp", RX: "udp", TX: "udp", MessageBytes: 64, RcvBuf: 64 << 10}}
	dir := filepath.Join(t.TempDir(), "out")
	s := &LossSearch{MaxLoss: 0.05, Resolution: 0.3, Confirm: 2, MostTrials: 12, Least: LeastRate(spec.Cells[0])}
	recs, err := (&Experiment{Spec: spec, Dir: dir, Note: t.Logf, ToolVersion: version.Tool()}).FindLossFree(
		t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found := s.Found()
	t.Logf("%+v", found)
	j, err := results.Read(filepath.Join(dir, results.JournalFile))
	if err != nil || len(j.Records) != len(recs) || len(recs) < found.Trials || found.Trials == 0 {
		t.Fatalf("%d runs in the journal, %d made, %d trials: %v", len(j.Records), len(recs), found.Trials, err)
	}
	rate, _ := s.edges()
	passed, pace := 0, atRate(spec.Cells[0], rate).PaceBitsPS
	if found.BySender && found.FailedAt == 0 {
		pace = 0
	}
	for _, rec := range j.Records {
		if rec.Verdict == results.OK && rec.Cell.PaceBitsPS == pace && *rec.SUT.Packets.LostShare() <= s.MaxLoss {
			passed++
		}
	}
	if !found.GivenUp && found.PacketsPerS > 0 && (passed < s.Confirm || found.Passed < s.Confirm) {
		t.Errorf("%d runs at that rate lost no more, want %d", passed, s.Confirm)
	}
}

// A cell that looks for its rate has runs each of which is a search: it ends with a run at the rate
// that was found. All trials are in the journal, as warm-ups of no table, and resuming makes no
// search anew that came to its end.
func TestIntegrationLossFreeCells(t *testing.T) {
	newRig(t).Journal.Close() // for its skips; the experiment makes hosts of its own
	const file = `name: loss-free
factors: {rx: [udp], tx: [udp], message: [64], pace: [loss-free]}
rcvbuf: 64K
duration: 100ms
ramp_up: 30ms
ramp_down: 10ms
rest: 0s
repetitions: 2
loss_free: {limit: 5%, resolution: 40%, confirm: 2, trials: 30}
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, frequency: off}
`
	dir := filepath.Join(t.TempDir(), "out")
	play := func(begin begin) []results.Record {
		t.Helper()
		spec, err := matrix.Parse("f", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		recs, err := (&Experiment{Spec: spec, Dir: dir, Policy: Policy{Begin: begin}, Note: t.Logf,
			ToolVersion: version.Tool()}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return recs
	}
	made := play(fresh)
	j, err := results.Read(filepath.Join(dir, results.JournalFile))
	if err != nil || len(j.Records) != len(made) {
		t.Fatalf("%d runs in the journal, %d made: %v", len(j.Records), len(made), err)
	}
	runs, trials := map[int]bool{}, 0 // one whose window was read late is made again, as the same
	for _, r := range j.Records {
		switch {
		case r.Tries():
			if trials++; !r.Warmup || r.LossFree != nil {
				t.Errorf("trial %s: warm-up %v, %+v", r.RunID, r.Warmup, r.LossFree)
			}
		case r.Warmup:
			if r.Cell.PaceBitsPS != 0 {
				t.Errorf("a warm-up at %d bit/s", r.Cell.PaceBitsPS)
			}
		default:
			runs[r.Rep] = true
			checkSearched(t, &r, trials+1)
			trials = 0
		}
	}
	if len(runs) != 2 {
		t.Errorf("%d runs", len(runs))
	}
	for _, r := range play(Resume) {
		if r.Verdict != results.OK { // what failed is made again
			continue
		}
		if k := slices.IndexFunc(j.Records, func(o results.Record) bool {
			return !o.Warmup && o.Rep == r.Rep &&
				o.Verdict != results.Failed
		}); k >= 0 && !r.Warmup {
			t.Errorf("run #%d was made again", r.Rep)
		}
	}
}

// checkSearched checks the run that ends a search of so many trials.
func checkSearched(t *testing.T, r *results.Record, trials int) {
	t.Helper()
	f := r.LossFree
	if f == nil || f.Trials != trials {
		t.Fatalf("%s: %+v after %d trials; %s: %s", r.RunID, f, trials, r.Verdict, r.Reason)
	}
	t.Logf("%s: %+v", r.Verdict, *f)
	if r.Verdict != results.OK { // the machine may be too busy for any rate, or to read a window in time
		if late(t, *r) && r.FailedGate() == plan.ByEnvironment {
			return
		}
		if r.FailedGate() != plan.ByProof || f.PacketsPerS > 0 && !f.GivenUp {
			t.Errorf("%s: %s, by %s", r.Verdict, r.Reason, r.FailedGate())
		}
		return
	}
	if lost := r.SUT.Packets.LostShare(); lost == nil || *lost > f.MaxLoss || f.MaxLoss != .05 || f.Passed < 2 {
		t.Errorf("lost %v, %+v", lost, f)
	}
	pace, found := float64(r.Cell.PaceBitsPS), float64(atRate(r.Cell, f.PacketsPerS).PaceBitsPS)
	if (found > pace || found < pace*(1-paceMissed)-1) && !(f.BySender && f.FailedAt == 0 && pace == 0) {
		t.Errorf("the run had %.0f bit/s, and %.0f packets/s were found", pace, f.PacketsPerS)
	}
}
