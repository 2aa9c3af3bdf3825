// SPDX-License-Identifier: MIT

package fleet

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// common is what pairs that are off have in common.
type common struct {
	// Names are hosts, ports or facts that the same pairs have: they cannot be told apart.
	Names []string `json:"names"`
	Pairs []string `json:"pairs"` // their folders
	Hosts int      `json:"hosts"` // of which the fact was seen; 0 of hosts and ports

	Share float64 `json:"share"` // how far it is off; of pairs: the median, after what is named before it
	From  float64 `json:"from"`  // of the pair that is least so
	To    float64 `json:"to"`
	Usual string  `json:"usual,omitempty"` // what most of the other hosts have

	P       float64 `json:"p"`
	Adjust  float64 `json:"p_adjusted"`
	Verdict verdict `json:"verdict"`
}

// unit is a host or a port, or several that the same pairs have.
type unit struct {
	names []string
	pairs []int // in judge.pairs, rising
	host  bool  // it is not only a port

	p, effect float64
	named     bool
}

// hosts tests whether all pairs of a host are off together. A host with one pair cannot be told
// from its partner, one that is in all pairs has nothing that it can be held against.
func (j *judge) hosts() {
	if len(j.pairs) == 0 {
		return
	}
	j.units = unitsOf(j.pairs)
	j.weigh(j.deviations(), nil)
	for i := range j.units {
		if u := &j.units[i]; u.tested() {
			j.tests = append(j.tests, test{u.p, func(float64) {}})
		}
	}
}

func (u *unit) tested() bool { return !math.IsNaN(u.p) }

// unitsOf collects the hosts and ports that are in two pairs or more, but not in all.
func unitsOf(points []point) []unit {
	pairs := map[string][]int{}
	var names []string
	host := map[string]bool{}
	add := func(name string, i int, isHost bool) {
		if pairs[name] == nil {
			names = append(names, name)
		}
		host[name] = isHost
		if v := pairs[name]; len(v) == 0 || v[len(v)-1] != i {
			pairs[name] = append(v, i)
		}
	}
	for i := range points {
		for _, e := range []end{points[i].pair.SUT, points[i].pair.TG} {
			if e.Host != "" {
				add("host "+e.Host, i, true)
			}
			if e.Host != "" && e.Dev != "" {
				add("port "+e.Host+"/"+e.Dev, i, false)
			}
		}
	}
	var out []unit
	at := map[string]int{}
	for _, name := range names {
		set := pairs[name]
		if len(set) < 2 || len(set) == len(points) {
			continue
		}
		k := setKey(set)
		n, ok := at[k]
		if !ok {
			n = len(out)
			at[k] = n
			out = append(out, unit{pairs: set})
		}
		out[n].names, out[n].host = append(out[n].names, name), out[n].host || host[name]
	}
	return out
}

func setKey(set []int) string {
	b := make([]byte, 0, 2*len(set))
	for _, i := range set {
		b = binary.AppendUvarint(b, uint64(i))
	}
	return string(b)
}

// weigh finds how far each unit is from those that have no pair in common with it: from other hosts
// with several pairs, or from pairs, where these are too few. With one that is named only those are
// weighed anew that share pairs with it.
func (j *judge) weigh(y []float64, named *unit) {
	effects, sizes := make([]float64, len(j.units)), make([]float64, len(j.units))
	for i := range j.units {
		effects[i], sizes[i] = medianAt(y, j.units[i].pairs), float64(len(j.units[i].pairs))
	}
	in := make([][]int, len(y)) // the units of each pair
	for i := range j.units {
		for _, n := range j.units[i].pairs {
			in[n] = append(in[n], i)
		}
	}
	scaleOfUnits, scaleOfPairs := -1.0, -1.0
	for i := range j.units {
		u := &j.units[i]
		if named != nil && !slices.ContainsFunc(u.pairs, func(n int) bool { return slices.Contains(named.pairs, n) }) {
			continue
		}
		related := map[int]bool{}
		own := map[int]bool{}
		for _, n := range u.pairs {
			own[n] = true
			for _, k := range in[n] {
				related[k] = true
			}
		}
		var others, theirs []float64
		for k := range j.units {
			if !related[k] && j.units[k].host {
				others, theirs = append(others, effects[k]), append(theirs, sizes[k])
			}
		}
		variance := 1.0
		known, of := &scaleOfUnits, effects
		if len(others) >= stat.MinRuns {
			// A mean of fewer pairs than the others have is less sure.
			variance = max(1, stat.Median(theirs)/sizes[i])
		} else {
			others, known, of = others[:0], &scaleOfPairs, y
			for n := range y {
				if !own[n] {
					others = append(others, y[n])
				}
			}
		}
		u.p = math.NaN()
		if len(others) >= stat.MinRuns {
			o := othersOf(others, of, known)
			u.effect, u.p = effects[i]-o.Center, o.P(effects[i], variance)
		}
	}
}

// othersOf sums up others; where they are many, with the spread of all, which is found once.
func othersOf(others, all []float64, scale *float64) stat.Others {
	if len(others) <= manyOthers {
		return stat.NewOthers(others)
	}
	if *scale < 0 {
		*scale = stat.Qn(all)
	}
	return stat.Others{N: len(others), Center: stat.Median(others), Scale: *scale}
}

func medianAt(y []float64, at []int) float64 {
	v := make([]float64, 0, len(at))
	for _, i := range at {
		v = append(v, y[i])
	}
	return stat.Median(v)
}

// mostNamed is how many hosts are named; of more it is the fleet that is off.
const mostNamed = 100

// nameHosts names the units that are off in all their pairs, the clearest first. What it explains
// is taken out before the next one is looked for: so a host is not blamed for its partner.
func (j *judge) nameHosts() {
	y := j.deviations()
	sure := func(u *unit) bool {
		return u.tested() && !u.named && u.p*float64(len(j.tests)) < stat.Alpha && together(y, u)
	}
	for len(j.f.Hosts) < mostNamed {
		best := -1
		for i := range j.units {
			if u := &j.units[i]; sure(u) && (best < 0 || clearer(u, &j.units[best])) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		u := &j.units[best]
		u.named = true
		j.f.Hosts = append(j.f.Hosts, j.common(u, y))
		for _, n := range u.pairs {
			y[n] -= u.effect
		}
		j.weigh(y, u)
	}
}

// clearer reports whether a is clearer than b: by its p, then by how much of it there is.
func clearer(a, b *unit) bool {
	return cmp.Or(compareFloat(a.p, b.p), compareFloat(-math.Abs(a.effect)*math.Sqrt(float64(len(a.pairs))),
		-math.Abs(b.effect)*math.Sqrt(float64(len(b.pairs))))) < 0
}

// together reports whether all pairs of a unit are off by at least half of what it is off by.
func together(y []float64, u *unit) bool {
	center := medianAt(y, u.pairs) - u.effect
	return !slices.ContainsFunc(u.pairs, func(n int) bool { return (y[n]-center)/u.effect < .5 })
}

func (j *judge) common(u *unit, y []float64) common {
	center := medianAt(y, u.pairs) - u.effect
	c := common{Names: u.names, Share: math.Expm1(u.effect), P: u.p, Adjust: min(1, u.p*float64(len(j.tests)))}
	c.Verdict = j.verdict(c.Share)
	for i, n := range u.pairs {
		c.Pairs = append(c.Pairs, j.pairs[n].pair.Dir)
		s := math.Expm1(y[n] - center)
		if i == 0 || math.Abs(s) < math.Abs(c.From) {
			c.From = s
		}
		if i == 0 || math.Abs(s) > math.Abs(c.To) {
			c.To = s
		}
	}
	return c
}
