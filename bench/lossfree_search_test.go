// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// path loses what is above a limit, and sometimes a little below it.
type path struct {
	sender, limit float64
	paces         float64 // the fastest pace that the sender keeps; 0: any
	flaky         float64 // from this share of the limit on a trial may lose something
	r             *rand.Rand
}

func (p *path) try(asked float64) trial {
	t := trial{Asked: asked, Sent: p.sender}
	if asked > 0 {
		t.Sent = min(asked, p.sender)
		if p.paces > 0 {
			t.Sent = min(t.Sent, p.paces)
		}
	}
	t.Got = min(t.Sent, p.limit)
	t.Loss = 1 - t.Got/t.Sent
	if p.flaky > 0 && t.Sent > p.flaky*p.limit && t.Loss == 0 && p.r.Float64() < (t.Sent/p.limit-p.flaky)/(1-p.flaky) {
		t.Loss = 1e-4
	}
	return t
}

func search(p *path, s *LossSearch) results.LossFree {
	for {
		rate, more := s.Next()
		if !more {
			return s.Found()
		}
		s.Add(p.try(rate))
	}
}

func newSearch() *LossSearch {
	return &LossSearch{Resolution: 0.02, Confirm: 10, Least: 1000, MostTrials: 200}
}

func TestLossSearch(t *testing.T) {
	for name, x := range map[string]struct {
		path     path
		maxLoss  float64
		least    float64 // of the answer
		most     float64
		bySender bool
	}{
		"the receiver is the limit":    {path{sender: 1e6, limit: 4e5}, 0, 4e5 / 1.02, 4e5, false},
		"by far":                       {path{sender: 2e7, limit: 5000}, 0, 5000 / 1.02, 5000, false},
		"just so":                      {path{sender: 1e6, limit: 9.99e5}, 0, 9.99e5 / 1.02, 9.99e5, false},
		"the sender is":                {path{sender: 3e5, limit: 4e5}, 0, 3e5, 3e5, true},
		"some loss is allowed":         {path{sender: 1e6, limit: 4e5}, 0.1, 4e5 / 0.9 / 1.02, 4e5 / 0.9, false},
		"so much that all passes":      {path{sender: 4.1e5, limit: 4e5}, 0.1, 4.1e5, 4.1e5, true},
		"below what is looked for":     {path{sender: 1e6, limit: 500}, 0, 0, 0, false},
		"nothing comes":                {path{sender: 1e6, limit: 0}, 0, 0, 0, false},
		"what is looked for, and that": {path{sender: 1e6, limit: 1000}, 0, 1000, 1000, false},
	} {
		s := newSearch()
		s.MaxLoss = x.maxLoss
		got := search(&x.path, s)
		if got.PacketsPerS < x.least-1e-6 || got.PacketsPerS > x.most+1e-6 || got.BySender != x.bySender ||
			got.GivenUp {
			t.Errorf("%s: %+v, want %g..%g", name, got, x.least, x.most)
		}
		if got.PacketsPerS > 0 && got.Passed < 10 {
			t.Errorf("%s: passed %d times", name, got.Passed)
		}
		if !x.bySender && got.PacketsPerS > 0 && !(got.FailedAt > got.PacketsPerS &&
			got.FailedAt <= got.PacketsPerS*1.02+1e-6) {
			t.Errorf("%s: %g passed, %g failed", name, got.PacketsPerS, got.FailedAt)
		}
		if got.Trials > 60 {
			t.Errorf("%s: %d trials", name, got.Trials)
		}
	}
}

// What is told is what was really sent, at the least, and no more than was asked for.
func TestLossSearchTellsWhatWasSent(t *testing.T) {
	for name, x := range map[string]struct{ least, most float64 }{"a little less": {.992, .998},
		"about as much": {.995, 1.004}, "more": {1.001, 1.003}} {
		p, s, n := &path{sender: 1e6, limit: 4e5}, newSearch(), 0
		for rate, more := s.Next(); more; rate, more = s.Next() {
			share := x.most
			if n++; n%2 == 0 {
				share = x.least
			}
			try := p.try(rate * share)
			try.Asked = rate
			s.Add(try)
		}
		passed, failed := s.edges()
		if f := s.Found(); math.Abs(f.PacketsPerS-passed*min(1, x.least)) > 1e-6 || f.FailedAt != failed ||
			f.GivenUp || s.apart(passed, failed) {
			t.Errorf("%s: %+v, the paces %g and %g", name, f, passed, failed)
		}
	}
}

// A flood that loses next to nothing comes to what the sender sends: below that a rate is found,
// and the flood is what failed.
func TestLossSearchOfNearlyAll(t *testing.T) {
	for name, got := range map[string]float64{"as many came": 1e6, "more came, at an edge": 1.001e6} {
		s := newSearch()
		for rate, more := s.Next(); more; rate, more = s.Next() {
			x := trial{Asked: rate, Sent: cmp.Or(rate, 1e6), Got: rate}
			if rate == 0 {
				x.Got, x.Loss = got, 1e-7
			}
			s.Add(x)
		}
		f := s.Found()
		if f.PacketsPerS < 1e6/1.02-1e-6 || f.PacketsPerS >= 1e6 || f.FailedAt != 1e6 || f.Passed != s.Confirm ||
			f.GivenUp || f.Trials > s.Confirm+2 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// The sender comes to the lowest rate there is, and no more.
	s := newSearch()
	s.Add(trial{Sent: s.Least, Got: s.Least, Loss: 1e-7})
	if rate, more := s.Next(); more {
		t.Errorf("%g is tried, which failed", rate)
	}
}

// Where trials fail by chance the rate that is told has passed as often in a row as was asked for,
// and the search ends.
func TestLossSearchOfChance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		p := &path{sender: 1e6, limit: 4e5, flaky: 0.7, r: r}
		s := newSearch()
		got := search(p, s)
		if at := s.at(got.PacketsPerS); got.GivenUp || at.failed != 0 || at.passed != 10 ||
			got.PacketsPerS < 0.5*p.limit || got.PacketsPerS > p.limit {
			t.Fatalf("%+v, %+v", got, at)
		}
	}
}

// A sender that cannot keep a pace has not passed it.
func TestLossSearchOfSlowSender(t *testing.T) {
	s := newSearch()
	if s.Passes(trial{Asked: 1e5, Sent: 0.98e5}) || !s.Passes(trial{Asked: 1e5, Sent: 0.995e5}) ||
		s.Passes(trial{Asked: 1e5, Sent: 1e5, Loss: 1e-9}) {
		t.Error("a pace that was missed, or a loss, passes")
	}
	// As fast as it can be it loses much; paced it is slower than what the receiver takes.
	got := search(&path{sender: 1e6, limit: 4e5, paces: 2e5}, newSearch())
	if !got.BySender || got.GivenUp || got.PacketsPerS > 2e5 || got.PacketsPerS < 2e5/1.02 {
		t.Errorf("%+v, and the sender was the limit", got)
	}
	if got := search(&path{sender: 1e6, limit: 4e5, paces: 6e5}, newSearch()); got.BySender {
		t.Errorf("%+v, and the receiver was the limit", got)
	}
	// What lost too much as well is the receiver's.
	s = newSearch()
	s.Add(trial{Sent: 1e6, Got: 4e5, Loss: .6})
	s.Add(trial{Asked: 4e5, Sent: 3e5, Got: 2e5, Loss: .3})
	if got := s.Found(); got.BySender {
		t.Errorf("%+v", got)
	}
}

func TestLossSearchGivesUp(t *testing.T) {
	s := newSearch()
	s.MostTrials = 5
	if got := search(&path{sender: 1e6, limit: 4e5}, s); !got.GivenUp || got.Trials != 5 {
		t.Errorf("%+v", got)
	}
}

// A search ends with a trial of the rate that it tells, which is known before that trial: it is the
// run that counts.
func TestLossSearchEndsAtItsRate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 500 {
		p := &path{sender: 1e6, limit: 1e5 * float64(1+n%12), flaky: []float64{0, .6, .9}[n%3], r: r}
		s := newSearch()
		s.Confirm, s.Resolution = []int{1, 2, 10}[n%3], []float64{.02, .2}[n%2]
		for {
			last, latest := s.Last(), 0.
			rate, more := s.Next()
			if !more {
				t.Fatal("it was over before it was said")
			}
			x := p.try(rate)
			s.Add(x)
			latest = x.Asked
			if _, more = s.Next(); more {
				if last && s.Passes(x) {
					t.Fatalf("%+v was to be the last, and passed", x)
				}
				continue
			}
			found := s.Found()
			if !last || !s.Passes(x) || found.PacketsPerS == 0 || latest != found.PacketsPerS &&
				!(latest == 0 && found.BySender) {
				t.Fatalf("limit %g: last %v, %+v, %+v", p.limit, last, x, found)
			}
			break
		}
	}
}

// How many trials a search usually takes is what a plan's time is estimated by.
func TestLossSearchTakesAsUsual(t *testing.T) {
	for _, l := range []matrix.LossFree{matrix.DefaultLossFree(), {Resolution: .2, Confirm: 3, Trials: 60},
		{Resolution: .5, Confirm: 1, Trials: 60}} {
		for _, limit := range []float64{1e5, 4e5, 9.9e5} {
			s := newLossSearch(l, plan.Cell{RX: "udp", TX: "udp", MessageBytes: 64})
			got := search(&path{sender: 1e6, limit: limit}, s).Trials
			if got > 2*l.Usual() || 3*got < l.Usual() {
				t.Errorf("%+v, limit %g: %d trials, usually about %d", l, limit, got, l.Usual())
			}
		}
	}
}

// What a trial comes to is taken by the search, and ends it where it says nothing of loss.
func TestLossSearchTakes(t *testing.T) {
	rec := func(v results.Verdict, sent, got uint64) *results.Record {
		r := lossRun(sent, got)
		r.Verdict, r.SUT.PacketsPerS, r.TG.PacketsPerS, r.SUT.Packets.Lost = v, new(float64(got)), new(float64(sent)),
			new(sent-got)
		return r
	}
	s, spoilt := newSearch(), 0
	for range mostInvalid {
		if over, err := s.take(0, rec(results.Invalid, 1, 1), &spoilt); over || err != nil {
			t.Fatalf("a spoilt trial: %v, %v", over, err)
		}
	}
	if over, err := s.take(0, rec(results.Invalid, 1, 1), &spoilt); !over || err == nil {
		t.Errorf("after %d spoilt trials: %v, %v", mostInvalid+1, over, err)
	}
	if got := s.Found(); got.Inconclusive != mostInvalid+1 || got.Trials != mostInvalid+1 {
		t.Errorf("%+v", got)
	}
	if over, err := s.take(0, rec(results.OK, 1e6, 4e5), &spoilt); over || err != nil || spoilt != 0 {
		t.Errorf("a trial: %v, %v, %d", over, err, spoilt)
	}
	if rate, _ := s.Next(); rate != 4e5 {
		t.Errorf("next %g", rate)
	}
	if got := s.Found(); got.Inconclusive != mostInvalid+1 || got.Trials != mostInvalid+2 {
		t.Errorf("%+v", got)
	}
	if over, err := s.take(4e5, rec(results.Failed, 1, 1), &spoilt); !over || err == nil {
		t.Errorf("a failed trial: %v, %v", over, err)
	}
}

// A search that found nothing, or gave up, makes a run that does not count, with the reason.
func TestConclude(t *testing.T) {
	run := func(change func(*LossSearch)) *results.Record {
		s := newSearch()
		change(s)
		r := lossRun(100, 100)
		r.Warmup, r.Flags = true, []string{results.FlagTrial, "x"}
		(&Session{}).conclude(s, r, nil)
		return r
	}
	nothing := run(func(s *LossSearch) { search(&path{sender: 1e6}, s) })
	gaveUp := run(func(s *LossSearch) { s.MostTrials = 5; search(&path{sender: 1e6, limit: 4e5}, s) })
	found := run(func(s *LossSearch) { search(&path{sender: 1e6, limit: 4e5}, s) })
	late := run(func(s *LossSearch) { s.Add(trial{Sent: 1e6, Got: 4e5, Loss: .6}); s.late = true })
	slow := run(func(s *LossSearch) { s.MostTrials = 2; search(&path{sender: 3e5, limit: 4e5}, s) })
	silent := run(func(s *LossSearch) { s.MostTrials = 1; s.Spoilt() })
	for _, x := range []struct {
		r    *results.Record
		v    results.Verdict
		want string
	}{{nothing, results.Invalid, "no rate was found"}, {gaveUp, results.Invalid, "gave up after 5 trials"},
		{late, results.Invalid, "the time was up after 1 trial of the search (0 inconclusive): no rate passed, " +
			"and 1000000 packets/s failed"},
		{slow, results.Invalid, "300000 packets/s passed 2 times, as fast as the sender can"},
		{silent, results.Invalid, "(1 inconclusive): none of them said what was lost"}, {found, results.OK, ""}} {
		if x.r.Verdict != x.v || x.r.Warmup || x.r.Tries() || x.r.Flags[0] != "x" || x.r.LossFree == nil ||
			x.r.LossFree.Check() != nil || !strings.Contains(x.r.Reason, x.want) ||
			(x.v != results.OK) != (x.r.Fix != "") {
			t.Errorf("%s: %s (%s), %+v, %q", x.r.Verdict, x.r.Reason, x.r.Fix, x.r.LossFree, x.r.Flags)
		}
	}
}

// A search that a trial ended makes that its run, which says which trial it was and why, and does
// not count.
func TestConcludeOfTrialWithoutLoss(t *testing.T) {
	for name, x := range map[string]struct {
		change       func(*results.Record)
		rate         float64
		verdict      results.Verdict
		gate         plan.GateClass
		reason, more string
	}{
		"a failed one": {func(r *results.Record) { r.Verdict, r.Reason = results.Failed, "the agent is gone" }, 4e5,
			results.Failed, "", "trial 2 of the search, at 400000 packets/s", "the agent is gone"},
		"one that was spoilt": {func(r *results.Record) {
			r.Fail(plan.ByEnvironment, "other work took 3 cores",
				"stop it")
		}, 4e5,
			results.Invalid, plan.ByEnvironment, "trial 2 of the search, at 400000 packets/s",
			"other work took 3 cores"},
		"one that does not tell its loss": {func(r *results.Record) { r.SUT.Packets.Lost = nil }, 0,
			results.Invalid, plan.ByProof, "trial 2 of the search, as fast as possible", "lost"},
	} {
		s, spoilt := newSearch(), mostInvalid
		s.Add(trial{Sent: 1e6, Got: 4e5, Loss: .6})
		r := lossRun(100, 100)
		r.Warmup, r.Flags, r.SUT.Packets.Lost, r.SUT.PacketsPerS, r.TG.PacketsPerS = true, []string{results.FlagTrial},
			new(uint64(0)), new(4e5), new(4e5)
		x.change(r)
		over, err := s.take(x.rate, r, &spoilt)
		if !over || err == nil {
			t.Errorf("%s: over %v, %v", name, over, err)
			continue
		}
		(&Session{}).conclude(s, r, err)
		if r.Verdict != x.verdict || r.FailedGate() != x.gate || r.Warmup || r.Tries() ||
			!strings.HasPrefix(r.Reason, x.reason) || !strings.Contains(r.Reason, x.more) {
			t.Errorf("%s: %s by %q: %s", name, r.Verdict, r.FailedGate(), r.Reason)
		}
		if f := r.LossFree; !f.GivenUp || f.Trials != 2 || f.Inconclusive != 1 || f.Check() != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// The run that counts is one at the rate that was found: where the last trial there may be was at
// another one, none counts.
func TestConcludeAtAnotherRate(t *testing.T) {
	found := func(trials int) (*LossSearch, *results.Record) {
		s, spoilt := newSearch(), 0
		s.Confirm, s.Resolution, s.MostTrials = 1, .2, trials
		p := &path{sender: 1e6, limit: 4e5}
		for {
			rate, more := s.Next()
			if !more {
				t.Fatal("it was over before it was said")
			}
			x := p.try(rate)
			r := lossRun(1e6, uint64(1e6*(1-x.Loss)))
			r.Cell.PaceBitsPS, r.Warmup, r.Flags = int(rate), true, []string{results.FlagTrial}
			r.SUT.Packets.Lost, r.SUT.PacketsPerS, r.TG.PacketsPerS = new(uint64(1e6*x.Loss)), new(x.Got), new(x.Sent)
			if over, err := s.take(rate, r, &spoilt); err != nil || over {
				if (&Session{}).conclude(s, r, err); err != nil {
					t.Fatal(err)
				}
				return s, r
			}
		}
	}
	s, r := found(200)
	if passed, _ := s.edges(); r.Verdict != results.OK || r.LossFree.GivenUp || r.Cell.PaceBitsPS != int(passed) {
		t.Fatalf("%s, %s, %+v", r.Verdict, r.Reason, r.LossFree)
	}
	all := s.trials
	s, r = found(all - 1)
	if f := s.Found(); f.GivenUp || f.PacketsPerS != 4e5 {
		t.Fatalf("the trials are enough for a rate: %+v", f)
	}
	if r.Verdict != results.Invalid || r.FailedGate() != plan.ByProof || !r.LossFree.GivenUp ||
		!strings.Contains(r.Reason, "none left for a run at the rate that was found: 400000 packets/s") || r.Fix == "" {
		t.Errorf("%s, %q, %+v at %d", r.Verdict, r.Reason, r.LossFree, r.Cell.PaceBitsPS)
	}
}

// A trial that is invalid ends the search with what to do about it.
func TestTrialThatIsInvalid(t *testing.T) {
	_, err := trialOf(2, 1000, []results.Record{{Verdict: results.Invalid, Reason: "SUT: foreign load",
		Fix: "end other work"}})
	if err == nil || err.Error() != "trial 2 of the search, at 1000 packets/s, is invalid, so its loss is "+
		"unknown: SUT: foreign load" || fault.Fix(err) != "end other work" {
		t.Errorf("%v, fix %q", err, fault.Fix(err))
	}
}

// lossRun is a run of so many datagrams.
func lossRun(sent, received uint64) *results.Record {
	r := &results.Record{Cell: plan.Cell{RX: "udp", TX: "udp"}, Verdict: results.OK}
	r.SUT.Packets = &results.Packets{Sent: &sent, Received: &received, Duplicated: new(uint64(0))}
	r.TG.Packets = &results.Packets{Sent: &sent}
	r.TG.Env.Driver = "veth"
	return r
}
