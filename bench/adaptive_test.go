// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// The intervals that an adaptive plan ends with hold the true median of throughput, CPU and
// ROI in 95 %, and are mostly as narrow as was asked for.
func TestAdaptiveCoverage(t *testing.T) {
	const share, most = .01, 60
	c := cell("tcp", "tcp")
	truth := [3]float64{100, 1 * 8000 / 100., 100 * 100 / 2.} // of the median run
	rng, rounds := rand.New(rand.NewPCG(16, 16)), long.Rounds(600, 20000)
	var held, narrow [3]int
	ended := 0
	for range rounds {
		a := newAdaptive(matrix.Adaptive{Min: 6, Interval: share})
		var values [3][]float64
		rep := 0
		for ; rep < most && !a.done(matrix.Run{Cell: c, Rep: rep}); rep++ {
			r := results.Record{Cell: c, Rep: rep, Verdict: results.OK}
			r.SUT.ThroughputGbps, r.SUT.CPUBusyCores = new(100*(1+.007*rng.NormFloat64())), new(1+.01*rng.NormFloat64())
			r.TG.ThroughputGbps, r.TG.CPUBusyCores = r.SUT.ThroughputGbps, new(1+.01*rng.NormFloat64())
			for i, of := range precise {
				values[i] = append(values[i], *of(&r))
			}
			a.Add(r)
		}
		if rep < most {
			ended++
		}
		for i, v := range values {
			s := stat.Summarize(v)
			if *s.Lo <= truth[i] && truth[i] <= *s.Hi {
				held[i]++
			}
			if *s.RelativeWidth() <= share {
				narrow[i]++
			}
		}
	}
	t.Logf("of %d plans %d end early; throughput, CPU and ROI are held in %v, and narrow in %v", rounds, ended, held,
		narrow)
	least := .95 - 2*math.Sqrt(.95*.05/float64(rounds)) // two standard errors
	for i := range held {
		if float64(held[i]) < least*float64(rounds) || narrow[i] < rounds*70/100 {
			t.Errorf("figure %d: of %d intervals %d hold the median, %d are narrow", i, rounds, held[i], narrow[i])
		}
	}
	if ended < rounds*80/100 {
		t.Errorf("%d of %d plans end early", ended, rounds)
	}
}

// The number is fixed by the pilot: runs after it, however close or far, do not move it. A
// noisy CPU asks for more runs as a noisy throughput does.
func TestAdaptiveFixedByPilot(t *testing.T) {
	c := cell("tcp", "tcp")
	need := func(gbps, cores, later float64) int {
		a := newAdaptive(matrix.Adaptive{Min: 5, Interval: .01})
		for rep := range 100 {
			if a.done(matrix.Run{Cell: c, Rep: rep}) {
				return rep
			}
			sign := float64(1 - rep%2*2)
			r := results.Record{Cell: c, Rep: rep, Verdict: results.OK}
			r.SUT.ThroughputGbps, r.SUT.CPUBusyCores = new(100*(1+gbps*sign)), new(1+cores*sign)
			if rep >= 6 {
				r.SUT.ThroughputGbps = new(100 * (1 + later*sign))
			}
			a.Add(r)
		}
		return 100
	}
	quiet, noisy := need(.0001, .0001, 0), need(.01, .01, 0) // confounded: CPU per byte does not vary
	if quiet != 6 || noisy <= 6 || noisy >= 40 {
		t.Errorf("quiet: %d runs, noisy: %d", quiet, noisy)
	}
	if n := need(.01, .01, .2); n != noisy {
		t.Errorf("what comes after the pilot moves the number from %d to %d", noisy, n)
	}
	if n := need(.0001, .01, 0); n <= 6 {
		t.Errorf("a noisy CPU: %d runs", n)
	}
}

// Where a run of the pilot failed, the cell ends after an even number of repetitions all the
// same.
func TestAdaptiveEndsEven(t *testing.T) {
	c := cell("tcp", "tcp")
	a := newAdaptive(matrix.Adaptive{Min: 6, Interval: .01})
	for rep := range 20 {
		if a.done(matrix.Run{Cell: c, Rep: rep}) {
			if rep != 8 || !a.done(matrix.Run{Cell: c, Rep: 9}) {
				t.Errorf("ends after %d", rep)
			}
			return
		}
		r := results.Record{Cell: c, Rep: rep, Verdict: results.OK}
		if r.SUT.ThroughputGbps = new(100 + float64(rep)/100); rep == 3 {
			r.Verdict = results.Failed
		}
		a.Add(r)
	}
	t.Error("does not end")
}
