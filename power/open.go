// SPDX-License-Identifier: MIT

package power

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
)

// Auto as a source's name stands for every one that needs no target.
const Auto = "auto"

// Later as a source's name stands for a log that is joined when the runs are over.
const Later = "later"

// OpenAll opens sources. With auto it adds those that are there and need no
// target, the widest scope first; that one without any is no error. A named
// source that cannot be opened is one, and no other is left open.
func OpenAll(specs []Spec, auto bool) (sources []Source, err error) {
	defer func() {
		if err != nil {
			for _, s := range sources {
				s.Close()
			}
			sources = nil
		}
	}()
	for _, s := range specs {
		src, err := Open(s)
		if err != nil {
			return sources, err
		}
		sources = append(sources, src)
	}
	if !auto {
		return sources, nil
	}
	var found []Source
	for _, n := range names() {
		if kinds[n].survey == nil || slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == n }) {
			continue
		}
		// One without a sum has its channels beside the others.
		if src, err := kinds[n].open(Spec{Name: n}); err == nil {
			found = append(found, src)
		}
	}
	slices.SortStableFunc(found, func(a, b Source) int {
		return -cmp.Compare(rank[a.Info().Scope],
			rank[b.Info().Scope])
	})
	return append(sources, found...), nil
}

// ParseSpecs reads a list of specs. Auto may be among them; without a host's
// prefix it counts for both.
func ParseSpecs(texts []string) (specs []Spec, auto bool, err error) {
	for _, t := range texts {
		if t == Auto {
			auto = true
			continue
		}
		s, perr := ParseSpec(t)
		if perr != nil {
			err = errors.Join(err, perr)
			continue
		}
		err = errors.Join(err, s.CheckTwice(specs))
		specs = append(specs, s)
	}
	return specs, auto, err
}

// CheckTwice refuses a spec that results could not tell from one of the others.
func (s Spec) CheckTwice(others []Spec) error {
	if slices.ContainsFunc(others, func(o Spec) bool {
		return o.String() == s.String() && (o.Host == s.Host || o.Host == "" || s.Host == "")
	}) {
		return fmt.Errorf("power source %s is named twice: give one its own name, ?name=other", s)
	}
	return nil
}

// Measure makes the figures of all sources, in their order, and the metrics of
// what sampling costs.
func (s *Sampler) Measure(at Times) ([]Figure, []measure.Metric) {
	all := at.All()
	const slack = int64(time.Second) // series begin with a reading before the window
	var out []Figure
	for i, t := range s.Traces(all.FromNs-slack-at.GuardNs, all.ToNs+slack) {
		f := Measure(t, at)
		s.readers[i].learn(f.Slow)
		out = append(out, f)
	}
	var cost []measure.Metric
	var sum float64
	for i, c := range s.Cost() {
		sum += c.Cores
		cost = append(cost, measure.Metric{Name: out[i].slug() + "_sampler_cores", Unit: "cores", Value: c.Cores,
			Source: costSource})
	}
	if len(out) > 0 {
		cost = append(cost, measure.Metric{Name: MetricSamplerCores, Unit: "cores", Value: sum, Source: costSource})
	}
	return out, cost
}

// learn keeps for the runs to come that one has shown the source to be too slow: once the loads
// come one after another, an average over several of them looks like a quick reading of a small
// step.
func (r *reader) learn(slow string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.Slow = cmp.Or(r.trace.Slow, slow)
}

// MetricSamplerCores is the sum of what a sampler's sources cost.
const MetricSamplerCores = "power_sampler_cores"

const costSource = "CPU clocks of the thread and of its children"
