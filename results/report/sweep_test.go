// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/sweep"
)

// swept are starts of two modes that lack memory below so many MiB, on a ring of 4 MiB: their NICs
// find no buffer then, and the kernel copies what zcrx gets. devmem starves with the least.
func swept(starts int, cv float64) results.Journal {
	var cells []plantest.Cell
	for _, x := range []struct {
		rx   string
		need float64
	}{{"devmem", 5}, {"zcrx", 7}} {
		for _, mb := range []int{4, 6, 8, 16, 64} {
			c := plantest.Cell{Cell: plantest.Modes(x.rx, "tcp"), Gbps: 50 * min(1, float64(mb)/x.need), Cores: 1,
				TGCores: 1, CV: cv}
			c.HoldBytes = 2 << 20 // no part of the rule
			c.AreaBytes, c.ID = mb<<20, fmt.Sprintf("%s/tcp %dM", x.rx, mb)
			cells = append(cells, c)
		}
	}
	j := plantest.Journal(3, starts, cells...)
	for i := range j.Records {
		r := &j.Records[i]
		r.Start, r.SUT.TotalBytes = r.Rep+1, new(uint64(2e9))
		lacks := r.Cell.AreaBytes < 6<<20 || r.Cell.RX == "zcrx" && r.Cell.AreaBytes < 8<<20
		add := func(name string, v float64) {
			r.SUT.Metrics = append(r.SUT.Metrics, measure.Metric{Name: name, Unit: "1", Value: v})
		}
		add("queue_ring_bytes", 4<<20)
		add("queue_pool_cache_full", 0)
		add("uring_overflows", 2)
		add("uring_cq_backlogs", 4)
		if lacks {
			add("queue_alloc_fail", 300)
		} else {
			add("queue_alloc_fail", 0)
		}
		r.SUT.Wants = results.WantsOf(r.SUT.Metrics)
		if lacks && r.Cell.RX == "zcrx" {
			r.SUT.CopiedBytes = new(*r.SUT.Bytes / 50)
		}
		if r.Cell.RX == "devmem" && r.Cell.AreaBytes == 4<<20 {
			r.Verdict, r.Reason = results.Failed, "SUT: starved: the NIC finds no buffer in RX queue 3"
			r.SUT.ThroughputGbps = nil
		}
	}
	return j
}

// A sweep has its section everywhere: sizes from starving to plenty, the knee of each mode with its
// interval, the rule, and the counts where they are.
func TestSweeps(t *testing.T) {
	s := Summarize(swept(10, .01))
	if len(s.Sweeps) != 2 {
		t.Fatalf("%d sweeps", len(s.Sweeps))
	}
	for i, want := range []struct {
		rx         string
		low, high  float64
		states     []sweep.State
		copied     float64
		noBuffer   []float64
		starved    int
		knee, near float64
	}{
		{"devmem", 4, 6, []sweep.State{sweep.Starved, sweep.Full, sweep.Full, sweep.Full, sweep.Full}, 0,
			[]float64{0, 0, 0, 0}, 10, 5.9, .2},
		{"zcrx", 6, 8, []sweep.State{sweep.Below, sweep.Below, sweep.Full, sweep.Full, sweep.Full}, .02,
			[]float64{150, 150, 0, 0, 0}, 0, 6.8, .4},
	} {
		x := s.Sweeps[i]
		const mib = 1 << 20
		if x.RX != want.rx || x.Factor != "area_bytes" || len(x.Sizes) != 5 || x.Low == nil || x.High == nil ||
			*x.Low != want.low*mib || *x.High != want.high*mib || x.Rule == nil || *x.Rule != 16*mib ||
			x.RuleHolds() != "enough" {
			t.Errorf("%s: %+v, %s", want.rx, x, x.RuleHolds())
			continue
		}
		if x.Knee == nil || *x.Knee < (want.knee-want.near)*mib || *x.Knee > (want.knee+want.near)*mib {
			t.Errorf("%s: the knee is at %v", want.rx, x.Text(*x.Knee))
		}
		for k := range x.Sizes {
			if got := x.Of(k); got != want.states[k] {
				t.Errorf("%s, %s: %s, want %s", want.rx, x.Text(x.Sizes[k].Size), got, want.states[k])
			}
		}
		got := x.Sizes[len(x.Sizes)-len(want.noBuffer):]
		same := func(x sweep.Size, v float64) bool { return x.PerGB["alloc_fail"] == v }
		if !slices.EqualFunc(got, want.noBuffer, same) || x.Sizes[0].Starved != want.starved {
			t.Errorf("%s: %+v", want.rx, got)
		}
		if _, told := got[0].PerGB["pool_empty"]; told {
			t.Error("what nobody counted has a figure")
		}
		if got[0].PerGB["cq_full"] != 3 {
			t.Errorf("%g times for want of completions", got[0].PerGB["cq_full"])
		}
		if first := got[0]; want.copied > 0 && (first.Copied == nil || *first.Copied < want.copied-.001) {
			t.Errorf("%s: copied %v", want.rx, first.Copied)
		}
	}
	first := s.Brief.Sentences()[0]
	const holds = "The reference's rule, 4 x ring x buffer length, holds here: 16 MiB is enough for devmem, 2.7 times " +
		"what is known to suffice; 16 MiB is enough for zcrx, 2 times what is known to suffice."
	if !strings.HasPrefix(first, "area_bytes: devmem needs 5.") ||
		!strings.Contains(first, " MiB [4..6 MiB], zcrx needs ") ||
		!strings.HasSuffix(first, holds) || s.Answer.Sentences[0].Text != first {
		t.Errorf("%s", first)
	}
	f := s.Answers[0]
	if f.Verdict != answer.Knee || f.Knee == nil || *f.Knee.Low != 4<<20 || *f.Knee.High != 6<<20 || f.Ratio != nil {
		t.Errorf("%+v", f)
	}
	var page, text, out bytes.Buffer
	figures, err := Figures(s)
	if err == nil {
		err = HTML(&page, s, figures)
	}
	if err != nil || JSON(&out, s) != nil || Table(&text, s) != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"From plenty to starving", "knee of zcrx: ", "4 x ring x buffer length: 16 MiB",
		"10 runs starved"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, want := range []string{"buffer", "10 runs starved", "below full", "plenty"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, text.String())
		}
	}
	var read struct {
		Sweeps []struct {
			Less *float64 `json:"less_at"`
			Full *float64 `json:"full_from"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || len(read.Sweeps) != 2 ||
		*read.Sweeps[1].Less != 6<<20 || *read.Sweeps[1].Full != 8<<20 {
		t.Errorf("%v: %+v", err, read)
	}
}
