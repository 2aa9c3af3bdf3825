// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

func rngOf(name string) *rand.Rand {
	seed := uint64(23)
	for _, c := range name {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, 23))
}

// Of fleets in which no pair, host or fact makes a difference, at most 5 % name anybody: whether
// runs or pairs are what varies, and in whatever way hosts are joined.
func TestNobodyIsNamed(t *testing.T) {
	for name, m := range map[string]madeFleet{
		"runs vary":           {pairs: 20, cells: 6, runs: 6, cv: .01, hosts: twoEach},
		"few pairs":           {pairs: 8, cells: 4, runs: 8, cv: .01, hosts: twoEach},
		"pairs vary":          {pairs: 20, cells: 6, runs: 6, cv: .003, between: .01, hosts: twoEach},
		"a ring":              {pairs: 16, cells: 3, runs: 6, cv: .003, between: .01, hosts: ring(16)},
		"all with all":        {pairs: 25, cells: 3, runs: 6, cv: .01, between: .005, hosts: grid(5)},
		"runs of heavy tails": {pairs: 20, cells: 4, runs: 6, cv: .005, between: .005, tail: true, hosts: twoEach},
		"many pairs":          {pairs: 120, cells: 2, runs: 6, cv: .01, between: .005, hosts: twoEach},
	} {
		rounds, named := long.Rounds(30, 600), 0
		if m.pairs > 100 {
			rounds /= 5
		}
		rng := rngOf(name)
		for range rounds {
			f := m.make(t, rng).with("firmware",
				func(host string) string { return fmt.Sprint(len(host) + int(host[len(host)-1])%3) })
			if f.sum(); f.names() {
				named++
			}
		}
		share := float64(named) / float64(rounds)
		t.Logf("%s: %.1f %% of %d fleets name somebody", name, 100*share, rounds)
		if share > .05+3*math.Sqrt(.05*.95/float64(rounds)) {
			t.Errorf("%s: %.1f %% of %d fleets name somebody", name, 100*share, rounds)
		}
	}
}

// A pair that is 5 % slow where runs vary by 1 % is found, and nobody else is blamed.
func TestSlowPairIsFound(t *testing.T) {
	for name, x := range map[string]struct {
		madeFleet
		found float64 // at least
	}{
		"7 pairs":            {madeFleet{pairs: 7, cells: 6, runs: 6, cv: .01, hosts: twoEach}, .85},
		"12 pairs":           {madeFleet{pairs: 12, cells: 6, runs: 6, cv: .01, hosts: twoEach}, .99},
		"20 pairs, one cell": {madeFleet{pairs: 20, cells: 1, runs: 6, cv: .01, hosts: twoEach}, .95},
		"20 pairs":           {madeFleet{pairs: 20, cells: 6, runs: 6, cv: .01, hosts: twoEach}, .99},
		"20 pairs that are 1 % apart anyway": {madeFleet{pairs: 20, cells: 6, runs: 6, cv: .01, between: .01,
			hosts: twoEach}, .4},
		"120 pairs that are 1 % apart anyway": {madeFleet{pairs: 120, cells: 2, runs: 6, cv: .01, between: .01,
			hosts: twoEach}, .4},
	} {
		x.slow = func(pair, _ int) float64 {
			if pair == 3 {
				return .05
			}
			return 0
		}
		rounds, found, wrong := long.Rounds(15, 500), 0, 0
		if x.pairs > 100 {
			rounds /= 5
		}
		rng := rngOf(name)
		for range rounds {
			f := x.make(t, rng)
			f.sum()
			for i, p := range f.Pairs {
				switch {
				case i == 3 && p.worst() == Worse:
					found++
				case i != 3 && p.Off():
					wrong++
				}
			}
		}
		t.Logf("%s: found in %.1f %% of %d fleets; %d others blamed", name, 100*float64(found)/float64(rounds), rounds,
			wrong)
		if share := float64(found) / float64(rounds); share < x.found {
			t.Errorf("%s: found in %.1f %%", name, 100*share)
		}
		if float64(wrong) > .05*float64(rounds)+3*math.Sqrt(.05*float64(rounds)) {
			t.Errorf("%s: others are blamed %d times in %d", name, wrong, rounds)
		}
	}
}

// Several slow pairs do not hide each other.
func TestSlowPairsDoNotHide(t *testing.T) {
	m := madeFleet{pairs: 20, cells: 4, runs: 6, cv: .01, hosts: twoEach, slow: func(pair, _ int) float64 {
		if pair%5 == 0 {
			return .05
		}
		return 0
	}}
	rng := rngOf("hide")
	rounds, found := long.Rounds(20, 300), 0
	for range rounds {
		f := m.make(t, rng)
		f.sum()
		for i, p := range f.Pairs {
			if i%5 == 0 && p.worst() == Worse {
				found++
			}
		}
	}
	t.Logf("%.1f %% of 4 slow pairs of 20 are found", 100*float64(found)/float64(4*rounds))
	if found < 4*rounds*9/10 {
		t.Errorf("%d of %d slow pairs are found", found, 4*rounds)
	}
}

// A host that is slow with all partners is named, and its partners are not.
func TestSlowHostIsNamed(t *testing.T) {
	for name, x := range map[string]struct {
		madeFleet
		slowHost string
	}{
		"all with all":       {madeFleet{pairs: 36, cells: 3, runs: 6, cv: .01, between: .003, hosts: grid(6)}, "a2"},
		"a ring":             {madeFleet{pairs: 16, cells: 3, runs: 6, cv: .01, between: .003, hosts: ring(16)}, "h5"},
		"a host as a sender": {madeFleet{pairs: 36, cells: 3, runs: 6, cv: .01, between: .003, hosts: grid(6)}, "b4"},
	} {
		x.slow = func(pair, _ int) float64 {
			if sut, tg := x.hosts(pair); sut == x.slowHost || tg == x.slowHost {
				return .05
			}
			return 0
		}
		rounds, named, others := long.Rounds(20, 300), 0, 0
		rng := rngOf(name)
		for range rounds {
			f := x.make(t, rng)
			f.sum()
			for _, c := range f.Hosts {
				if slices.Equal(c.Names, []string{"host " + x.slowHost}) && c.Verdict == Worse && c.Share < -.04 &&
					c.Share > -.06 {
					named++
				} else {
					others++
				}
			}
		}
		t.Logf("%s: named in %d of %d fleets, others %d times", name, named, rounds, others)
		if named < rounds*9/10 || others > max(1, rounds/20) {
			t.Errorf("%s: named in %d of %d fleets, others %d times", name, named, rounds, others)
		}
	}
}

// What a slow pair may come from: with one pair each, host and partner cannot be told apart; with
// others that are fine it is what lies between.
func TestBecause(t *testing.T) {
	slow := func(pair, _ int) float64 {
		if pair == 5 {
			return .2
		}
		return 0
	}
	for want, hosts := range map[string]func(int) (string, string){
		"host, partner and what lies between cannot be told apart: a5 has no pair with another host, b5 has no " +
			"pair with another host": twoEach,
		"what lies between the two, or their ports: h5 is not in its 1 pair with others, h6 is not in its 1 pair " +
			"with others": ring(16),
		"the other host, or what lies between: b is not in its 15 pairs with others, a5 has no pair with " +
			"another host": func(pair int) (string, string) {
			return fmt.Sprint("a", pair), "b"
		},
	} {
		f := madeFleet{pairs: 16, cells: 2, runs: 8, cv: .01, hosts: hosts, slow: slow}.make(t, rngOf("because"))
		f.sum()
		if got := f.Pairs[5].Because; len(got) != 1 || got[0] != want {
			t.Errorf("%q, want %q", got, want)
		}
		if len(f.Hosts) > 0 {
			t.Errorf("hosts are named by one pair: %+v", f.Hosts)
		}
	}
}

// A firmware that makes its hosts slow is named; what the same hosts have too is named with it, and
// what others have is not.
func TestFactIsNamed(t *testing.T) {
	old := func(host string) bool { return slices.Contains([]string{"a1", "a4", "a9"}, host) }
	m := madeFleet{pairs: 20, cells: 3, runs: 6, cv: .01, hosts: twoEach}
	m.slow = func(pair, _ int) float64 {
		if sut, _ := m.hosts(pair); old(sut) {
			return .03
		}
		return 0
	}
	f := m.make(t, rngOf("facts"))
	f.with("firmware", func(host string) string { return map[bool]string{true: "22.31", false: "22.36"}[old(host)] })
	f.with("sysctl/net.x", func(host string) string { return map[bool]string{true: "1", false: "0"}[old(host)] })
	f.with("governor", func(host string) string {
		return map[bool]string{true: "powersave",
			false: "performance"}[host < "a3"]
	})
	f.with("loaded", func(host string) string { return host })
	f.sum()
	if len(f.Factors) != 1 {
		t.Fatalf("%+v", f.Factors)
	}
	c := f.Factors[0]
	if !slices.Equal(c.Names, []string{"SUT firmware: 22.31", "SUT sysctl/net.x: 1"}) || c.Usual != "22.36" ||
		c.Hosts != 3 || c.Verdict != Worse || c.Share > -.02 || c.Share < -.04 {
		t.Errorf("%+v", c)
	}
	d := f.Pairs[4].Differs
	if len(d) != 3 || d[0].Name != "firmware" || d[0].Value != "22.31" || d[0].Usual != "22.36" ||
		d[0].Have != 17 || d[0].Of != 20 || d[2].Name != "sysctl/net.x" {
		t.Errorf("%+v", d)
	}
	if w := strings.Join(f.Pairs[4].Because, ""); !strings.Contains(w, "22.31") {
		t.Errorf("%q", w)
	}
}

// Too few runs, or pairs, get no verdict, and say so; fleets of nothing are no trouble.
func TestTooFew(t *testing.T) {
	for want, m := range map[string]madeFleet{
		"too few runs (5 < 6)":  {pairs: 20, cells: 2, runs: 5, cv: .001, hosts: twoEach},
		"too few pairs (6 < 7)": {pairs: 6, cells: 2, runs: 6, cv: .001, hosts: twoEach},
	} {
		m.slow = func(pair, _ int) float64 { return .3 * float64(pair%2) }
		f := m.make(t, rngOf(want))
		f.sum()
		if got := f.Pairs[1].Overall.Words(f); got != want || f.names() || f.Pairs[1].Overall.Beyond(.03) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, pairs := range []int{0, 1} {
		f := madeFleet{pairs: pairs, cells: 2, runs: 6, cv: .01, hosts: twoEach}.make(t, rngOf("none"))
		f.sum()
		if f.names() || pairs == 1 && f.Pairs[0].Overall != nil {
			t.Errorf("%d pairs: %+v", pairs, f)
		}
	}
}
