// SPDX-License-Identifier: MIT

package race

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// drawn has 648 arms, of which so many race from the beginning: the default, each level alone, and
// others by chance.
func drawn(rng *rand.Rand, first int) *Field {
	f := &Field{Mode: "zcrx", Arms: [][]int{nil}}
	for i, levels := range []int{3, 2, 3, 3, 4, 3} {
		f.Factors = append(f.Factors, Factor{Name: string(rune('a' + i)), Levels: make([]string, levels), Host: i < 2})
		var arms [][]int
		for _, a := range f.Arms {
			for l := range levels {
				arms = append(arms, append(slices.Clip(a), l))
			}
		}
		f.Arms = arms
	}
	rng.Shuffle(len(f.Arms), func(i, k int) { f.Arms[i], f.Arms[k] = f.Arms[k], f.Arms[i] })
	others := func(arm []int) (n int) { // that a level is not the default's
		for _, l := range arm {
			n += min(l, 1)
		}
		return n
	}
	slices.SortStableFunc(f.Arms, func(a, b []int) int { return min(others(a), 2) - min(others(b), 2) })
	f.First = first
	return f
}

// Of arms too many to try, those that wait come in where they may be better: the winner is much
// nearer to the best of all. What is told of those that ran holds, although at most 6 are together.
func TestWaiting(t *testing.T) {
	long.Garbage(t)
	rounds := long.Rounds(6, 100)
	behind := [2]float64{}
	var told tally
	for landscape, l := range landscapes[:flat] {
		was := behind
		for round := range rounds {
			all := drawn(rand.New(rand.NewPCG(5, uint64(round))), 48)
			b := Budget{Arm: 5, Start: 8, Change: 3, Together: 6}
			b.Seconds = b.Factorial(all, 6) / 3
			p := play(t, all, b, usual, landscape, round)
			ran := p
			ran.top = math.Inf(-1)
			for _, arm := range p.measured() {
				ran.top = max(ran.top, p.m.truth[arm])
			}
			told.add(&ran)
			behind[0] += p.top - p.m.truth[p.Winner]
			some := *all
			some.Arms = all.Arms[:all.First]
			r, err := New(&some, b, uint64(round))
			if err != nil {
				t.Fatal(err)
			}
			m := &machine{noise: usual, rng: p.m.rng, truth: p.m.truth, budget: b, last: -1}
			for s, ok := r.Next(); ok; s, ok = r.Next() {
				if err := r.Tell(s, 0, m.play(s)); err != nil {
					t.Fatal(err)
				}
			}
			alone, _ := r.Leaders()
			behind[1] += p.top - p.m.truth[alone.Winner]
		}
		n := float64(rounds) / 100
		t.Logf("%s: %.1f %% behind the best of all, %.1f %% without those that wait", l.name, (behind[0]-was[0])/n,
			(behind[1]-was[1])/n)
	}
	t.Logf("of those that ran: %v", told)
	if behind[0] > behind[1]/2 {
		t.Errorf("waiting arms help little: %.3f and %.3f", behind[0], behind[1])
	}
	if told.of(told.bound) < 95 || told.of(told.effects) < 90 || told.covered < .9*told.moved {
		t.Error("what is told holds too rarely")
	}
}
