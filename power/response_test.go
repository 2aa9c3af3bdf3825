// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
)

// follower is a meter by how it follows what it measures.
type follower struct {
	averages, polls, lags time.Duration
	step                  float64 // watts
	every                 time.Duration
	declares              time.Duration // the meter says that it averages over that
	guard                 time.Duration // 0: of 10 s
}

func (m follower) String() string {
	switch {
	case m.guard > 0:
		return fmt.Sprintf("averages %v behind a guard of %v", m.averages, m.guard)
	case m.declares > time.Second:
		return fmt.Sprintf("averages %v and says so", m.averages)
	case m.declares > 0:
		return "fast and says so"
	case m.averages > 0:
		return fmt.Sprintf("averages %v", m.averages)
	case m.polls > 0:
		return fmt.Sprintf("polls every %v", m.polls)
	case m.lags > 0:
		return fmt.Sprintf("lags %v", m.lags)
	case m.step > 0:
		return fmt.Sprintf("steps of %g W", m.step)
	}
	return "fast"
}

// session is what the meter reads of runs one after another, and their windows.
func (m follower) session(rnd *rand.Rand, runs int, idle, net, window float64) (Trace, []Times) {
	const tick = .1
	var truth []float64
	say := func(seconds, watts float64) {
		for range int(math.Round(seconds / tick)) {
			truth = append(truth, watts)
		}
	}
	at := func(seconds float64) Window {
		n := float64(len(truth)) * tick
		return Window{int64(n * 1e9), int64((n + seconds) * 1e9)}
	}
	const rest = 10
	guard := max(m.guard, 10*time.Second).Seconds()
	say(90+60*rnd.Float64(), idle) // nothing ran
	var times []Times
	before := at(rest)
	say(rest, idle)
	if rnd.IntN(2) == 0 { // a warm-up, as a matrix makes
		say(.2+2*rnd.Float64(), idle)
		before.ToNs = at(0).FromNs
		x := Times{IdleBefore: before, GuardNs: int64(guard) * second}
		say(guard+rnd.Float64(), idle+net)
		x.Load = at(window)
		say(window+guard+.3*rnd.Float64(), idle+net)
		say(guard+.3*rnd.Float64(), idle)
		before = at(rest)
		say(rest, idle)
		times = append(times, x)
	}
	for range runs {
		say(.2+2*rnd.Float64(), idle) // the run is set up
		x := Times{IdleBefore: before, GuardNs: int64(guard) * second}
		say(guard+rnd.Float64(), idle+net)
		x.Load = at(window)
		say(window+guard+.3*rnd.Float64(), idle+net)
		say(guard+.3*rnd.Float64(), idle)
		before = at(rest)
		x.IdleAfter = before
		say(rest, idle)
		times = append(times, x)
	}
	say(2, idle)
	t := Trace{Info: info{Name: "meter", Scope: ScopeWall, Uncertainty: .001,
		Averages: m.declares, Channels: []channel{{Name: "wall", Kind: power}}}, Interval: m.every}
	sums := make([]float64, len(truth)+1)
	for i, w := range truth {
		sums[i+1] = sums[i] + w
	}
	state, polled, last := idle, -1, 0.
	phase := rnd.Float64() * m.polls.Seconds()
	every := int(m.every.Seconds() / tick)
	for i := range truth {
		now := float64(i) * tick
		if m.lags > 0 {
			state += (truth[i] - state) * (1 - math.Exp(-tick/m.lags.Seconds()))
		} else {
			state = truth[i]
		}
		if i%every != 0 {
			continue
		}
		v := state
		if n := int(m.averages.Seconds() / tick); n > 0 {
			v = (sums[i+1] - sums[max(i+1-n, 0)]) / float64(min(n, i+1))
		}
		v *= 1 + .01*rnd.NormFloat64()
		if m.polls > 0 {
			if n := int((now + phase) / m.polls.Seconds()); n != polled {
				polled, last = n, v
			}
			v = last
		}
		if m.step > 0 {
			v = math.Round(v/m.step) * m.step
		}
		t.Samples = append(t.Samples, sample{AtNs: int64(i) * int64(tick*1e9), V: []int64{int64(math.Round(v * 1e6))}})
	}
	return t, times
}

// coverage counts runs, how many of them have a figure with its uncertainty, and how many of these
// hold the truth.
type coverage struct{ runs, told, within int }

func (c *coverage) add(v *float64, u *float64, truth float64) {
	c.runs++
	if v == nil || u == nil {
		return
	}
	c.told++
	if math.Abs(*v-truth) <= 2**u {
		c.within++
	}
}

func (c coverage) String() string {
	if c.told == 0 {
		return "none told"
	}
	return fmt.Sprintf("%.0f %% told, %.1f %% of them within 2 u", 100*float64(c.told)/float64(c.runs),
		100*float64(c.within)/float64(c.told))
}

// Where a figure is told of a meter that averages, is polled, lags, or reads in steps, and that
// does not say so, the truth is within twice its uncertainty; and a fast meter has figures.
func TestSlowMetersCoverTheTruth(t *testing.T) {
	var meters []follower
	for _, s := range []time.Duration{10, 30, 60} {
		meters = append(meters, follower{averages: s * time.Second})
	}
	for _, s := range []time.Duration{1, 2, 3, 5, 10, 20, 30} {
		meters = append(meters, follower{polls: s * time.Second})
	}
	for _, w := range []float64{1, 2, 5, 10} {
		meters = append(meters, follower{step: w})
	}
	for _, s := range []time.Duration{5, 10, 20, 30} {
		meters = append(meters, follower{lags: s * time.Second})
	}
	meters = append(meters, follower{}, follower{declares: time.Second},
		follower{averages: 12 * time.Second, declares: 12 * time.Second},
		follower{averages: time.Minute, declares: time.Minute},
		follower{averages: time.Minute, guard: 90 * time.Second})
	for _, m := range meters {
		for _, window := range []float64{10, 100} {
			for _, every := range []time.Duration{time.Second, 100 * time.Millisecond} {
				m.every = every
				t.Run(fmt.Sprintf("%v, window %v s, read every %v", m, window, every), func(t *testing.T) {
					m.covers(t, window)
				})
			}
		}
	}
}

func (m follower) covers(t *testing.T, window float64) {
	var gross, net coverage
	rnd := rand.New(rand.NewPCG(52, uint64(window)))
	for range long.Rounds(20, 400) {
		idle, above := 100+100*rnd.Float64(), 20+230*rnd.Float64()
		x, times := m.session(rnd, 3, idle, above, window)
		for _, at := range times {
			f := Measure(x.Around(at), at)
			if x.Slow == "" {
				x.Slow = f.Slow
			}
			if at.IdleAfter.Zero() {
				continue // a warm-up
			}
			var v *float64
			if f.IdleW != nil {
				v = p(*f.GrossW - *f.IdleW)
			}
			gross.add(f.GrossW, f.GrossU, idle+above)
			net.add(v, f.NetU, above)
		}
	}
	t.Logf("gross: %v; net: %v", gross, net)
	for _, c := range []coverage{gross, net} {
		// An average over several loads can look like a fast reading of a small step, where noise
		// has hidden the first one.
		if n := float64(c.told); c.told > c.runs/200 && float64(c.within) < .95*n-2*math.Sqrt(.05*.95*n) {
			t.Errorf("the truth is within 2 u in %d of %d", c.within, c.told)
		}
		if (m.averages == 0 || m.guard > 0) && m.polls <= time.Second && m.lags == 0 && m.step <= 1 &&
			c.told < c.runs*8/10 {
			t.Errorf("a fast meter has a figure in %d of %d runs", c.told, c.runs)
		}
	}
}

// An average over a minute of runs a minute apart has no figure, and says what to do; and as soon
// as the loads come one after another and look like quick small steps, what the first showed
// counts.
func TestSlowMeterReachesTheRecord(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 52))
	m := follower{averages: time.Minute, every: time.Second}
	x, times := m.session(rnd, 4, 100, 200, 10)
	s := &Sampler{readers: []*reader{{src: steady{}, trace: x}}}
	for _, at := range times {
		got, _ := s.Measure(at)
		f := got[0]
		if at.IdleAfter.Zero() {
			continue // a warm-up
		}
		if f.GrossW != nil || f.IdleW != nil || f.NetU != nil || !slices.Contains(f.Flags, FlagSlow) ||
			!slices.Contains(f.Flags, FlagMissing) || !strings.Contains(f.Why, "--power-guard") {
			t.Errorf("%v of %v: %q, flags %q", p(f.GrossW), p(f.IdleW), f.Why, f.Flags)
		}
	}
	// One that says so is refused by what it says, with the guard that it needs.
	x.Info.Averages = time.Minute
	if f := Measure(x.Around(times[0]), times[0]); f.GrossW != nil || f.Slow == "" {
		t.Errorf("%v, %q", f.GrossW, f.Why)
	}
	// Without a step the record cannot tell; what is declared is believed then.
	flat := follower{every: time.Second}
	x, times = flat.session(rnd, 2, 100, 0, 10)
	at := times[len(times)-1]
	f := Measure(x.Around(at), at)
	if f.GrossW == nil || f.GrossU != nil || f.IdleW != nil || f.NetU != nil ||
		!slices.Contains(f.Flags, FlagResponse) ||
		!strings.Contains(f.Why, "averages=1s") || f.Drift == nil {
		t.Errorf("no step: %+v", f)
	}
	x.Info.Averages = time.Second
	if f := Measure(x.Around(at), at); f.GrossU == nil || f.NetU == nil || slices.Contains(f.Flags, FlagResponse) {
		t.Errorf("no step, and a second is declared: %+v", f)
	}
}

// What the user says of the instrument's time is what it declares, within what one can have.
func TestAveragesAreDeclared(t *testing.T) {
	for _, text := range []string{"0s", "5ms", "1h", "-1s", "60"} {
		if _, err := ParseSpec("command=true?averages=" + text); err == nil {
			t.Errorf("averages=%s is taken", text)
		}
	}
	s, err := ParseSpec("csv=meter.csv?averages=90s")
	if err != nil || s.averages() != 90*time.Second {
		t.Errorf("%v, %v", s.averages(), err)
	}
	other, err := ParseSpec("csv=meter.csv")
	if err != nil || !s.SameInstrument(other) || other.averages() != 0 {
		t.Error("what is said of an instrument makes it another")
	}
}
