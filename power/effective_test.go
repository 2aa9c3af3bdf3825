// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
)

// autoregressive are readings of an AR(1) process around 0 with spread 1.
func autoregressive(rnd *rand.Rand, n int, rho float64) []float64 {
	x := rnd.NormFloat64()
	out := make([]float64, n)
	for i := range out {
		x = rho*x + math.Sqrt(1-rho*rho)*rnd.NormFloat64()
		out[i] = x
	}
	return out
}

// The truth lies within twice the standard uncertainty in 92 of 100 windows or more,
// however closely readings follow each other, as long as a window is longer than what they
// remember. A spread over the root of their number, as if they were independent, holds it
// in three of four from .5 on, and in one of four at .95.
func TestScatterOfAutocorrelatedReadings(t *testing.T) {
	rounds := long.Rounds(2000, 20000)
	for _, c := range []struct {
		n       int
		rho     float64
		noise   float64 // white, on top
		hold    int     // each reading is told so often
		covered float64 // at the least
	}{
		{11, 0, 0, 1, .93}, {11, .5, 0, 1, .90},
		{30, 0, 0, 1, .93}, {30, .5, 0, 1, .92}, {30, .8, 0, 1, .91},
		{101, 0, 0, 1, .93}, {101, .5, 0, 1, .93}, {101, .8, 0, 1, .93}, {101, .9, 0, 1, .92},
		{301, .8, 0, 1, .93}, {301, .95, 0, 1, .92},
		{301, .9, 1, 1, .91},
		{301, 0, 0, 10, .93},
	} {
		t.Run(fmt.Sprintf("n=%d rho=%g noise=%g hold=%d", c.n, c.rho, c.noise, c.hold), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(18, uint64(c.n)))
			within, naive, sum := 0, 0, 0.
			for range rounds {
				x := autoregressive(rnd, c.n, c.rho)
				for i := range x {
					x[i] += c.noise * rnd.NormFloat64()
					if c.hold > 1 {
						x[i] = x[i-i%c.hold]
					}
				}
				var mean, squares float64
				for _, v := range x {
					mean += v / float64(c.n)
				}
				for _, v := range x {
					squares += (v - mean) * (v - mean)
				}
				u, effective := scatter(x)
				sum += effective
				if math.Abs(mean) <= 2*u {
					within++
				}
				if math.Abs(mean) <= 2*math.Sqrt(squares/float64(c.n-1)/float64(c.n)) {
					naive++
				}
			}
			share := func(n int) float64 { return float64(n) / float64(rounds) }
			t.Logf("%.3f within 2 u; %.3f as if independent; worth %.1f of %d readings", share(within), share(naive),
				sum/float64(rounds), c.n)
			if share(within) < c.covered {
				t.Errorf("the truth is within 2 u in %.3f of the windows, want %.2f", share(within), c.covered)
			}
			if c.rho == 0 && c.hold == 1 && (share(within) > .99 || sum/float64(rounds) < .7*float64(c.n)) {
				t.Errorf("independent readings: within 2 u in %.3f, worth %.1f of %d", share(within),
					sum/float64(rounds), c.n)
			}
			if (c.rho > 0 || c.hold > 1) && share(naive) > .8 {
				t.Error("this case tells nothing: readings that are taken for independent do as well")
			}
		})
	}
}

// A trend and a step are no noise, and are worth few readings; equal readings and
// one or two are no error.
func TestScatterOfFewAndEqual(t *testing.T) {
	for _, x := range [][]float64{nil, {5}, {7, 7, 7, 7, 7}, {.1, .1, .1}} {
		if u, n := scatter(x); u != 0 || n != float64(len(x)) {
			t.Errorf("%v: %v of %v", x, u, n)
		}
	}
	var trend []float64
	for i := range 100 {
		trend = append(trend, float64(i))
	}
	if u, n := scatter(trend); n > fewEffective || u < 10 {
		t.Errorf("a trend: uncertain by %v, worth %v", u, n)
	}
	for n := 2; n < 40; n++ {
		for _, kind := range []float64{1, -1} {
			x := make([]float64, n)
			for i := range x {
				x[i] = math.Pow(kind, float64(i)) * float64(1+i%3)
			}
			if u, e := scatter(x); math.IsNaN(u) || math.IsInf(u, 0) || !(e >= 1 && e <= float64(n)) {
				t.Errorf("%v: uncertain by %v, worth %v", x, u, e)
			}
		}
	}
}

// A meter whose readings drift to and fro is known less well than one of the same
// spread whose readings are independent.
func TestAutocorrelationReachesTheFigure(t *testing.T) {
	at := Times{Load: Window{0, 100 * second}, GuardNs: 10 * second}
	of := func(rho float64) (u, effective float64) {
		x := Trace{Info: info{Name: "meter", Scope: ScopeWall, Uncertainty: 0,
			Averages: time.Second, Channels: []channel{{Name: "wall", Kind: power}}}, Interval: time.Second}
		for i, w := range autoregressive(rand.New(rand.NewPCG(1, 2)), 101, rho) {
			x.Samples = append(x.Samples, sample{AtNs: int64(i) * second, V: []int64{int64((200 + w) * 1e6)}})
		}
		f := Measure(x, at)
		return *f.GrossU, metric(t, f.Metrics, "power_meter_effective_readings").Value
	}
	u0, n0 := of(0)
	u9, n9 := of(.9)
	if n0 < 70 || n9 > 25 || u9 < 2*u0 {
		t.Errorf("independent: %v W of %v readings; following each other: %v W of %v", u0, n0, u9, n9)
	}
}
