// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

// path loses what is above a limit, and sometimes a little below it.
type path struct {
	sender, limit float64
	paces         float64 // the fastest pace that the sender keeps; 0: any
	flaky         float64 // from this share of the limit on a trial may lose something
	r             *rand.Rand
}

func (p *path) try(asked float64) Trial {
	t := Trial{Asked: asked, Sent: p.sender}
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

func search(p *path, s *LossSearch) LossFree {
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
		if got.PacketsPerS < x.least-1e-6 || got.PacketsPerS > x.most+1e-6 || got.BySender != x.bySender || got.GivenUp {
			t.Errorf("%s: %+v, want %g..%g", name, got, x.least, x.most)
		}
		if got.PacketsPerS > 0 && got.Passed < 10 {
			t.Errorf("%s: passed %d times", name, got.Passed)
		}
		if !x.bySender && got.PacketsPerS > 0 && !(got.FailedAt > got.PacketsPerS && got.FailedAt <= got.PacketsPerS*1.02+1e-6) {
			t.Errorf("%s: %g passed, %g failed", name, got.PacketsPerS, got.FailedAt)
		}
		if got.Trials > 60 {
			t.Errorf("%s: %d trials", name, got.Trials)
		}
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
		if at := s.at(got.PacketsPerS); got.GivenUp || at.failed != 0 || at.passed != 10 || got.PacketsPerS < 0.5*p.limit || got.PacketsPerS > p.limit {
			t.Fatalf("%+v, %+v", got, at)
		}
	}
}

// A sender that cannot keep a pace has not passed it.
func TestLossSearchOfSlowSender(t *testing.T) {
	s := newSearch()
	if s.Passes(Trial{Asked: 1e5, Sent: 0.98e5}) || !s.Passes(Trial{Asked: 1e5, Sent: 0.995e5}) || s.Passes(Trial{Asked: 1e5, Sent: 1e5, Loss: 1e-9}) {
		t.Error("a pace that was missed, or a loss, passes")
	}
	// As fast as it can be it loses much; paced it is slower than what the receiver takes.
	got := search(&path{sender: 1e6, limit: 4e5, paces: 2e5}, newSearch())
	if !got.BySender || got.GivenUp || got.PacketsPerS > 2e5/(1-paceMissed) || got.PacketsPerS < 2e5/1.02 {
		t.Errorf("%+v, and the sender was the limit", got)
	}
	if got := search(&path{sender: 1e6, limit: 4e5, paces: 6e5}, newSearch()); got.BySender {
		t.Errorf("%+v, and the receiver was the limit", got)
	}
	// What lost too much as well is the receiver's.
	s = newSearch()
	s.Add(Trial{Sent: 1e6, Got: 4e5, Loss: .6})
	s.Add(Trial{Asked: 4e5, Sent: 3e5, Got: 2e5, Loss: .3})
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

func TestLossyShare(t *testing.T) {
	for n, want := range map[int]float64{1: .95, 10: .2589, 59: .0495} {
		f := LossFree{Passed: n}
		if got := f.LossyShare(); math.Abs(*got-want) > 1e-3 {
			t.Errorf("%d: %g, want %g", n, *got, want)
		}
	}
	b, err := json.Marshal(LossFree{Trials: 3})
	if none := (&LossFree{}).LossyShare(); none != nil || err != nil || string(b) != `{"limit_is_sender":false,"trials":3,"given_up":false}` {
		t.Errorf("of none that passed: %v, %s", none, b)
	}
}
