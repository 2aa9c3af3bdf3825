// SPDX-License-Identifier: MIT

package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/results/stat"
)

// Fact is one of a pair's hosts that is not what most hosts of that role have.
type Fact struct {
	Role  ends.Role `json:"role"`
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Usual string    `json:"usual"`
	Have  int       `json:"hosts_with_usual"`
	Of    int       `json:"hosts"` // that have the fact on record
}

// mostDiffer is how many facts a pair's list has.
const mostDiffer = 50

// factOfRole is what the hosts of a role have of a fact.
type factOfRole struct {
	name   uint32
	values map[uint32][]int // hosts of the role, by value; rising
	usual  uint32
	hosts  int
}

// surveys collects the facts in which the hosts of a role differ, those that explain most first. It
// leaves out those of which nearly each host has its own, such as numbers of what is loaded.
func (f *Fleet) surveys(role int) (out []factOfRole, hosts []string, of []int) {
	at := map[string]int{}
	of = make([]int, len(f.Pairs))
	var first []*pair // of each host
	for i, p := range f.Pairs {
		name := [2]end{p.SUT, p.TG}[role].Host
		n, ok := at[name]
		if of[i] = n; name == "" || len(p.facts[role]) == 0 {
			of[i] = -1
			continue
		}
		if !ok {
			n = len(hosts)
			at[name], of[i] = n, n
			hosts, first = append(hosts, name), append(first, p)
		}
	}
	// Most facts are the same everywhere: these are found without keeping a list of each.
	values, varies := make([]uint32, len(f.known.texts)), make([]bool, len(f.known.texts))
	seen := make([]bool, len(f.known.texts))
	for _, p := range first {
		for _, x := range p.facts[role] {
			varies[x.name] = varies[x.name] || seen[x.name] && values[x.name] != x.value
			values[x.name], seen[x.name] = x.value, true
		}
	}
	lists := map[uint32]*factOfRole{}
	for h, p := range first {
		for _, x := range p.facts[role] {
			if !varies[x.name] {
				continue
			}
			s := lists[x.name]
			if s == nil {
				s = &factOfRole{name: x.name, values: map[uint32][]int{}}
				lists[x.name] = s
			}
			s.values[x.value] = append(s.values[x.value], h)
			s.hosts++
		}
	}
	for _, s := range lists {
		for v, have := range s.values {
			if n := len(s.values[s.usual]); len(have) > n || len(have) == n &&
				f.known.texts[v] < f.known.texts[s.usual] {
				s.usual = v
			}
		}
		if len(s.values[s.usual]) > 1 && 2*len(s.values) <= s.hosts {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b factOfRole) int { return byWeight(f.known.texts[a.name], f.known.texts[b.name]) })
	return out, hosts, of
}

// byWeight sorts what records say before what snapshots do.
func byWeight(a, b string) int {
	sa, sb := strings.Contains(a, "/"), strings.Contains(b, "/")
	switch {
	case sa != sb && sa:
		return 1
	case sa != sb:
		return -1
	case !sa:
		return cmp.Compare(a, b)
	}
	return survey.ByWeight(survey.Fact{Name: a}, survey.Fact{Name: b})
}

// differ notes for each pair in what its hosts are unlike most.
func (f *Fleet) differ() {
	for role, r := range ends.Roles {
		all, _, of := f.surveys(role)
		at := map[uint32]*factOfRole{}
		for i := range all {
			at[all[i].name] = &all[i]
		}
		for i, p := range f.Pairs {
			if of[i] < 0 {
				continue
			}
			var list []Fact
			for _, x := range p.facts[role] {
				if s := at[x.name]; s != nil && s.usual != x.value {
					list = append(list, Fact{r, short(f.known.texts[x.name], 160), short(f.known.texts[x.value], 200),
						short(f.known.texts[s.usual], 200), len(s.values[s.usual]), s.hosts})
				}
			}
			slices.SortFunc(list, func(a, b Fact) int { return byWeight(a.Name, b.Name) })
			p.Differs = append(p.Differs, list[:min(len(list), mostDiffer)]...)
		}
	}
	for _, p := range f.Pairs {
		p.facts = [2][]factValue{}
	}
}

// fact is one that several hosts of a role have in common, or several that the same hosts have.
type fact struct {
	role         int
	names        []string
	usual        string
	have, others []int // hosts of the role, of hostsOf
	pairs        []int // in judge.pairs, of those that have it

	p, effect, from, to float64
	named               bool
}

// mostFacts is how many sets of hosts are tested of a role; mostAlike is how many facts are named
// that the same hosts have.
const mostFacts, mostAlike = 2000, 20

// factors tests the facts in which hosts differ: whether those that have a value are off together.
// Hosts are what is counted, of each the median of its pairs: pairs of one host are not new
// evidence.
// The value that most hosts have is what the others are held against.
func (j *judge) factors() {
	known := map[string]*fact{}
	for role, r := range ends.Roles {
		all, hosts, of := j.f.surveys(role)
		pairs := make([][]int, len(hosts))
		for i, p := range j.f.Pairs {
			if n, ok := j.at[p]; ok && of[i] >= 0 {
				pairs[of[i]] = append(pairs[of[i]], n)
			}
		}
		j.hostsOf[role] = pairs
		tested := 0
		for _, s := range all {
			values := slices.SortedFunc(maps.Keys(s.values),
				func(a, b uint32) int { return cmp.Compare(j.f.known.texts[a], j.f.known.texts[b]) })
			for _, v := range values {
				if v == s.usual || tested == mostFacts {
					continue
				}
				name := short(fmt.Sprintf("%s %s: %s", r.Label(), j.f.known.texts[s.name], j.f.known.texts[v]), 200)
				if j.factor(known, name, role, s, v) {
					tested++
				}
			}
		}
	}
	j.weighFacts(j.deviations())
	for _, x := range j.found {
		j.tests = append(j.tests, test{x.p, func(float64) {}})
	}
}

// factor takes up a value of a fact, unless the pairs that have it are known already.
func (j *judge) factor(known map[string]*fact, name string, role int, s factOfRole, value uint32) bool {
	x := &fact{role: role, names: []string{name}, usual: short(j.f.known.texts[s.usual], 200)}
	for v, hosts := range s.values {
		for _, h := range hosts {
			switch of := j.hostsOf[role][h]; {
			case len(of) == 0:
			case v == value:
				x.have, x.pairs = append(x.have, h), append(x.pairs, of...)
			default:
				x.others = append(x.others, h)
			}
		}
	}
	slices.Sort(x.pairs)
	k := setKey(x.pairs)
	if same := known[k]; same != nil {
		if len(same.names) < mostAlike {
			same.names = append(same.names, name)
		}
		return false
	}
	if len(x.have) < 2 || len(x.others) < stat.MinRuns {
		return false
	}
	known[k] = x
	j.found = append(j.found, x)
	return true
}

func (j *judge) deviations() []float64 {
	y := make([]float64, len(j.pairs))
	for i := range j.pairs {
		y[i] = j.pairs[i].y
	}
	return y
}

// weighFacts finds how far the hosts that have a value are from those that do not.
func (j *judge) weighFacts(y []float64) {
	var effects [2][]float64
	scales := [2]float64{-1, -1}
	for role, hosts := range j.hostsOf {
		effects[role] = make([]float64, len(hosts))
		for h, pairs := range hosts {
			if len(pairs) > 0 {
				effects[role][h] = medianAt(y, pairs)
			}
		}
	}
	for _, x := range j.found {
		of := effects[x.role]
		have, others := at(of, x.have), at(of, x.others)
		o := othersOf(others, others, &scales[x.role])
		// The median: one slow host among many that have it is not the fact's doing.
		k, middle := float64(len(have)), stat.Median(have)
		variance := 1 / k
		if k > 2 {
			variance *= math.Pi / 2
		}
		x.effect, x.p = middle-o.Center, o.P(middle, variance)
		x.from, x.to = slices.Min(have)-o.Center, slices.Max(have)-o.Center
	}
}

func at(v []float64, places []int) []float64 {
	out := make([]float64, len(places))
	for i, n := range places {
		out[i] = v[n]
	}
	return out
}

// nameFacts names the facts of hosts that are off together, the clearest first. What one
// explains is
// taken out before the next one is looked for.
func (j *judge) nameFacts() {
	y := j.deviations()
	for len(j.f.Factors) < mostNamed {
		var best *fact
		for _, x := range j.found {
			if !x.named && x.p*float64(len(j.tests)) < stat.Alpha && (best == nil || x.clearer(best)) {
				best = x
			}
		}
		if best == nil {
			return
		}
		best.named = true
		j.f.Factors = append(j.f.Factors, j.commonFact(best))
		for _, n := range best.pairs {
			y[n] -= best.effect
		}
		j.weighFacts(y)
	}
}

func (x *fact) clearer(o *fact) bool {
	return cmp.Or(compareFloat(x.p, o.p), compareFloat(-math.Abs(x.effect)*math.Sqrt(float64(len(x.have))),
		-math.Abs(o.effect)*math.Sqrt(float64(len(o.have))))) < 0
}

func (j *judge) commonFact(x *fact) common {
	c := common{Names: x.names, Usual: x.usual, Hosts: len(x.have), Share: math.Expm1(x.effect),
		From: math.Expm1(x.from), To: math.Expm1(x.to),
		P: x.p, Adjust: min(1, x.p*float64(len(j.tests)))}
	c.Verdict = j.verdict(c.Share)
	if math.Abs(c.From) > math.Abs(c.To) {
		c.From, c.To = c.To, c.From
	}
	for _, n := range x.pairs {
		c.Pairs = append(c.Pairs, j.pairs[n].pair.Dir)
	}
	return c
}
