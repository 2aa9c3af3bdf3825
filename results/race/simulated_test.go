// SPDX-License-Identifier: MIT

package race

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results/stat"
)

// noise is how a simulated machine varies, in logarithms.
type noise struct {
	name        string
	own, start  float64 // of an arm in a start, and of a start
	drift, wave float64 // over the time of a race
	off, offBy  float64 // how often a start, or an arm in one, is off, and how far on average
	// best is by how much the best arm varies from start to start, and slow ones by .5 %, the
	// others by what lies between; 0: all of them by own.
	best float64
}

var (
	// likeAA is the noise of TestEqualArms of plan/matrix.
	likeAA = noise{"drift of 2 % and a wave, CV .7 %", .007, 0, .02, .004, .02, .04, 0}
	usual  = noise{"the same, starts 2 % apart, drift of 3 %", .007, .02, .03, .01, .03, .05, 0}
	rough  = noise{"CV 1.5 %, starts 3 % apart, one in 20 off by 8 %", .015, .03, .03, .01, .05, .08, 0}
)

// faster is a machine on which the better an arm is, the more its starts vary, as on veth.
func faster(best float64) noise {
	name := fmt.Sprintf("slow ones vary by .5 %%, the best by %.0f %%", 100*best)
	return noise{name, 0, .01, .02, .004, .01, .03, best}
}

// machine plays starts of arms whose logarithms are truth.
type machine struct {
	noise
	rng    *rand.Rand
	truth  []float64
	budget Budget
	now    float64
	last   int
}

func (m *machine) play(s Start) (out []Reading) {
	took, last := m.budget.cost(m.last, []Start{s})
	m.now, m.last = m.now+took, last
	at := m.now / m.budget.Seconds
	common := m.start*m.rng.NormFloat64() - m.drift*at + m.wave*math.Sin(9*at)
	if m.rng.Float64() < m.off {
		common -= m.offBy * m.rng.ExpFloat64()
	}
	for _, arm := range s.Arms {
		y := m.truth[arm] + common + m.varies(arm)*m.rng.NormFloat64()
		if m.rng.Float64() < m.off {
			y -= m.offBy / 2 * m.rng.ExpFloat64()
		}
		out = append(out, Reading{Arm: arm, Value: math.Exp(y)})
	}
	return out
}

// finds reports whether the best is to be found: other machines vary by too much for the time.
func (n *noise) finds() bool { return n.own < .01 && n.best == 0 }

// varies returns by how much an arm does, from start to start.
func (m *machine) varies(arm int) float64 {
	if m.best == 0 {
		return m.own
	}
	const slow = .005
	lo, hi := slices.Min(m.truth), slices.Max(m.truth)
	if hi == lo {
		return m.best
	}
	return slow + (m.best-slow)*(m.truth[arm]-lo)/(hi-lo)
}

// six factors of two levels, of which two cannot take turns, are 64 arms in 4 groups.
func six() *Field {
	f := &Field{Mode: "zcrx", Arms: [][]int{nil}}
	for i, name := range []string{"ring", "gro", "read", "area", "rx_buf_len", "token_batch"} {
		f.Factors = append(f.Factors, Factor{name, []string{"as it is", "other"}, i < 2})
		var arms [][]int
		for _, a := range f.Arms {
			arms = append(arms, append(slices.Clip(a), 0), append(slices.Clip(a), 1))
		}
		f.Arms = arms
	}
	return f
}

// third is a third of what it takes to run all arms in six starts each, as a plan would.
func third(f *Field) Budget {
	b := Budget{Arm: 5, Start: 8, Change: 3}
	b.Seconds = b.Factorial(f, 6) / 3
	return b
}

// sum makes a landscape: effects of so much, of levels and of pairs of them.
func sum(rng *rand.Rand, arms [][]int, level, pair float64) (truth []float64) {
	n := len(arms[0])
	main, both := make([]float64, n), make([]float64, n*n)
	for i := range main {
		main[i] = level * rng.NormFloat64()
		for k := range i {
			both[i*n+k] = pair * rng.NormFloat64()
		}
	}
	for _, a := range arms {
		y := 3.0
		for i, l := range a {
			y += main[i] * float64(l)
			for k := range i {
				y += both[i*n+k] * float64(l*a[k])
			}
		}
		truth = append(truth, y)
	}
	return truth
}

var landscapes = []struct {
	name  string
	truth func(rng *rand.Rand, arms [][]int) []float64
}{
	{"levels of 5 %", func(rng *rand.Rand, arms [][]int) []float64 { return sum(rng, arms, .05, 0) }},
	{"levels of 3 %, pairs of 5 %", func(rng *rand.Rand, arms [][]int) []float64 { return sum(rng, arms, .03, .05) }},
	{"levels and pairs of 1 %", func(rng *rand.Rand, arms [][]int) []float64 { return sum(rng, arms, .01, .01) }},
	{"a needle of 10 %", func(rng *rand.Rand, arms [][]int) []float64 {
		truth := sum(rng, arms, .02, 0)
		truth[1+rng.IntN(len(arms)-1)] += .1
		return truth
	}},
	{"rugged: levels, pairs and arms of 3 %", func(rng *rand.Rand, arms [][]int) []float64 {
		truth := sum(rng, arms, .03, .03)
		for i := range truth {
			truth[i] += .03 * rng.NormFloat64()
		}
		return truth
	}},
	{"flat", func(_ *rand.Rand, arms [][]int) []float64 { return make([]float64, len(arms)) }},
}

// flat is the landscape in which all arms are equal.
var flat = len(landscapes) - 1

// played is a race on a machine.
type played struct {
	*Race
	m *machine
	Leaders
	top float64 // of the truth
}

func play(t testing.TB, f *Field, b Budget, of noise, landscape, round int) played {
	rng := rand.New(rand.NewPCG(uint64(landscape), uint64(round)))
	return playOn(t, f, b, &machine{noise: of, rng: rng, truth: landscapes[landscape].truth(rng, f.Arms), budget: b,
		last: -1}, round)
}

// playOn plays a race to its end, which is in time.
func playOn(t testing.TB, f *Field, b Budget, m *machine, round int) played {
	r, err := New(f, b, uint64(round))
	if err != nil {
		t.Fatal(err)
	}
	for s, ok := r.Next(); ok; s, ok = r.Next() {
		if err := r.Tell(s, 0, m.play(s)); err != nil {
			t.Fatal(err)
		}
	}
	if r.Spent() > b.Seconds {
		t.Fatalf("took %.0f of %.0f s", r.Spent(), b.Seconds)
	}
	l, ok := r.Leaders()
	if !ok {
		t.Fatal("no arm leads")
	}
	return played{r, m, l, slices.Max(m.truth)}
}

// good reports whether an arm is the best, or within 2 % of it.
func (p *played) good(arm int) bool { return p.m.truth[arm] >= p.top-Margin }

func (p *played) gain() float64 { return p.m.truth[p.Winner] - p.m.truth[p.field.Default] }

// confirm runs the winner and the default in so many blocks of starts of their own: in one start if
// they can take turns.
func (p *played) confirm(blocks int) stat.Paired {
	var best, base []float64
	arms := []int{p.field.Default, p.Winner}
	slices.Sort(arms)
	m := *p.m
	for block := range blocks {
		for _, s := range layOut(block, arms, p.group, p.groups, 0, 0) {
			for _, x := range m.play(s) {
				if x.Arm == p.Winner {
					best = append(best, x.Value)
				} else {
					base = append(base, x.Value)
				}
			}
		}
	}
	return stat.Pairs(best, base)
}

// holds reports whether all told effects hold the truth.
func (p *played) holds(e Effects) bool {
	for _, x := range slices.Concat(e.Main, e.Pairs) {
		levels := map[int]int{x.Factor: x.Level}
		if x.With >= 0 {
			levels[x.With] = x.WithLevel
		}
		arms := p.measured()
		if !p.field.Factors[x.Factor].Host || x.With >= 0 && !p.field.Factors[x.With].Host { // by the first blocks
			arms = slices.DeleteFunc(arms, func(arm int) bool { return arm >= p.field.first() })
		}
		weights, _ := p.corners(arms, levels, p.field.Arms[p.field.Default])
		truth := 0.0
		for arm, w := range weights {
			truth += w * p.m.truth[arm]
		}
		if math.Exp(truth) < x.Ratio.Lo || math.Exp(truth) > x.Ratio.Hi {
			return false
		}
	}
	return true
}

// tally counts in percent.
type tally struct{ good, bound, covered, effects, n, moved float64 }

func (c *tally) of(v float64) float64 { return 100 * v / c.n }

func (c tally) String() string {
	return fmt.Sprintf("best or within 2 %% %.1f %%, bound %.1f, confirmation %.1f, effects %.1f", c.of(c.good),
		c.of(c.bound), 100*c.covered/max(1, c.moved), c.of(c.effects))
}

func (c *tally) add(p *played) {
	c.n++
	count := func(at *float64, ok bool) {
		if ok {
			*at++
		}
	}
	count(&c.good, p.good(p.Winner))
	count(&c.bound, p.Resolution == nil || p.m.truth[p.Winner]+math.Log1p(*p.Resolution) >= p.top)
	count(&c.effects, p.holds(p.Effects()))
	if p.Winner != p.field.Default {
		c.moved++
		confirmed, truth := p.confirm(8), math.Exp(p.gain())
		count(&c.covered, confirmed.Lo <= truth && truth <= confirmed.Hi)
	}
}

// The criterion: in a third of the time of a full factorial with six starts of each arm, the race
// finds the best or what is within 2 % of it in 95 of 100, whatever the landscape; and what it, its
// confirmation and its effects tell holds the truth in 94 of 100. On a rough machine, and where the
// best varies the most, it may miss the best, but says how much better others may be.
func TestFindsTheBest(t *testing.T) {
	long.Garbage(t)
	f := six()
	rounds, least := long.Rounds(5, 200), float64(long.Rounds(85, 94)) // few rounds tell a share badly
	for _, of := range []noise{likeAA, usual, rough, faster(.02), faster(.04), faster(.06)} {
		var all tally
		for landscape, l := range landscapes {
			var c tally
			for round := range rounds {
				p := play(t, f, third(f), of, landscape, round)
				c.add(&p)
				all.add(&p)
			}
			t.Logf("%s; %s: %v", of.name, l.name, c)
			if long.Wanted() && (of.finds() && c.of(c.good) < 95 || c.of(c.bound) < 95 ||
				of.best == 0 && c.of(c.effects) < 93) {
				t.Error("not so good as it is to be")
			}
		}
		t.Logf("%s: %v", of.name, all)
		if of.finds() && all.of(all.good) < 95 || all.of(all.bound) < 95 ||
			100*all.covered < least*all.moved || all.of(all.effects) < least {
			t.Error("not so good as it is to be")
		}
	}
}

// The criterion tells: who takes the best after one block, or the best level of each factor, fails
// it.
func TestCriterionTells(t *testing.T) {
	f := six()
	rounds := long.Rounds(60, 1000)
	once, levels := 0, 0
	for round := range rounds {
		const small, needle = 2, 3
		rng := rand.New(rand.NewPCG(7, uint64(round)))
		first := func(landscape int) *played {
			m := &machine{noise: usual, rng: rng, truth: landscapes[landscape].truth(rng, f.Arms), budget: third(f),
				last: -1}
			r, err := New(f, third(f), 1)
			if err != nil {
				t.Fatal(err)
			}
			for s, ok := r.Next(); ok && s.Block == 0; s, ok = r.Next() {
				if err := r.Tell(s, 0, m.play(s)); err != nil {
					t.Fatal(err)
				}
			}
			return &played{Race: r, m: m, top: slices.Max(m.truth)}
		}
		p := first(small)
		if best := slices.MaxFunc(p.obs,
			func(a, b observation) int { return int(math.Copysign(1, a.y-b.y)) }); !p.good(best.arm) {
			once++
		}
		p = first(needle)
		best := make([]int, len(f.Factors))
		for _, e := range p.Effects().Main {
			if e.Ratio.Value > 1 {
				best[e.Factor] = e.Level
			}
		}
		if !p.good(slices.IndexFunc(f.Arms, func(a []int) bool { return slices.Equal(a, best) })) {
			levels++
		}
	}
	t.Logf("of %d: the best of one block is wrong in %d, the best levels in %d", rounds, once, levels)
	if once*20 < rounds || levels*20 < rounds {
		t.Errorf("of %d: %d and %d wrong, which the criterion would let pass", rounds, once, levels)
	}
}

// Where all arms are equal, the search says so: the defaults tie with the winner, and no factor
// mattered. What it says of the winner is too much, and Optimism says by how much.
func TestFlatIsATie(t *testing.T) {
	f := six()
	rounds := long.Rounds(60, 1000)
	tie, none, covered, confirmed := 0, 0, 0, 0
	said, was := 0.0, 0.0
	for round := range rounds {
		p := play(t, f, third(f), usual, flat, round)
		if p.Winner == f.Default || slices.Contains(p.Ties, f.Default) {
			tie++
		}
		e := p.Effects()
		if !slices.ContainsFunc(f.Factors, func(x Factor) bool {
			return e.Of(slices.IndexFunc(f.Factors, func(y Factor) bool { return y.Name == x.Name }), .02) == Mattered
		}) {
			none++
		}
		if p.Winner == f.Default {
			continue
		}
		o, ok := Optimism(p.Gain, p.confirm(8))
		if !ok {
			t.Fatal("no interval")
		}
		confirmed++
		if o.Lo <= p.Gain && p.Gain <= o.Hi { // the truth is 1: all of the gain is optimism
			covered++
		}
		said, was = said+math.Log(o.Value), was+math.Log(p.Gain)
	}
	said, was = said/float64(confirmed), was/float64(confirmed)
	t.Logf("of %d: tie in %d, nothing mattered in %d; of %d optimism covers in %d; %.2f %%, told as %.2f %%", rounds,
		tie,
		none, confirmed, covered, 100*was, 100*said)
	if tie < rounds*94/100 || none < rounds*94/100 || covered < confirmed*94/100 {
		t.Error("a flat field is not told as flat")
	}
	if was < .01 || math.Abs(said-was) > .004 {
		t.Errorf("the search is optimistic by %.2f %%, told as %.2f %%", 100*was, 100*said)
	}
}
