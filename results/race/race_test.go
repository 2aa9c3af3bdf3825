// SPDX-License-Identifier: MIT

package race

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/results/stat"
)

const _ = kind.Pure

// told is a line of a journal.
type told struct {
	Start    Start
	Readings []Reading
}

// Told the same again, a race is where it was; a journal of another is refused.
func TestReplays(t *testing.T) {
	f := six()
	f.First = 40
	b := third(f)
	b.Together = 7
	r, err := New(f, b, 5)
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, f, b, usual, 1, 3)
	m := &machine{noise: usual, rng: p.m.rng, truth: p.m.truth, budget: b, last: -1}
	var journal []byte
	for s, ok := r.Next(); ok; s, ok = r.Next() {
		line := told{s, m.play(s)}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		journal = append(append(journal, text...), '\n')
		if err := r.Tell(s, 30, line.Readings); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Standing()); n <= 40 || n == 64 {
		t.Errorf("%d arms ran", n)
	}
	again, err := New(f, b, 5)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(f, b, 6)
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	for d := json.NewDecoder(strings.NewReader(string(journal))); d.More(); {
		var line told
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if err := again.Tell(line.Start, 30, line.Readings); err != nil {
			t.Fatal(err)
		}
		refused = refused || other.Tell(line.Start, 30, line.Readings) != nil
	}
	if _, ok := again.Next(); ok || !reflect.DeepEqual(r.Standing(), again.Standing()) {
		t.Error("a replayed race stands elsewhere")
	}
	if !refused {
		t.Error("the journal of another race is taken")
	}
}

// A block has every arm that runs once, in starts of one group and not too many; a block has at
// most half of the arms of the one before it or all that may be better; the order turns round.
func TestBlocks(t *testing.T) {
	f := six()
	b := third(f)
	b.Together = 6
	b.Seconds *= 1.5
	r, err := New(f, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{noise: usual, rng: play(t, f, b, usual, 0, 1).m.rng, truth: make([]float64, 64), budget: b, last: -1}
	var blocks [][]int
	var groups [][]int
	for s, ok := r.Next(); ok; s, ok = r.Next() {
		if s.Block == len(blocks) {
			blocks, groups = append(blocks, nil), append(groups, nil)
		}
		if len(s.Arms) > 6 || slices.ContainsFunc(s.Arms, func(a int) bool { return r.group[a] != s.Group }) {
			t.Errorf("start %v", s)
		}
		blocks[s.Block], groups[s.Block] = append(blocks[s.Block], s.Arms...), append(groups[s.Block], s.Group)
		if err := r.Tell(s, 0, m.play(s)); err != nil {
			t.Fatal(err)
		}
	}
	for i, arms := range blocks {
		slices.Sort(arms)
		if unique := slices.Compact(slices.Clone(arms)); len(unique) != len(arms) || i == 0 && len(arms) != 64 {
			t.Errorf("block %d has %v", i, arms)
		}
		for _, a := range arms {
			if i > 0 && !slices.Contains(blocks[i-1], a) {
				t.Errorf("arm %d is back in block %d", a, i)
			}
		}
	}
	slices.Reverse(groups[1])
	if len(blocks) < 4 || !slices.IsSorted(groups[0]) || !slices.IsSorted(groups[1]) || groups[2][0] != 1 {
		t.Errorf("groups %v", groups)
	}
}

// What cannot run, or never counts, leaves with its reason; who misses a start stays; one that
// takes longer than planned ends earlier.
func TestLeaves(t *testing.T) {
	f := six()
	b := third(f)
	b.Seconds *= 2
	r, err := New(f, b, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, f, b, usual, 0, 1)
	m := &machine{noise: usual, rng: p.m.rng, truth: p.m.truth, budget: b, last: -1}
	m.truth[9] += 1
	for s, ok := r.Next(); ok; s, ok = r.Next() {
		planned, _ := b.cost(r.last, []Start{s})
		readings := m.play(s)
		readings = slices.DeleteFunc(readings, func(x Reading) bool { return x.Arm == 3 || x.Arm == 9 && s.Block == 1 })
		for i := range readings {
			if readings[i].Arm == 0 {
				readings[i] = Reading{Arm: 0, Out: "no huge pages"}
			}
		}
		if err := r.Tell(s, 1.4*planned, readings); err != nil {
			t.Fatal(err)
		}
	}
	if r.Spent() > b.Seconds || r.Spent() < b.Seconds/2 {
		t.Errorf("took %.0f of %.0f s", r.Spent(), b.Seconds)
	}
	places := r.Standing()
	l, _ := r.Leaders()
	if l.Winner != 9 || places[0].Arm != 9 || l.Gain != 0 || len(l.Ties) > 0 {
		t.Errorf("%+v", l)
	}
	for _, x := range places[62:] {
		if !x.Out || x.Ratio != nil || x.Arm == 0 && (x.Why != "no huge pages" || x.Left != 1) ||
			x.Arm == 3 && (x.Why != "none of its runs counted" || x.Left != 2) {
			t.Errorf("%+v", x)
		}
	}
	for _, x := range places[1:62] {
		if x.Out || x.Ratio == nil || x.Ratio.Hi >= 1 || x.Left > 0 && x.Why == "" {
			t.Errorf("%+v", x)
		}
	}
}

// A first start of which nothing counts is no reason to go on without its group, and one in which
// nothing ever counts is no race.
func TestDisturbed(t *testing.T) {
	f := six()
	b := third(f)
	p := play(t, f, b, usual, 0, 1)
	for _, counts := range []func(Start) bool{func(s Start) bool { return s.Block > 0 || s.Group != 2 },
		func(s Start) bool { return s.Block > 0 }, func(Start) bool { return false }} {
		r, err := New(f, Budget{Seconds: 2 * b.Seconds, Arm: b.Arm, Start: b.Start, Change: b.Change}, 1)
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{noise: usual, rng: p.m.rng, truth: slices.Clone(p.m.truth), budget: b, last: -1}
		const best = 35 // of group 2
		m.truth[best]++
		blocks := 0
		for s, ok := r.Next(); ok; s, ok = r.Next() {
			readings := m.play(s)
			if blocks = s.Block + 1; !counts(s) {
				readings = nil
			}
			if err := r.Tell(s, 0, readings); err != nil {
				t.Fatal(err)
			}
		}
		if l, ok := r.Leaders(); ok && (l.Winner != best || blocks < 2) || !ok && blocks != 2 {
			t.Errorf("after %d blocks %+v, %v", blocks, l, ok)
		}
	}
}

// What is no field, no budget or no reading is refused.
func TestRefused(t *testing.T) {
	good := Budget{Seconds: 1e4, Arm: 1}
	for name, change := range map[string]func(*Field, *Budget){
		"from the":      func(f *Field, _ *Budget) { f.First = 65 },
		"default is":    func(f *Field, _ *Budget) { f.First, f.Default = 4, 5 },
		"default":       func(f *Field, _ *Budget) { f.Default = 64 },
		"same":          func(f *Field, _ *Budget) { f.Arms[5] = f.Arms[6] },
		"levels, of 6":  func(f *Field, _ *Budget) { f.Arms[5] = nil },
		"has level 2":   func(f *Field, _ *Budget) { f.Arms[5] = []int{0, 0, 0, 0, 0, 2} },
		"no setting":    func(f *Field, _ *Budget) { f.Arms = nil },
		"take at least": func(_ *Field, b *Budget) { b.Seconds = 60 },
		"time of an":    func(_ *Field, b *Budget) { b.Arm = 0 },
		"below 0":       func(_ *Field, b *Budget) { b.Start = -1 },
	} {
		f, b := six(), good
		change(f, &b)
		if _, err := New(f, b, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := New(six(), good, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.Next()
	for _, x := range []Reading{{Arm: 63, Value: 1}, {Arm: 0}, {Arm: 0, Value: -1}} {
		if err := r.Tell(s, 0, []Reading{x}); err == nil {
			t.Errorf("%+v is taken", x)
		}
	}
}

// A mode with nothing to set has its default as winner, after one start.
func TestNothingToTry(t *testing.T) {
	r, err := New(&Field{Mode: "tcp", Arms: [][]int{{}}}, Budget{Seconds: 100, Arm: 5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := r.Next()
	if err := r.Tell(s, 0, []Reading{{Arm: 0, Value: 20}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Next(); ok {
		t.Error("it goes on")
	}
	if l, ok := r.Leaders(); !ok || l.Winner != 0 || l.Gain != 1 || *l.Resolution != 0 || len(r.Effects().Main) != 0 {
		t.Errorf("%+v", l)
	}
	if _, ok := Optimism(1, stat.Pairs([]float64{1}, []float64{1})); ok {
		t.Error("optimism without an interval")
	}
}

// Effects are of levels that arms have but for that one alone, and words need all of them.
func TestWords(t *testing.T) {
	in := func(lo, hi float64) Ratio { return Ratio{(lo + hi) / 2, lo, hi} }
	for _, x := range []struct {
		main, pair Ratio
		want       Word
	}{
		{in(1.03, 1.05), in(.9, 1.1), Mattered}, {in(.99, 1.01), in(.995, 1.005), DidNot},
		{in(.99, 1.01), in(.9, 1.1), CannotTell}, {in(.9, 1.1), in(.8, .9), Mattered},
		{in(1.001, 1.01), in(.99, 1.01), DidNot},
	} {
		e := Effects{Main: []Effect{{Factor: 0, Level: 1, With: -1, Ratio: x.main}},
			Pairs: []Effect{{Factor: 0, Level: 1, With: 1, WithLevel: 1, Ratio: x.pair}}}
		if got := e.Of(0, .02); got != x.want {
			t.Errorf("%v, %v: %s", x.main, x.pair, got)
		}
		if got := e.Of(2, .02); got != CannotTell {
			t.Errorf("of a factor without effects: %s", got)
		}
	}
}
