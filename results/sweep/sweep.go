// SPDX-License-Identifier: MIT

// Package sweep finds the cells of an experiment that differ in one size alone, from plenty to
// starving, and from which size on their throughput is full: the knee.
package sweep

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// least is how many sizes make a sweep.
const least = 3

// Sweep is cells that differ in one size alone.
type Sweep struct {
	Factor string      `json:"factor"`
	RX     string      `json:"rx"`
	With   string      `json:"with,omitempty"` // the options in which sweeps of the factor differ
	Plenty plan.Plenty `json:"plenty"`
	Within float64     `json:"within"` // of what the last size has: full
	Sizes  []Size      `json:"sizes"`  // from scarce to plenty
	// Low and High are the ends of the knee's interval, as sizes: at Low, on the scarce side, it is
	// known to be less than full, and from High on it is known to be full; null where there is no
	// such size. Knee is the estimate.
	Low   *float64   `json:"less_at"`
	Knee  *float64   `json:"knee"`
	High  *float64   `json:"full_from"`
	Level stat.Level `json:"level,omitempty"`
	// Disorder: a size with more of it is known to have less throughput than full, and one with
	// less of it to be full.
	Disorder bool `json:"disorder,omitempty"`
	// Refused are sizes with which the mode could not run, as far as there are no others beyond.
	Refused []float64 `json:"refused,omitempty"`
	// Rule is four times what fills the RX ring once, bytes, whatever the application holds; null:
	// it is not known, or the size is not of that memory.
	Rule *float64 `json:"rule,omitempty"`

	level string // in words
	held  plan.LimitedBy
	unit  string
}

// Size is a cell of a sweep.
type Size struct {
	Size    float64       `json:"size"`
	Cell    string        `json:"cell"`
	Gbps    *stat.Summary `json:"throughput_gbps"`
	OfFull  *stat.Ratio   `json:"of_full,omitempty"` // over the last size's
	Starved int           `json:"starved,omitempty"` // runs that ended because the NIC found no buffer
	// PerGB are the counts of its runs that count, per 1e9 bytes of payload, medians, by the
	// names of Counts; one that no run has is not there.
	PerGB map[string]float64 `json:"per_gb,omitempty"`
	// Copied is the share of the payload that the kernel copied, the median.
	Copied *float64 `json:"copied_share,omitempty"`
}

// Count is a counter that tells how a path fares that lacks something.
type Count struct {
	Name  string
	Short [2]string // above a column
	of    func(*results.Wants) *uint64
}

// Counts are those of a sweep, of whole flows.
var Counts = []Count{
	{"pool_empty", [2]string{"pool", "empty"}, func(w *results.Wants) *uint64 { return w.PoolEmpty }},
	{"pool_slow", [2]string{"pool", "slow"}, func(w *results.Wants) *uint64 { return w.PoolSlow }},
	{"pool_full", [2]string{"pool", "full"}, func(w *results.Wants) *uint64 { return w.PoolFull }},
	{"alloc_fail", [2]string{"no", "buffer"}, func(w *results.Wants) *uint64 { return w.AllocFail }},
	{"drops", [2]string{"NIC", "drops"}, func(w *results.Wants) *uint64 { return w.Drops }},
	{"cq_full", [2]string{"CQ", "full"}, func(w *results.Wants) *uint64 { return w.CQFull }},
}

// Of finds the sweeps of a set, in the order of the options; full is within so much, as a share.
func Of(set *compare.Set, within float64) (out []Sweep) {
	other := set.OtherTurns()
	for i := range plan.Options {
		o := &plan.Options[i]
		if o.Plenty == "" {
			continue
		}
		var keys []plan.CellKey
		of := map[plan.CellKey][]*compare.Cell{}
		for n := range set.Cells {
			c := &set.Cells[n]
			if _, ok := o.Size(&c.Cell); !ok || !o.Concerns(&c.Cell) || c.Source != "" || c.Cell.Paced() ||
				c.Cell.MovesPackets() || c.Cell.RoundTrips() || c.Cell.Control != "" || other(&c.Cell) {
				continue
			}
			bare := c.Cell
			o.Clear(&bare)
			k := bare.Key()
			if of[k] == nil {
				keys = append(keys, k)
			}
			of[k] = append(of[k], c)
		}
		var found []Sweep
		var first []*plan.Cell
		for _, k := range keys {
			if s := sweepOf(o, of[k], within, set.Between); s != nil {
				found, first = append(found, *s), append(first, &of[k][0].Cell)
			}
		}
		tell(o, found, first)
		out = append(out, found...)
	}
	return out
}

// tell names in what the sweeps of a factor differ, beside the receive mode.
func tell(o *plan.Option, all []Sweep, first []*plan.Cell) {
	for i := range all {
		var words []string
		for k := range plan.Options {
			f := &plan.Options[k]
			if f == o || f.Name == "rx" || !f.Concerns(first[i]) ||
				!slices.ContainsFunc(first, func(c *plan.Cell) bool {
					return f.Concerns(c) && f.Value(c) != f.Value(first[i])
				}) {
				continue
			}
			words = append(words, f.Name+"="+f.Value(first[i]))
		}
		all[i].With = strings.Join(words, " ")
	}
}

// starved is what a run that starved has delivered, of what it would have: next to nothing. Ranks
// do not ask for more.
const starved = 1e-9

// sweepOf makes the sweep of some cells; nil: too few of them have runs.
func sweepOf(o *plan.Option, cells []*compare.Cell, within float64, between stat.Between) *Sweep {
	size := func(c *compare.Cell) float64 { n, _ := o.Size(&c.Cell); return n }
	slices.SortStableFunc(cells, func(a, b *compare.Cell) int { return cmp.Compare(size(a), size(b)) })
	if o.Plenty != plan.More {
		slices.Reverse(cells)
	}
	s := &Sweep{Factor: o.Name, RX: cells[0].Cell.RX, Plenty: o.Plenty, Within: within, unit: o.Unit()}
	var all []*compare.Cell
	plenty, measured := -1, 0
	for _, c := range cells {
		switch {
		case len(c.Runs)+c.Other == 0: // nobody tried
		case c.Unsupported == "" || len(c.Runs) > 0:
			if all = append(all, c); len(c.Runs) > 0 {
				plenty = len(all) - 1
			}
			if len(c.Runs)+len(c.Starved) > 0 {
				measured++
			}
		case len(all) == 0:
			s.Refused = append(s.Refused, size(c))
		}
	}
	if plenty < 0 || measured < least {
		return nil
	}
	all = all[:plenty+1]
	full := runsOf(all[plenty])
	var at []float64
	var ratios []*stat.Ratio
	for i, c := range all {
		x := sizeOf(c, size(c))
		if runs := runsOf(c); i < plenty {
			if len(runs) > 0 {
				d := stat.Contrast(full, runs, between)
				x.OfFull, s.Level, s.level = d.Ratio, d.Level, compare.LevelText(&d)
			}
			ratios = append(ratios, x.OfFull)
		}
		at, s.Sizes = append(at, x.Size), append(s.Sizes, x)
	}
	k := stat.KneeOf(at, ratios, within)
	s.Knee, s.Disorder, s.held = k.At, k.Disorder, all[plenty].Held()
	if k.Below >= 0 {
		s.Low = &at[k.Below]
	}
	if k.From >= 0 {
		s.High = &at[k.From]
	}
	s.Rule = ruleOf(o, all)
	return s
}

// runsOf are a cell's figures of throughput.
func runsOf(c *compare.Cell) (out []stat.Run) {
	for _, r := range c.Runs {
		if v := r.SUT.ThroughputGbps; v != nil && *v > 0 {
			out = append(out, c.Run(r, *v))
		}
	}
	for _, r := range c.Starved {
		out = append(out, c.Run(r, starved))
	}
	return compare.SameBoots(out)
}

func sizeOf(c *compare.Cell, size float64) Size {
	x := Size{Size: size, Cell: c.Cell.ID, Starved: len(c.Starved), PerGB: map[string]float64{}}
	var gbps, copied []float64
	per := map[string][]float64{}
	for _, r := range c.Runs {
		h := &r.SUT
		if h.ThroughputGbps != nil {
			gbps = append(gbps, *h.ThroughputGbps)
		}
		if h.CopiedBytes != nil && h.Bytes != nil && *h.Bytes > 0 {
			copied = append(copied, float64(*h.CopiedBytes)/float64(*h.Bytes))
		}
		for _, count := range Counts {
			if h.Wants == nil || h.TotalBytes == nil || *h.TotalBytes == 0 {
				break
			}
			if n := count.of(h.Wants); n != nil {
				per[count.Name] = append(per[count.Name], float64(*n)/float64(*h.TotalBytes)*1e9)
			}
		}
	}
	x.Gbps = stat.Summarize(gbps)
	for name, v := range per {
		x.PerGB[name] = stat.Median(v)
	}
	if copied != nil {
		x.Copied = new(stat.Median(copied))
	}
	return x
}

// ruleOf computes the reference's rule for the memory of a queue, where all cells have one ring:
// four times what fills it. What the application may hold is in that, as the reference's 48 of its
// 64 MiB.
func ruleOf(o *plan.Option, cells []*compare.Cell) *float64 {
	ring := uint64(0)
	for _, c := range cells {
		for _, r := range c.Runs {
			w := r.SUT.Wants
			if w == nil || w.RingBytes == nil || ring != 0 && *w.RingBytes != ring {
				return nil
			}
			ring = *w.RingBytes
		}
	}
	if ring == 0 || o.Name != "area_bytes" {
		return nil
	}
	return new(float64(4 * ring))
}
