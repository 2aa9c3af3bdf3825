// SPDX-License-Identifier: MIT

package race

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zcbench/zcbench/results/stat"
)

// Margin is what does not matter: a winner that is less than 2 % behind the best is as good.
const Margin = .02

// Race is a search for the best arm of a field. It depends on the field, the budget, the seed and
// what it was told, and on nothing else: told the same again, from a journal, it is where it was.
type Race struct {
	field  *Field
	budget Budget
	seed   uint64
	group  []int // of each arm
	groups int

	in    []bool    // the race
	waits []bool    // to come into it
	tries []int     // starts in which it ran
	left  []leaving // of each arm
	obs   []observation

	blocks, starts int     // that were begun
	whole          int     // blocks in which every arm of the beginning ran that can run
	chosen         bool    // since then others run, by what was seen
	queue          []Start // of the block that runs
	plan           float64 // what the starts so far were to take
	spent          float64 // what they took
	lost           float64 // of the budget
	last           int     // the group that the host is set for
	over           bool

	fitted   *fit // of the observations
	fittedOf int
}

// leaving is when and why an arm left the race.
type leaving struct {
	block int // from 1; 0: it did not
	why   string
	out   bool // it cannot be in it
}

// New begins a race.
func New(field *Field, budget Budget, seed uint64) (*Race, error) {
	if err := cmp.Or(field.check(), budget.check()); err != nil {
		return nil, err
	}
	if least := budget.Least(field); budget.Seconds < least {
		return nil, fmt.Errorf("%d settings take at least %.0f s, not %.0f s", len(field.Arms), math.Ceil(least),
			budget.Seconds)
	}
	r := &Race{field: field, budget: budget, seed: seed, last: -1, in: make([]bool, len(field.Arms)),
		left: make([]leaving, len(field.Arms))}
	r.waits, r.tries = make([]bool, len(field.Arms)), make([]int, len(field.Arms))
	for i := range r.in {
		r.in[i] = i < field.first()
		r.waits[i] = !r.in[i]
	}
	r.group, r.groups = field.groups()
	r.begin()
	return r, nil
}

// Next returns what is to run next, the same until it was told; ok is false when the race is over.
func (r *Race) Next() (s Start, ok bool) {
	if r.over {
		return s, false
	}
	return r.queue[0], true
}

// Tell takes what a start read, and how long it took with what came before it; 0: as planned. It
// refuses a start that is not the next one: then the journal is of another race.
func (r *Race) Tell(s Start, seconds float64, readings []Reading) error {
	if next, ok := r.Next(); !ok || s.Block != next.Block || s.Group != next.Group || !slices.Equal(s.Arms, next.Arms) {
		return fmt.Errorf("start %v is not the next one of this race, %v", s, next)
	}
	for _, reading := range readings {
		if !slices.Contains(s.Arms, reading.Arm) || reading.Out == "" &&
			!(reading.Value > 0 && reading.Value < math.MaxFloat64) {
			return fmt.Errorf("reading %v of start %v is of no arm of it, or not above 0", reading, s)
		}
	}
	for _, arm := range s.Arms {
		r.tries[arm]++
	}
	var planned float64
	planned, r.last = r.budget.cost(r.last, r.queue[:1])
	r.plan, r.spent = r.plan+planned, r.spent+cmp.Or(seconds, planned)
	for _, reading := range readings {
		if reading.Out != "" {
			r.leave(reading.Arm, reading.Out)
			continue
		}
		r.obs = append(r.obs, observation{reading.Arm, r.starts, s.Block, math.Log(reading.Value)})
	}
	r.starts++
	if r.queue = r.queue[1:]; len(r.queue) == 0 {
		r.halve()
	}
	return nil
}

// Lose takes seconds from the budget, which were of no use to any race.
func (r *Race) Lose(seconds float64) { r.lost += seconds }

// Spent returns how many seconds the race took so far.
func (r *Race) Spent() float64 { return r.spent }

// begin lays out the next block.
func (r *Race) begin() {
	arms := r.running()
	r.queue = layOut(r.blocks, arms, r.group, r.groups, r.budget.Together, r.seed)
	if r.blocks++; !r.chosen {
		r.whole = r.blocks
	}
}

func (r *Race) running() (arms []int) {
	for i, in := range r.in {
		if in {
			arms = append(arms, i)
		}
	}
	return arms
}

// layOut makes the starts of a block: the groups in an order that is rotated every second block,
// and turned round in between, so that drift hits all alike. If a group has more arms than can be
// in a start, which are together is dealt anew in each block.
func layOut(block int, arms, group []int, groups, together int, seed uint64) (out []Start) {
	rng := rand.New(rand.NewPCG(seed, uint64(block)))
	for i := range groups {
		at := (i + block/2) % groups
		var own []int
		for _, arm := range arms {
			if group[arm] == at {
				own = append(own, arm)
			}
		}
		parts := 1
		if together > 0 {
			parts = (len(own) + together - 1) / together
			rng.Shuffle(len(own), func(i, k int) { own[i], own[k] = own[k], own[i] })
		}
		for p := range parts {
			if part := own[p*len(own)/parts : (p+1)*len(own)/parts]; len(part) > 0 {
				slices.Sort(part)
				out = append(out, Start{Block: block, Group: at, Arms: part})
			}
		}
	}
	if block%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// halve ends a block: arms leave the race, and the next block begins, or the race is over.
func (r *Race) halve() {
	var arms, again []int // again: something else disturbed what ran of them
	seen := r.measured()
	for _, arm := range r.running() {
		switch {
		case slices.Contains(seen, arm):
			arms = append(arms, arm)
		case r.tries[arm] >= mostTries:
			r.leave(arm, noRun)
		default:
			again = append(again, arm)
		}
	}
	time := (r.budget.Seconds - r.lost - r.spent) / r.pace()
	var run, others []int
	settled := len(again) == 0
	if len(arms) > 0 {
		all, near := r.best(arms)
		others = all
		with := func(order []int) []int {
			order = r.withWaiting(order)
			return slices.Insert(slices.Clone(order), min(2, len(order)), again...)
		}
		run = with(all)
		if settled = len(run) == 1; r.course(run) > time {
			run = with(all[:max(near, min(2, len(all)))])
		}
	} else {
		run = again
	}
	for len(run) > 2 && r.course(run) > time {
		run = run[:len(run)-1]
	}
	if first, _ := r.block(run); settled || first > time {
		r.over, r.queue = true, nil
		return
	}
	was := r.running()
	for _, arm := range run {
		r.in[arm], r.waits[arm] = true, false
	}
	for _, arm := range again {
		if !slices.Contains(run, arm) {
			r.leave(arm, noRun)
		}
	}
	for _, arm := range others {
		if !slices.Contains(run, arm) {
			r.drop(arm, "not among the best for which there was time", r.against(arm, run[0]), len(arms)-1)
		}
	}
	r.chosen = r.chosen || !slices.Equal(r.running(), was)
	r.begin()
}

// mostTries is in how many starts an arm is tried of which no run counts.
const mostTries = 2

const noRun = "none of its runs counted"

// enough is in how many blocks two arms must have run before one is told to be worse: the spread of
// their own starts counts in that, and fewer say too little of it.
const enough = 4

// best drops those of the arms that are told to be worse than the leader. It returns the leader and
// all others, first those that may be better, as far as the starts that there were can tell, the
// likeliest of all at their head. near is how many these are, with the leader.
func (r *Race) best(arms []int) (order []int, near int) {
	order = []int{r.leader(arms)}
	var far []int
	rivals := r.rivals(arms)
	look := float64(max(1, r.blocks-enough+1)) // who looks often is to be wrong no more often
	for _, v := range rivals {
		alpha := stat.Alpha / float64(len(rivals))
		if _, hi := v.interval(alpha / (look * (look + 1))); v.blocks >= enough && hi < 0 {
			r.drop(v.arm, "worse than the leader", v.contrast, len(rivals))
			r.chosen = true
			continue
		}
		if _, hi := v.interval(alpha); hi < 0 {
			far = append(far, v.arm)
			continue
		}
		order = append(order, v.arm)
	}
	return append(order, far...), len(order)
}

// leave takes an arm out that cannot be in the race.
func (r *Race) leave(arm int, why string) {
	r.in[arm], r.left[arm] = false, leaving{r.blocks, why, true}
}

// drop takes an arm out that is behind the leader by so much, as one of so many.
func (r *Race) drop(arm int, why string, c contrast, of int) {
	x := c.ratio(stat.Alpha / float64(of))
	if why += fmt.Sprintf(": %.3f of it", x.Value); c.told() {
		why += fmt.Sprintf(", [%.3f, %.3f]", x.Lo, x.Hi)
	}
	r.in[arm], r.left[arm] = false, leaving{r.blocks, why, false}
}

// pace is how much longer starts take than planned.
func (r *Race) pace() float64 { return r.spent / r.plan }

// block computes what a block of arms takes, as planned.
func (r *Race) block(arms []int) (seconds float64, last int) {
	return r.budget.cost(r.last, layOut(r.blocks, arms, r.group, r.groups, r.budget.Together, r.seed))
}

// course computes what it takes to halve arms, the best first, until two are left and have run
// twice more.
func (r *Race) course(order []int) (seconds float64) {
	for n := len(order); ; n = (n + 1) / 2 {
		s, _ := r.block(order[:n])
		if seconds += s; n <= 2 {
			return seconds + s
		}
	}
}

// Least computes the least time in which a field can race: a block of all, and two of two.
func (b *Budget) Least(f *Field) float64 {
	return b.Factorial(f, 1) + 4*(b.Arm+b.Start+b.Change)
}

// fit returns the model of all that was told.
func (r *Race) fit() *fit {
	if r.fitted == nil || r.fittedOf != len(r.obs) {
		r.fitted, r.fittedOf = newFit(r.obs, len(r.in), r.blocks, r.starts, nil), len(r.obs)
	}
	return r.fitted
}

// leader returns the best of arms.
func (r *Race) leader(arms []int) int {
	f := r.fit()
	return slices.MaxFunc(arms, func(a, b int) int { return cmp.Or(cmp.Compare(f.arm[a], f.arm[b]), b-a) })
}

// rival is how an arm stands to the leader.
type rival struct {
	contrast
	arm int
}

// rivals compares arms with the leader among them, which is left out: first those that are the most
// likely to be better by [Margin].
func (r *Race) rivals(arms []int) (out []rival) {
	leader := r.leader(arms)
	for _, arm := range arms {
		if arm != leader {
			out = append(out, rival{r.against(arm, leader), arm})
		}
	}
	slices.SortStableFunc(out, func(a, b rival) int {
		return cmp.Compare((b.value-Margin)/b.model, (a.value-Margin)/a.model)
	})
	return out
}

// against compares an arm with another, by the model. Its spread is that of all arms: where the two
// differ from block to block by more than that, theirs counts, beside it.
func (r *Race) against(arm, other int) contrast {
	f := r.fit()
	c := f.of(map[int]float64{arm: 1, other: -1})
	c.model = c.se
	at := map[int]observation{}
	for _, o := range f.obs {
		if o.arm == other {
			at[o.block] = o
		}
	}
	var apart []float64
	expected := 0.0
	for _, o := range f.obs {
		if x, ok := at[o.block]; ok && o.arm == arm {
			apart = append(apart, o.y-x.y)
			expected += 2 * f.own
			if x.start != o.start {
				expected += 2 * f.spread.start
			}
		}
	}
	if c.blocks = len(apart); c.blocks < 2 {
		return c
	}
	mean, rest := 0.0, 0.0
	for _, d := range apart {
		mean += d / float64(c.blocks)
	}
	for _, d := range apart {
		rest += (d - mean) * (d - mean)
	}
	more := before + c.blocks - 1
	if by := (before + rest/expected*float64(c.blocks)) / float64(more); by > 1 {
		c.se *= math.Sqrt(by)
	}
	return c
}
