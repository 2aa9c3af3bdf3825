// SPDX-License-Identifier: MIT

package profile

import (
	"fmt"
	"time"

	"github.com/google/pprof/profile"
)

// root names the frame that stands below a stack, so that graphs keep accounts apart.
func (s *Stack) root() string {
	if s.Where == Thread {
		return s.Comm
	}
	return "[" + string(s.Where) + "]"
}

// Pprof converts the profile to the form that `go tool pprof` opens: two values a sample, how many
// it was and nanoseconds of busy time, of which there are busyNs in all (0: as sampled); labels
// class, where and pid. Idle samples are in it with no time where busyNs is not 0: they are none of
// it.
func (p *Profile) Pprof(busyNs float64, at time.Time) *profile.Profile {
	w := pprofWriter{functions: map[Frame]*profile.Location{}, mappings: map[string]*profile.Mapping{}}
	w.out = &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		DefaultSampleType: "cpu", TimeNanos: at.UnixNano(), DurationNanos: p.WallNs, Comments: p.Remarks()}
	if p.Hz > 0 && p.Event.Nanoseconds {
		w.out.PeriodType, w.out.Period = w.out.SampleType[1], int64(time.Second)/int64(p.Hz)
	}
	if busyNs == 0 && !p.Event.Nanoseconds {
		busyNs = p.sampledNs()
	}
	busy, _ := p.weights()
	scale := 1.0
	if busyNs > 0 && busy > 0 {
		scale = busyNs / float64(busy)
	}
	for i := range p.Stacks {
		s := &p.Stacks[i]
		ns := float64(s.Weight) * scale
		if s.Where == Idle && (busyNs > 0 || !p.Event.Nanoseconds) {
			ns = 0
		}
		w.add(s, int64(ns+.5))
	}
	return w.out
}

// Remarks describes how the profile was taken, a line each.
func (p *Profile) Remarks() []string {
	out := []string{"event: " + p.Event.Name}
	if p.Event.Why != "" {
		out = append(out, p.Event.Why)
	}
	if !p.Event.NMI {
		out = append(out, "samples wait where interrupts are off: class "+string(IRQOffEnd)+" is what was done before")
	}
	return append(out, p.Losses()...)
}

// Losses say what of the samples is missing, a line each; mostly none.
func (p *Profile) Losses() (out []string) {
	for _, x := range []struct {
		n    uint64
		what string
	}{{p.Tally.Lost, "samples lost: a ring was full"}, {p.Tally.Left, "samples left out: no more space for them"},
		{p.LeftOut, "samples left out: too many stacks"},
		{p.Tally.Throttled, "times the kernel paused sampling because it took too long"},
		{p.Tally.Odd, "records not understood"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	switch {
	case p.Threads && p.Share > 0 && p.Share < .999:
		out = append(out, fmt.Sprintf("sampled for %.0f %% of the time that the threads ran: other events shared "+
			"the counter of %s, and samples carry no times", 100*p.Share, p.Event.Name))
	case p.Share > 0 && p.Share < .999:
		out = append(
			out, fmt.Sprintf(
				"sampled for %.0f %% of the time on the CPU with the least: other events shared the counter of %s",
				100*p.Share, p.Event.Name))
	case p.Share == 0 && !p.Threads && len(p.CPUs) > 0:
		out = append(out, "a CPU was never sampled: other events held its counter of "+p.Event.Name+" all the time")
	}
	return out
}

type pprofWriter struct {
	out       *profile.Profile
	functions map[Frame]*profile.Location
	mappings  map[string]*profile.Mapping
}

func (w *pprofWriter) add(s *Stack, ns int64) {
	sample := &profile.Sample{Value: []int64{int64(s.Count), ns}, Label: map[string][]string{"class": {string(s.Class)},
		"where": {string(s.Where)}}}
	if s.PID > 0 {
		sample.NumLabel = map[string][]int64{"pid": {int64(s.PID)}}
	}
	for _, f := range s.Frames {
		sample.Location = append(sample.Location, w.location(f))
	}
	sample.Location = append(sample.Location, w.location(Frame{Name: s.root()}))
	w.out.Sample = append(w.out.Sample, sample)
}

// location looks up a function's, or makes it. Addresses are left out, which would tell where the
// kernel lies.
func (w *pprofWriter) location(f Frame) *profile.Location {
	if l := w.functions[f]; l != nil {
		return l
	}
	id := uint64(len(w.out.Location) + 1)
	fn := &profile.Function{ID: id, Name: f.String(), SystemName: f.Name, Filename: f.file()}
	l := &profile.Location{ID: id, Mapping: w.mapping(f.file()), Line: []profile.Line{{Function: fn}}}
	w.out.Function, w.out.Location = append(w.out.Function, fn), append(w.out.Location, l)
	w.functions[f] = l
	return l
}

// file returns where a function comes from.
func (f Frame) file() string {
	switch {
	case f.Kernel && f.Module == "":
		return "[kernel]"
	case f.Kernel:
		return "[" + f.Module + "]"
	}
	return f.Module
}

// mapping looks up a file's, or makes it. Its functions have names already: pprof looks for no
// files.
func (w *pprofWriter) mapping(file string) *profile.Mapping {
	if m := w.mappings[file]; m != nil {
		return m
	}
	m := &profile.Mapping{ID: uint64(len(w.out.Mapping) + 1), File: file, HasFunctions: true}
	w.out.Mapping = append(w.out.Mapping, m)
	w.mappings[file] = m
	return m
}

// texts lists the words in a profile that people are shown.
func texts(p *profile.Profile) (out []string) {
	out = append(out, p.Comments...)
	for _, f := range p.Function {
		out = append(out, f.Name, f.SystemName, f.Filename)
	}
	for _, m := range p.Mapping {
		out = append(out, m.File)
	}
	for _, s := range p.Sample {
		for k, vs := range s.Label {
			out = append(append(out, k), vs...)
		}
	}
	return out
}
