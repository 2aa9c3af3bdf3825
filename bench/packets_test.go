// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// packetRun is a run of so many packets, with what the counters of its ends told.
func packetRun(sent, received, twice uint64, rx, tx []results.DropCounter) *results.Record {
	r := &results.Record{Cell: plan.Cell{RX: "udp", TX: "udp"}, Verdict: results.OK}
	r.SUT.Packets = &results.Packets{Sent: new(sent), Received: new(received), Duplicated: new(twice), Counted: rx}
	r.TG.Packets = &results.Packets{Sent: new(sent), Counted: tx}
	r.TG.Env.Driver = "veth"
	return r
}

func counts(all ...any) (out []results.DropCounter) {
	for i := 0; i < len(all); i += 2 {
		out = append(out, results.DropCounter{Name: all[i].(string), Value: new(all[i+1].(float64))})
	}
	return out
}

// Each packet that was sent is received, or lost where a counter tells; else the run is flagged.
func TestMarkPackets(t *testing.T) {
	super := func(r *results.Record, n uint64) *results.Record {
		r.SUT.Packets.MostInOne = &n
		return r
	}
	gso := func(r *results.Record, split bool) *results.Record {
		r.TG.Packets.MostInOne = new(uint64(64))
		if split {
			r.Cell.UDPSegment = new(false)
		}
		return r
	}
	unknown := math.NaN()
	for name, x := range map[string]struct {
		rec        *results.Record
		lost       uint64
		left       float64
		warns      string
		oneMachine bool

		oneNamespace bool
	}{
		"all came": {packetRun(100, 100, 0, nil, nil), 0, 0, "", true, false},
		"all came, others were lost": {packetRun(100, 100, 0, counts("udp_no_ports", 7.), nil), 0, 0, "", true,
			false},
		"lost at the socket": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 40.), nil), 40, 0, "",
			true, false},
		"one came twice": {packetRun(100, 61, 1, counts("udp_rcvbuf_errors", 40.), nil), 40, 0, "",
			true, false},
		"at both ends": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.),
			counts("qdisc_drops", 10.)), 40, 0, "", true, false},
		"in between": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.), nil), 40, 10,
			"40 packets were lost; no counter shows where 10 of them went", true, false},
		"others too": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 45.), nil), 40, -5,
			"40 packets were lost, but counters show 5 more", true, false},
		"told by both ends of a veth": {packetRun(100, 60, 0, counts("softnet_dropped", 40.),
			counts("tx_dropped", 40.)), 40, 0, "", true, false},
		"told by two machines": {packetRun(100, 20, 0, counts("softnet_dropped", 40.),
			counts("tx_dropped", 40.)), 80, 0, "", false, false},
		"in one namespace": {packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 40.),
			counts("udp_rcvbuf_errors", 40.)), 40, 0, "", true, true},
		"of several in one": {super(packetRun(100, 36, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			64, unknown, "", true, false},
		"more than they can have been": {super(packetRun(1000, 36, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			964, unknown, "964 packets were lost; no counter shows where at least 836 of them went", true, false},
		"fewer than there were at least": {super(packetRun(100, 99, 0, counts("udp_rcvbuf_errors", 2.), nil), 64),
			1, unknown, "1 packets were lost, but counters show at least 1 more", true, false},
		"GSO's, one by one at the socket": {gso(packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 30.), nil), false),
			40, 10, "40 packets were lost; no counter shows where 10 of them went", true, false},
		"GSO's, together in the qdisc": {gso(packetRun(100, 36, 0, nil, counts("qdisc_drops", 2.)), true), 64,
			unknown, "", true, false},
		"GSO's, together on the link": {gso(packetRun(100, 36, 0, nil, counts("tx_dropped", 2.)), false), 64,
			unknown, "", true, false},
		"GSO's, split on the link": {gso(packetRun(100, 36, 0, nil, counts("tx_dropped", 2.)), true), 64, 62,
			"64 packets were lost; no counter shows where 62", true, false},
		"what two ends say does not agree": {packetRun(100, 101, 0, nil, nil), 0, 0, "", true, false},
	} {
		r := x.rec
		AccountPackets(r, x.oneMachine, x.oneNamespace)
		if name == "what two ends say does not agree" {
			if r.Verdict != results.Failed || !strings.Contains(r.Reason, "100 packets sent, and 101 received") {
				t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
			}
			continue
		}
		p := r.SUT.Packets
		if p.Lost == nil || *p.Lost != x.lost || (p.Unaccounted == nil) != math.IsNaN(x.left) ||
			p.Unaccounted != nil && *p.Unaccounted != x.left {
			b, _ := json.Marshal(p)
			t.Errorf("%s: %s, want %d lost and %g unaccounted", name, b, x.lost, x.left)
			continue
		}
		flagged := slices.Contains(r.Flags, results.FlagPacketsUnaccounted)
		if flagged != (x.warns != "") || flagged &&
			(len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], x.warns)) {
			t.Errorf("%s: %q, %q", name, r.Flags, r.Warnings)
		}
	}
	long := packetRun(100, 60, 0, counts("udp_rcvbuf_errors", 45.), nil)
	long.Cell.MessageBytes, long.TG.Metrics = 8000, []measure.Metric{{Name: "link_mtu", Value: 1500}}
	if AccountPackets(long, true, false); long.SUT.Packets.Unaccounted != nil || len(long.Flags) != 0 ||
		len(long.Warnings) != 1 {
		t.Errorf("fragments: %v, %q, %q", long.SUT.Packets.Unaccounted, long.Flags, long.Warnings)
	}
	hidden := packetRun(100, 100, 0, nil, nil) // as many of others may have stood for lost ones
	hidden.SUT.Metrics = []measure.Metric{{Name: stream.PacketsOfOthers, Value: 7}}
	if AccountPackets(hidden, true, false); hidden.SUT.Packets.Unaccounted != nil || len(hidden.Flags) != 0 ||
		len(hidden.Warnings) != 1 || !strings.Contains(hidden.Warnings[0], "at least 7 packets of others") {
		t.Errorf("others' packets: %v, %q, %q", hidden.SUT.Packets.Unaccounted, hidden.Flags, hidden.Warnings)
	}
	for name, r := range map[string]*results.Record{
		"no account": {Cell: plan.Cell{RX: "udp", TX: "udp"}, Verdict: results.OK},
		"another number told": func() *results.Record {
			r := packetRun(100, 60, 0, nil,
				nil)
			*r.SUT.Packets.Sent = 99
			return r
		}(),
		"the receiver has none": func() *results.Record {
			r := packetRun(100, 60, 0, nil, nil)
			r.SUT.Packets =
				nil
			return r
		}(),
	} {
		if AccountPackets(r, true, false); r.Verdict != results.Failed {
			t.Errorf("%s: %s", name, r.Verdict)
		}
	}
}

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
	r.Again = &Again{}
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
	play := func(begin Begin) []results.Record {
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
	made := play(Fresh)
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

// Of frames that are sent back, those that came back have been through; and a NIC may refuse frames
// that it does not count.
func TestMarkFrames(t *testing.T) {
	frames := func(driver string, returned float64) *results.Record {
		r := packetRun(100, 90, 0, nil, counts("tx_dropped", 10.))
		r.Cell.RX, r.Cell.TX, r.TG.Env.Driver = "xdp-tx", "pktgen-xdp", driver
		r.TG.Metrics = []measure.Metric{{Name: "frames_returned", Value: returned}}
		return r
	}
	for name, x := range map[string]struct {
		rec            *results.Record
		received, lost uint64
		told           bool
	}{
		"all came back":         {frames("veth", 90), 90, 10, true},
		"some were lost then":   {frames("veth", 70), 70, 30, true},
		"more came than were":   {frames("veth", 95), 90, 10, true},
		"by a NIC, all counted": {frames("mlx5_core", 90), 90, 10, true},
		"by a NIC, some are not": {func() *results.Record {
			r := frames("mlx5_core", 90)
			r.TG.Packets.Counted =
				nil
			return r
		}(), 90, 10, false},
	} {
		AccountPackets(x.rec, false, false)
		p := x.rec.SUT.Packets
		if *p.Received != x.received || *p.Lost != x.lost || (p.Unaccounted != nil) != x.told || x.told &&
			*p.Unaccounted != 0 || x.told == (len(x.rec.Warnings) > 0) || len(x.rec.Flags) > 0 {
			t.Errorf("%s: %s, unaccounted %v, %q, %q", name, p.PacketsText(), p.Unaccounted, x.rec.Flags,
				x.rec.Warnings)
		}
	}
}

// What the generator says that it sent is what its interface counted, or the run is flagged. Only
// several CPUs that send to one queue make a veth lose counts.
func TestMarkFramesOnLink(t *testing.T) {
	for name, x := range map[string]struct {
		cpus            string
		passed, dropped float64
		left            float64
		told, flagged   bool
		warns           string
	}{
		"as it was": {"", 90, 10, 0, true, false, ""},
		"passed on, and not counted": {"", 80, 10, 0, true, true,
			"the generator handed 100 frames to its interface, which counts 80 as passed on and 10 as not taken"},
		"more than the generator sent":    {"", 95, 10, 0, true, true, "which counts 95 as passed on"},
		"two CPUs":                        {"0-1", 90, 10, 0, true, false, ""},
		"two CPUs, passed on short":       {"0-1", 86, 10, 0, true, false, "veth loses counts"},
		"two CPUs, not taken short":       {"0-1", 90, 7, 0, false, false, "veth loses counts"},
		"two CPUs, both, and one is lost": {"0-1", 88, 1, 0, false, false, "veth loses counts"},
		"one CPU, not taken short":        {"3", 90, 7, 3, true, true, "counts 90 as passed on and 7 as not taken"},
	} {
		r := packetRun(100, 90, 0, nil, counts("tx_dropped", x.dropped))
		r.Cell.RX, r.Cell.TX, r.Cell.GenCPUs = "xdp-drop", "pktgen-xdp", x.cpus
		r.TG.Metrics = []measure.Metric{{Name: "frames_passed_on", Value: x.passed}}
		AccountPackets(r, false, false)
		p := r.SUT.Packets
		if *p.Lost != 10 || (p.Unaccounted != nil) != x.told || x.told && *p.Unaccounted != x.left ||
			slices.Contains(r.Flags, results.FlagPacketsUnaccounted) != x.flagged ||
			len(slices.Compact(r.Flags)) != len(r.Flags) || (len(r.Warnings) > 0) != (x.warns != "") ||
			x.warns != "" && !strings.Contains(r.Warnings[0], x.warns) {
			t.Errorf("%s: %s, unaccounted %v, %q, %q", name, p.PacketsText(), p.Unaccounted, r.Flags, r.Warnings)
		}
	}
	// More is missing than the interface can have failed to count.
	r := packetRun(100, 50, 0, nil, counts("tx_dropped", 7.))
	r.Cell.RX, r.Cell.TX, r.Cell.GenCPUs = "xdp-drop", "pktgen-xdp", "0-1"
	r.TG.Metrics = []measure.Metric{{Name: "frames_passed_on", Value: 90}}
	if AccountPackets(r, false, false); len(r.Flags) != 1 || len(r.Warnings) != 2 ||
		!strings.HasPrefix(r.Warnings[1], "50 packets were lost; no counter shows where at least 40 of them went") {
		t.Errorf("%q, %q", r.Flags, r.Warnings)
	}
}
