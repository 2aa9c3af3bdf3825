// SPDX-License-Identifier: MIT

package endpoint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/profile/symbol"
	"github.com/zcbench/zcbench/results"
)

// profiler samples the measured CPUs while a run's flows flow. Nil: the cell asks for no profile.
// Ends that have turns share one: a sample belongs to the end in whose turn it was taken.
type profiler struct {
	sampler *perf.Sampler
	// counts are sampled beside cycles, as far as the processor counts them.
	counts []countSampler
	names  *symbol.Namer
	key    string // by which ends share it; "": nobody does
	ends   int

	mu      sync.Mutex
	at      time.Time
	running bool
	rec     *perf.Recording // once it was stopped
	err     error           // of that
	reader  float64         // cores that emptying the rings took
	turns   []perf.Span     // of all ends, in their order
}

// countSampler samples by a count.
type countSampler struct {
	of      perf.Count
	sampler *perf.Sampler
	rec     *perf.Recording // once it was stopped
}

// countHz is how often each is sampled a second, so that all samples together stay within what the
// probe may cost (docs/probe-cost.md): each takes as long as one by cycles does.
const countHz = 199

// openCounts opens what can be sampled by beside cycles. Nothing is said of what cannot: the doctor
// tells, and the figures are missing.
func openCounts(cpus []int, bytes int) (out []countSampler) {
	for _, of := range []perf.Count{perf.Instructions, perf.LLCMisses} {
		if s, err := perf.Open(perf.Options{CPUs: cpus, Hz: countHz, Bytes: bytes, Of: of}); err == nil {
			out = append(out, countSampler{of: of, sampler: s})
		}
	}
	return out
}

// sharedProfilers are those of an agent whose ends have turns.
type sharedProfilers struct {
	mu  sync.Mutex
	all map[string]*profiler
}

var profiling sharedProfilers

// share returns the one that is open, or opens it.
func (s *sharedProfilers) share(key string, open func() (*profiler, error)) (*profiler, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.all[key]; p != nil {
		p.ends++
		return p, nil
	}
	p, err := open()
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = map[string]*profiler{}
	}
	p.key, p.ends, s.all[key] = key, 1, p
	return p, nil
}

// last reports whether no end needs it any more.
func (s *sharedProfilers) last(p *profiler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.ends--; p.ends == 0 {
		delete(s.all, p.key)
	}
	return p.ends == 0
}

// Memory set aside for samples: for two minutes of each CPU, and at most what a host spares.
const (
	profileBytesOfCPU = 32 << 20
	profileBytes      = 64 << 20
	mostProfileBytes  = 2 << 30
	// profileOfTurns is by how much longer the starts of cells that take turns are.
	profileOfTurns = 4
)

// openProfiler asks for the events and reads the kernel's symbols, before anything flows.
func openProfiler(s wire.EndSpec) (*profiler, error) {
	if !slices.Contains(s.Cell.Probes(), plan.ProbeProfile) {
		return nil, nil
	}
	cpus := s.MeasureCPUs
	var err error
	if len(cpus) == 0 {
		if cpus, err = counter.OnlineCPUs(counter.FS{}); err != nil {
			return nil, err
		}
	}
	bytes := profileBytesOfCPU * len(cpus)
	if !s.Shares {
		return newProfiler(cpus, bytes)
	}
	return profiling.share(fmt.Sprint(cpus),
		func() (*profiler, error) { return newProfiler(cpus, profileOfTurns*bytes) })
}

func newProfiler(cpus []int, bytes int) (p *profiler, err error) {
	p = &profiler{}
	if p.names, err = symbol.New(); err == nil {
		p.sampler, err = perf.Open(perf.Options{CPUs: cpus, Bytes: min(profileBytes+bytes, mostProfileBytes)})
	}
	if err != nil {
		return nil, &fault.Error{Op: "sample the measured CPUs", Err: err,
			How: cmp.Or(fault.Fix(err), "leave out the probe profile")}
	}
	if !p.sampler.Event.Nanoseconds { // else there is no PMU
		p.counts = openCounts(cpus, min(profileBytes+bytes, mostProfileBytes)/2)
	}
	return p, nil
}

// turn notes that an end had a turn.
func (p *profiler) turn(of perf.Span) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turns = append(p.turns, of)
}

// start begins to sample; what comes before the window is left out later.
func (p *profiler) start() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running || p.rec != nil {
		return nil // another end has
	}
	p.at = time.Now()
	err := p.sampler.Start()
	p.running = err == nil
	for i := range p.counts {
		if err == nil {
			err = p.counts[i].sampler.Start()
		}
	}
	return err
}

// close frees everything.
func (p *profiler) close() error {
	if p == nil || p.key != "" && !profiling.last(p) {
		return nil
	}
	err := p.sampler.Close()
	for i := range p.counts {
		err = errors.Join(err, p.counts[i].sampler.Close())
	}
	return err
}

// take ends sampling, unless another end has, whose turns were over at the same time, and returns
// the profile of some spans, and what each class did in them by each count.
func (p *profiler) take(spans []perf.Span) (*profile.Profile, map[perf.Count]map[profile.Class]float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		p.running = false
		if p.rec, p.err = p.sampler.Stop(); p.rec != nil {
			p.reader = p.rec.Spent.Seconds() / max(time.Since(p.at).Seconds(), 1e-3)
		}
		for i := range p.counts {
			rec, err := p.counts[i].sampler.Stop()
			p.counts[i].rec, p.err = rec, errors.Join(p.err, err)
			if rec != nil {
				p.reader += rec.Spent.Seconds() / max(time.Since(p.at).Seconds(), 1e-3)
			}
		}
	}
	switch {
	case p.err != nil:
		return nil, nil, p.err
	case p.rec == nil:
		return nil, nil, errors.New("sampling had not begun")
	}
	counts := map[perf.Count]map[profile.Class]float64{}
	for _, c := range p.counts {
		of, err := profile.FromSpans(c.rec, spans, p.names)
		if err != nil {
			return nil, nil, err
		}
		if of.Samples > 0 {
			counts[c.of] = of.Counted()
		}
	}
	of, err := profile.FromSpans(p.rec, spans, p.names)
	return of, counts, err
}

// between counts the samples of a window that were taken in nobody's turn.
func (p *profiler) between(window perf.Span) (n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rec == nil || len(p.turns) == 0 {
		return 0
	}
	none := func(*perf.Sample) {}
	all, err := p.rec.Within([]perf.Span{window}, none)
	of, err2 := p.rec.Within(p.turns, none)
	if err != nil || err2 != nil || of.Samples > all.Samples {
		return 0
	}
	return all.Samples - of.Samples
}

// profiled adds the profile of the window, and what it comes to per kB and per packet.
func (r *run) profiled(res *wire.EndResult) {
	p := r.end.profiler
	if p == nil || !r.from.taken || !r.to.taken {
		return
	}
	window := perf.Span{FromNs: r.from.atNs, ToNs: r.to.atNs}
	got, counts, err := p.take(r.turns.spansOr(window))
	if err != nil {
		res.Warnings = append(res.Warnings, "no profile: "+err.Error())
		return
	}
	if mhz := r.change.FlowMHz(got.CPUs); mhz != nil {
		got.MHz = *mhz
	}
	h := &res.Host
	busyNs := 0.0
	if h.CPUBusyCores != nil && h.DurationS != nil {
		busyNs = *h.CPUBusyCores * *h.DurationS * 1e9
		for i := range h.Metrics { // pollers on other CPUs are in the column and were not sampled
			if m := &h.Metrics[i]; m.Name == "cpu_busy_cores" {
				busyNs = m.Value * *h.DurationS * 1e9
			}
		}
		if err := got.Check(busyNs); err != nil {
			res.Warnings = append(res.Warnings, "profile: "+err.Error())
			res.Flags = append(res.Flags, results.FlagProfileDiffers)
		}
	}
	for _, text := range got.Losses() {
		if r.turns != nil {
			text += " (of all cells of the start)"
		}
		res.Warnings = append(res.Warnings, "profile: "+text)
	}
	if h.Probes == nil {
		h.Probes = &results.Probes{}
	}
	h.Probes.Profile = profileFigures(got, busyNs, h)
	if h.Bytes != nil {
		countFigures(h.Probes.Profile, got, counts, float64(*h.Bytes)/1000)
	}
	h.Probes.Profile.ReaderCores = &p.reader
	if r.turns != nil {
		h.Probes.Profile.Between = new(float64(p.between(window)))
		if c := h.Probes.Profile.SampledBusyCores; c != nil && h.DurationS != nil && *h.DurationS > 0 {
			*c *= float64(got.WallNs) / 1e9 / *h.DurationS // see [turnReader.scale]
		}
	}
	var b bytes.Buffer
	if err := got.Pprof(busyNs, p.at).Write(&b); err != nil {
		res.Warnings = append(res.Warnings, "the profile cannot be written: "+err.Error())
		return
	}
	if b.Len() > wire.MaxProfile {
		res.Warnings = append(res.Warnings,
			fmt.Sprintf("the profile of %d bytes is too large to keep; its metrics are kept", b.Len()))
		return
	}
	res.Profile = b.Bytes()
}

// profileFigures computes classes' and the top functions' nanoseconds of busy time, per kB of
// payload, per packet of the kernel's IP, and per packet of the wire.
func profileFigures(p *profile.Profile, busyNs float64, h *results.Host) *results.Profiled {
	out := &results.Profiled{Event: p.Event.Name, Hz: p.Hz, Samples: new(float64(p.Samples)),
		Lost: new(float64(p.Tally.Lost + p.Tally.Left + p.LeftOut))}
	if ns, ok := p.SampledBusyNs(); ok && p.WallNs > 0 {
		out.SampledBusyCores = new(ns / float64(p.WallNs))
	}
	kb, packets := 0.0, ipPackets(h.Metrics)
	if h.Bytes != nil {
		kb = float64(*h.Bytes) / 1000
	}
	wire, source := results.WirePackets(h.Metrics)
	if packets > 0 {
		out.Packets = &packets
	}
	if wire > 0 {
		out.WirePackets, out.WireSource = &wire, source
	}
	costs := p.Costs(busyNs)
	per := func(ns, n float64) *float64 {
		if n <= 0 {
			return nil
		}
		return new(ns / n)
	}
	out.Busy = results.ProfiledPart{SelfPerKB: per(costs.BusyNs, kb), SelfPerPacket: per(costs.BusyNs, packets),
		SelfPerWire: per(costs.BusyNs, wire)}
	for _, c := range costs.Classes {
		out.Classes = append(out.Classes, results.ProfiledPart{Name: string(c.Class), SelfPerKB: per(c.Ns, kb),
			SelfPerPacket: per(c.Ns, packets), SelfPerWire: per(c.Ns, wire)})
	}
	for _, f := range costs.Functions[:min(results.MostFunctions, len(costs.Functions))] {
		if f.SelfNs == 0 {
			break
		}
		out.Functions = append(out.Functions, results.ProfiledPart{Name: f.String(), Where: string(f.Where),
			Class:     string(f.Class),
			SelfPerKB: per(f.SelfNs, kb), SelfPerPacket: per(f.SelfNs, packets), SelfPerWire: per(f.SelfNs, wire),
			TotalPerKB: per(f.TotalNs, kb), TotalPerPacket: per(f.TotalNs, packets),
			TotalPerWire: per(f.TotalNs, wire)})
	}
	return out
}

// countFigures adds what each class did beside the time that it took. What was done in a class that
// has no time, by the samples, is of all classes alone.
func countFigures(out *results.Profiled, p *profile.Profile, counts map[perf.Count]map[profile.Class]float64,
	kb float64) {
	if p.Event.Nanoseconds || kb <= 0 {
		return
	}
	for _, x := range []struct {
		of   map[profile.Class]float64
		into func(*results.ProfiledPart) **float64
	}{
		{p.Counted(), func(r *results.ProfiledPart) **float64 { return &r.CyclesPerKB }},
		{counts[perf.Instructions], func(r *results.ProfiledPart) **float64 { return &r.InstructionsPerKB }},
		{counts[perf.LLCMisses], func(r *results.ProfiledPart) **float64 { return &r.LLCMissesPerKB }},
	} {
		if x.of == nil {
			continue
		}
		all := 0.0
		for _, v := range x.of {
			all += v
		}
		*x.into(&out.Busy) = new(all / kb)
		for i := range out.Classes {
			*x.into(&out.Classes[i]) = new(x.of[profile.Class(out.Classes[i].Name)] / kb)
		}
	}
}

// ipPackets sums the packets that the kernel's IP took or sent, whichever were more: those of the
// flow, after GRO.
func ipPackets(ms []measure.Metric) float64 {
	received, sent := 0.0, 0.0
	for _, m := range ms {
		switch m.Name {
		case "netstat_ip_in_receives", "netstat_ip6_in_receives":
			received += m.Value
		case "netstat_ip_out_requests", "netstat_ip6_out_requests":
			sent += m.Value
		}
	}
	return max(received, sent)
}
