// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What probes see in a cell's turns is in that cell's record alone: a receiver by io_uring makes
// other system calls, and is in other functions, than one by recv beside it, and packets are counted
// in the turn of their flow as the kernel's own counters have them.
func TestIntegrationTurnsProbes(t *testing.T) {
	r := newRig(t)
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	for _, c := range []*plan.Cell{&a, &b} {
		c.PaceBitsPS, c.Probe, c.ProbeSample = 4e9, "latency+syscalls+zc+drops+profile", 1
	}
	runs := r.inTurns(a, b)
	r.Runner.Opt.Duration = 1200 * time.Millisecond
	var recs []results.Record
	for range 3 { // a busy machine may spoil one
		recs = r.Runner.RunTogether(t.Context(), runs)
		if recs[0].Verdict == results.OK && recs[1].Verdict == results.OK {
			break
		}
	}
	for i := range recs {
		rec := &recs[i]
		own, other := []string{"io_uring_enter"}, []string{"recvfrom", "recvmsg"}
		if rec.Cell.RX == "tcp" {
			own, other = other, own
		}
		h := &rec.SUT
		if h.Probes == nil || h.Probes.Profile == nil {
			t.Fatalf("%s: %s %s: nothing of the probes; %q", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Warnings)
		}
		calls := map[string]float64{}
		for _, c := range h.Probes.Calls {
			calls[c.Name] = *c.Calls
			if *c.Total > 1.05*1e3*h.Value("threads")*window(rec) && c.Name == own[0] {
				t.Errorf("%s: %v ms in %s", rec.Cell.ID, *c.Total, c.Name)
			}
		}
		count := func(names []string) (n float64) {
			for _, x := range names {
				n += calls[x]
			}
			return n
		}
		if count(own) < 20 || count(other) > 0 {
			t.Errorf("%s: calls %v", rec.Cell.ID, calls)
		}
		t.Logf("%s: %s %s; calls %v; reading takes %.0f us and of probes %.0f us", rec.Cell.ID, rec.Verdict, rec.Reason, calls,
			h.Value("turns_read_us"), h.Value("turns_probes_read_us"))
		for _, f := range h.Probes.Profile.Functions {
			if strings.Contains(f.Name, "io_") {
				t.Logf("%v", f.Name)
			}
		}
		packets := h.Value("netstat_ip_in_receives")
		seen := math.NaN()
		for _, s := range h.Probes.Stages {
			t.Logf("%s: %s %v p99 %v", rec.Cell.ID, s.Name, *s.Count, s.P99)
			if s.Name == "tcp_do_rcv" {
				seen = *s.Count + *s.Unstamped
			}
		}
		if !(math.Abs(seen/packets-1) < .02) {
			t.Errorf("%s: the latency probe saw %.0f packets, the kernel counted %.0f", rec.Cell.ID, seen, packets)
		}
		for _, c := range h.Probes.Counters {
			t.Logf("%s: %s %v", rec.Cell.ID, c.Name, *c.Value)
		}
		p := h.Probes.Profile
		foreign := slices.IndexFunc(p.Functions, func(f results.ProfiledPart) bool {
			return strings.Contains(f.Name, "io_recv") || strings.Contains(f.Name, "io_uring")
		})
		t.Logf("%s: %v samples, %v between turns, sampled %.3f of %.3f cores, reader %.4f", rec.Cell.ID, *p.Samples,
			*p.Between, *p.SampledBusyCores, h.Value("cpu_busy_cores"), *p.ReaderCores)
		if (foreign >= 0) != (rec.Cell.RX == "uring") {
			t.Errorf("%s: function of io_uring: %v", rec.Cell.ID, foreign)
		}
		if slices.Contains(rec.Flags, results.FlagProfileDiffers) {
			t.Errorf("%s: the profile differs from CPU time: %q", rec.Cell.ID, rec.Warnings)
		}
	}
}

func window(rec *results.Record) float64 {
	return float64(rec.Turns.TurnNs) * float64(rec.Turns.Turns) / 1e9
}
