// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What probes see in a cell's turns is in that cell's record alone: a receiver by io_uring makes
// other system calls than one by recv beside it, whose thread signals wake in its turns; packets
// are as many as the kernel's own counters have in these turns, and samples are of the same share
// of each cell's busy time.
func TestIntegrationTurnsProbes(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	for _, c := range []*plan.Cell{&a, &b} {
		c.PaceBitsPS, c.Probe, c.ProbeSample = 4e9, "latency+syscalls+zc+drops+profile", 1
	}
	runs := r.inTurns(a, b)
	r.Runner.Opt.Duration = 2 * time.Second
	r.Session.Again = &again{}
	var recs []results.Record
	for range 3 { // else what a busy machine spoilt must do
		recs = r.Runner.RunTogether(t.Context(), runs)
		if recs[0].Verdict == results.OK && recs[1].Verdict == results.OK {
			break
		}
	}
	var shares, samples [2]float64 // shares of the busy time that were sampled
	for i := range recs {
		rec := &recs[i]
		own, other := "io_uring_enter", "recvfrom"
		if rec.Cell.RX == "tcp" {
			own, other = other, own
		}
		h := &rec.SUT
		if h.Probes == nil || h.Probes.Profile == nil || h.Probes.Drops == nil {
			t.Fatalf("%s: %s %s: nothing of the probes; %q", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Warnings)
		}
		turnsMs := float64(rec.Turns.Turns) * 60 // from edge to edge, and more
		calls := map[string]float64{}
		for _, c := range h.Probes.Calls {
			calls[c.Name] = *c.Calls
			if c.Name == own && *c.Total > turnsMs { // what a call slept in others' turns is not its time
				t.Errorf("%s: %.0f ms in %s, in %d turns", rec.Cell.ID, *c.Total, own, rec.Turns.Turns)
			}
		}
		// Reading at the edges takes several calls of bpf(2) a turn; the sampler's, two a second.
		if calls[own] < 20 || calls[other] > 0 || calls["bpf"] > float64(rec.Turns.Turns)/4 {
			t.Errorf("%s: calls %v", rec.Cell.ID, calls)
		}
		packets, seen := h.Value("netstat_ip_in_receives"), math.NaN()
		for _, s := range h.Probes.Stages {
			if s.Name == "tcp_do_rcv" {
				seen = *s.Count + *s.Unstamped
			}
		}
		if !(math.Abs(seen/packets-1) < .02) {
			t.Errorf("%s: the latency probe saw %.0f packets, the kernel counted %.0f", rec.Cell.ID, seen, packets)
		}
		p, busy := h.Probes.Profile, h.Value("cpu_busy_cores")
		sampled := busy
		if p.SampledBusyCores != nil { // by cycles it is not known in turns
			sampled = *p.SampledBusyCores
		}
		shares[i], samples[i] = sampled/busy, *p.Samples
		if !(shares[i] > .45 && shares[i] < 1.15) || *p.Samples == 0 || *p.Between == 0 ||
			p.SampledBusyCores == nil && p.Event != "cycles" {
			t.Errorf("%s: %v samples of %.3f busy cores, of %.3f, %v between turns", rec.Cell.ID, *p.Samples, sampled,
				busy, *p.Between)
		}
		t.Logf("%s: %s %s; %.0f of %s, %.0f packets of %.0f; %.0f samples, %.0f between turns, of %.3f busy cores "+
			"(%.3f); a reading takes %.0f us, of probes %.0f us", rec.Cell.ID, rec.Verdict, rec.Reason, calls[own], own,
			seen, packets, *p.Samples, *p.Between, sampled, busy, h.Value("turns_read_us"),
			h.Value("turns_probes_read_us"))
	}
	// The clock cannot sample where interrupts are off, such as in those that wake an idle CPU:
	// up to two fifths of the busy time of a quiet virtual machine, whose paced receiver sleeps
	// often. That is of the machine, so of both cells alike, but for the chance of so few.
	chance := 3 * math.Sqrt(1/samples[0]+1/samples[1])
	if !(math.Abs(math.Log(shares[0]/shares[1])) < .05+chance) {
		t.Errorf("of one cell's busy time %.2f was sampled, of the other's %.2f, with a chance of %.2f", shares[0],
			shares[1], chance)
	}
}
