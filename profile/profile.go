// SPDX-License-Identifier: MIT

package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/zcbench/zcbench/profile/perf"
)

// Profile is what samples of some CPUs, or of some threads, add up to.
type Profile struct {
	Event   perf.Event
	Hz      int
	CPUs    []int
	WallNs  int64 // how long it was sampled
	Samples uint64
	Tally   perf.Tally
	LeftOut uint64 // samples of more stacks than are kept
	Stacks  []Stack

	// MHz is how fast the CPUs ran while they were not idle, which makes cycles a time; 0: not
	// known.
	MHz float64
	// Threads, Share and RanNs are the recording's. The stacks' weights have each CPU's share in
	// them.
	Threads bool
	Share   float64
	RanNs   int64
}

// Counted adds up what samples by a count stand for, by class, without what an idle CPU did.
func (p *Profile) Counted() map[Class]float64 {
	out := map[Class]float64{}
	for i := range p.Stacks {
		if s := &p.Stacks[i]; s.Where != Idle {
			out[s.Class] += float64(s.Weight)
		}
	}
	return out
}

// weights adds up the samples' periods, of what was work and of all.
func (p *Profile) weights() (busy, all uint64) {
	for i := range p.Stacks {
		all += p.Stacks[i].Weight
		if p.Stacks[i].Where != Idle {
			busy += p.Stacks[i].Weight
		}
	}
	return busy, all
}

// SampledBusyNs computes how long the CPUs were busy by the samples alone; false: samples by cycles
// do not tell, unless it is known how fast the CPUs ran, or how long the threads. Each sample
// stands for as many cycles as it says: the kernel has fewer in one where there is less to do. Of a
// CPU that never had a counter they say nothing.
func (p *Profile) SampledBusyNs() (float64, bool) {
	busy, all := p.weights()
	switch {
	case p.Event.Nanoseconds:
		return float64(busy), true
	case p.Threads:
		if p.RanNs > 0 && all > 0 {
			return float64(p.RanNs) * float64(busy) / float64(all), true
		}
	case p.MHz > 0 && p.Share > 0:
		return float64(busy) / p.MHz * 1e3, true
	}
	return 0, false
}

// Costs is where busy time went. Shares are of the samples that are not idle; times are shares
// of the busy time, so that all functions' own times add up to it.
type Costs struct {
	BusyNs    float64
	Functions []function  // by own time, the largest first
	Classes   []classCost // likewise; every class that has any
}

// function is what a function cost, alone and with all that it called.
type function struct {
	Frame
	Where   Where
	Class   Class // of most of its own time; else the rule's of its name, which may be none
	SelfNs  float64
	TotalNs float64
	Samples uint64 // in which it was the innermost
}

// classCost is what a class cost.
type classCost struct {
	Class   Class
	Ns      float64
	Samples uint64
}

// sampledNs computes the busy time by the samples alone. Of cycles at an unknown speed each sample
// is a period of the frequency asked for, which is too much where CPUs idled.
func (p *Profile) sampledNs() float64 {
	if ns, ok := p.SampledBusyNs(); ok {
		return ns
	}
	if busy, _ := p.weights(); p.Hz == 0 {
		return float64(busy)
	}
	n := uint64(0)
	for i := range p.Stacks {
		if s := &p.Stacks[i]; s.Where != Idle {
			n += s.Count
		}
	}
	return float64(n) * 1e9 / float64(p.Hz)
}

// Costs divides the time that the CPUs were busy (of the samples, where busyNs is 0) among
// functions and classes.
func (p *Profile) Costs(busyNs float64) Costs {
	busy, _ := p.weights()
	if busyNs == 0 {
		busyNs = p.sampledNs()
	}
	c := Costs{BusyNs: busyNs}
	if busy == 0 {
		return c
	}
	scale := busyNs / float64(busy)
	functions, classes := map[functionKey]*tally{}, map[Class]*classCost{}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if s.Where == Idle {
			continue
		}
		ns := float64(s.Weight) * scale
		k := classes[s.Class]
		if k == nil {
			k = &classCost{Class: s.Class}
			classes[s.Class] = k
		}
		k.Ns, k.Samples = k.Ns+ns, k.Samples+s.Count
		addFunctions(functions, s, ns)
	}
	for k, t := range functions {
		c.Functions = append(c.Functions, function{k.Frame, k.Where, cmp.Or(t.mostly(), rule(k.Frame)), t.self, t.total,
			t.samples})
	}
	for _, k := range classes {
		c.Classes = append(c.Classes, *k)
	}
	slices.SortFunc(c.Functions, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.SelfNs, a.SelfNs), cmp.Compare(b.TotalNs, a.TotalNs),
			cmp.Compare(a.String(), b.String()), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Module, b.Module))
	})
	slices.SortFunc(c.Classes, func(a, b classCost) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns),
			cmp.Compare(a.Class, b.Class))
	})
	return c
}

type functionKey struct {
	Frame
	Where Where
}

type tally struct {
	self, total float64
	samples     uint64
	classes     map[Class]float64
}

func (t *tally) mostly() (best Class) {
	for c, ns := range t.classes {
		if best == "" || ns > t.classes[best] || ns == t.classes[best] && c < best {
			best = c
		}
	}
	return best
}

// addFunctions adds a stack's time to its functions: to each once, however often it is there.
func addFunctions(functions map[functionKey]*tally, s *Stack, ns float64) {
	frames := s.Frames
	if len(frames) == 0 {
		frames = []Frame{{Name: "[unknown]"}}
	}
	for i, f := range frames {
		if slices.Contains(frames[:i], f) {
			continue
		}
		key := functionKey{f, s.Where}
		t := functions[key]
		if t == nil {
			t = &tally{classes: map[Class]float64{}}
			functions[key] = t
		}
		t.total += ns
		if i == 0 {
			t.self, t.samples = t.self+ns, t.samples+s.Count
			t.classes[s.Class] += ns
		}
	}
}

// maxIdlePoints is how many percent of wall time the profile may be off what the CPUs' own
// accounting says of their idleness.
const maxIdlePoints = 2

// Check compares the samples with the time that the CPUs were busy by their accounting, both of
// WallNs on all CPUs: nil is that they agree, or that nothing can be said.
func (p *Profile) Check(busyNs float64) error {
	sampled, ok := p.SampledBusyNs()
	wall := float64(p.WallNs) * float64(len(p.CPUs))
	if !ok || wall <= 0 {
		return nil
	}
	if off := 100 * (sampled - busyNs) / wall; math.Abs(off) > maxIdlePoints {
		return fmt.Errorf("samples show the CPUs busy for %.1f %% of the time, CPU accounting for %.1f %%: "+
			"samples were lost, or time is accounted differently", 100*sampled/wall, 100*busyNs/wall)
	}
	return nil
}

// Metrics describe where the time went.
var Metrics = []measure.MetricDoc{
	{Names: "profile_samples profile_lost_samples", Units: "1", Source: "perf",
		Meaning: "taken of the measured CPUs in the window, idle ones too; not kept, in turns those of " +
			"all cells of the start"},
	{Names: "profile_between_turns_samples", Units: "1", Source: "perf",
		Meaning: "of a window with turns, idle ones too: taken in nobody's turn, and so in no profile"},
	{Names: "profile_sampled_busy_cores", Units: "cores", Source: "perf",
		Meaning: "how busy the CPUs were by the samples; by cycles where their speed is known"},
	{Names: "profile_reader_cores", Units: "cores", Source: "sampler",
		Meaning: "what emptying the samples' rings took, on whatever CPU; the samples themselves " +
			"are part of what they interrupt (docs/probe-cost.md)"},
	{Names: "profile_wire_packets", Units: "packets",
		Source:  "TCP_INFO; /proc/net/netstat; /proc/net/snmp; /proc/net/snmp6",
		Meaning: "packets on the wire of the flow (docs/profile.md)"},
	{Names: "profile_busy_ns_per_kb profile_busy_ns_per_packet profile_busy_ns_per_wire_packet",
		Units: "ns/kB ns ns", Source: "perf",
		Meaning: "busy time of the measured CPUs, which the classes add up to; per kB of 1000 " +
			"bytes of payload, per packet that IP took or sent (after GRO), and per packet of " +
			"the wire"},
	{Names: "profile_busy_instructions_per_kb profile_busy_ipc profile_busy_llc_misses_per_kb " +
		"profile_class_NAME_instructions_per_kb profile_class_NAME_ipc profile_class_NAME_llc_misses_per_kb",
		Units: "1/kB 1 1/kB 1/kB 1 1/kB", Source: "perf cycles",
		Meaning: "instructions, instructions per cycle and misses of the last-level cache, of all classes " +
			"and in a class, by samples of each (docs/why.md)"},
	{Names: "profile_class_NAME_ns_per_kb profile_class_NAME_ns_per_packet profile_class_NAME_ns_per_wire_packet",
		Units: "ns/kB ns ns", Source: "perf",
		Meaning: "its part in a class"},
	{Names: "profile_function_WHERE_NAME_self_ns_per_kb profile_function_WHERE_NAME_self_ns_per_packet " +
		"profile_function_WHERE_NAME_self_ns_per_wire_packet",
		Units: "ns/kB ns ns", Source: "perf",
		Meaning: "its part in a function alone, of the 60 with most; WHERE is thread, softirq " +
			"or interrupt; characters that metrics do not have are _"},
	{Names: "profile_function_WHERE_NAME_total_ns_per_kb profile_function_WHERE_NAME_total_ns_per_packet " +
		"profile_function_WHERE_NAME_total_ns_per_wire_packet",
		Units: "ns/kB ns ns", Source: "perf",
		Meaning: "its part in the same functions and what they called"},
}
