// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
)

// Window is an interval of CLOCK_MONOTONIC, nanoseconds; zero is none.
type Window struct {
	FromNs int64 `json:"from_ns"`
	ToNs   int64 `json:"to_ns"`
}

// Zero reports whether there is no window.
func (w Window) Zero() bool { return w.ToNs <= w.FromNs }

// Add moves a window to another clock.
func (w Window) Add(ns int64) Window {
	if w.Zero() {
		return w
	}
	return Window{w.FromNs + ns, w.ToNs + ns}
}

// Times are the windows of one run on one clock.
type Times struct {
	Load Window `json:"load"` // the steady window
	// Turns are those in Load in which the flow was on, where it had turns: the others are not its.
	Turns      []Window `json:"turns,omitempty"`
	IdleBefore Window   `json:"idle_before"` // no load of ours, before the run
	IdleAfter  Window   `json:"idle_after"`  // and after it
	GuardNs    int64    `json:"guard_ns"`    // of load around Load, and of rest before an idle window
	SkewNs     int64    `json:"skew_ns"`     // by how much the windows can be wrong against the flow's

	// MostDrift is the limit of the run's gate for the drift of idle power, a share: beyond it
	// figures above idle are marked. Nil: the run has none.
	MostDrift *float64 `json:"most_idle_drift,omitempty"`
}

// Add moves all windows to another clock.
func (t Times) Add(ns int64) Times {
	t.Load, t.IdleBefore, t.IdleAfter = t.Load.Add(ns), t.IdleBefore.Add(ns), t.IdleAfter.Add(ns)
	t.Turns = slices.Clone(t.Turns)
	for i := range t.Turns {
		t.Turns[i] = t.Turns[i].Add(ns)
	}
	return t
}

// All spans all windows.
func (t Times) All() Window {
	out := t.Load
	for _, w := range []Window{t.IdleBefore, t.IdleAfter} {
		if !w.Zero() {
			out.FromNs, out.ToNs = min(out.FromNs, w.FromNs), max(out.ToNs, w.ToNs)
		}
	}
	return out
}

// The gates of SPECpower and MLPerf Power. A figure past one is flagged, not
// deleted. That for the drift of idle power is the run's, [Times.MostDrift].
const (
	mostUncertainty = 0.01 // of a reading
	mostSkew        = 50 * time.Millisecond
	LeastGuard      = 10 * time.Second
)

// Flags of a run's record.
const (
	FlagNoIdle     = "power-no-idle"     // idle power was not measured both before and after
	FlagShortGuard = "power-guard-short" // less than LeastGuard at both ends
	FlagSkew       = "power-clock-skew"  // the clocks agree to no better than MostSkew
	FlagMissing    = "power-missing"     // the primary source has no figure
	FlagIdleDrift  = "power-idle-drift"  // idle power before and after is further apart than the gate lets it
	FlagSlow       = "power-slow-meter"  // the primary source does not follow the load: it has no figure
	// FlagResponse is set where nobody says, and the record does not show, how fast the primary
	// source follows the load: its power has no uncertainty, and there is none above idle.
	FlagResponse = "power-response-unknown"
)

// Figure is what one source measured of one run.
type Figure struct {
	Source string `json:"source"` // as Spec.String
	Scope  Scope  `json:"scope"`

	GrossW *float64 `json:"gross_w,omitempty"` // mean of the steady window
	IdleW  *float64 `json:"idle_w,omitempty"`  // mean of idle before and after
	// GrossU and NetU are the standard uncertainties of GrossW and of GrossW - IdleW,
	// watts. SharedU is the part of GrossU that all figures of the instrument have in
	// common: repetitions do not lessen it, and a ratio of two of them does not have it.
	GrossU  *float64 `json:"gross_uncertainty_w,omitempty"`
	NetU    *float64 `json:"net_uncertainty_w,omitempty"`
	SharedU *float64 `json:"shared_uncertainty_w,omitempty"`
	// Drift is how far idle before and after are apart, of their mean.
	Drift *float64 `json:"idle_drift,omitempty"`

	Why     string           `json:"why,omitempty"`  // there is no GrossW, or no IdleW
	Slow    string           `json:"slow,omitempty"` // the record shows that the source does not follow the load
	Quality string           `json:"quality,omitempty"`
	Flags   []string         `json:"flags,omitempty"`
	Metrics []measure.Metric `json:"metrics,omitempty"`
	Series  []measure.Series `json:"series,omitempty"`
}

// Measure makes the figure of one source.
func Measure(t Trace, at Times) Figure {
	f := Figure{Source: t.Info.Name, Scope: t.Info.Scope}
	t.before, t.after = at.GuardNs, at.GuardNs
	load, err := t.load(at)
	if err != nil {
		f.Why = err.Error()
		f.Flags = append(f.Flags, FlagMissing)
	}
	f.Series = t.series(f.slug(), at)
	f.add("failed_readings", "1", float64(t.failedIn(at.All())), "")
	if err != nil {
		return f
	}
	idle, r := f.idle(t, at, load)
	if r.slow {
		f.Why, f.Slow, f.IdleW, f.Drift = r.why, r.why, nil, nil
		f.Flags = append(f.Flags, FlagMissing, FlagSlow)
		return f
	}
	f.GrossW = &load.Watts
	f.Quality = t.doubts(load, at)
	if r.noNet != "" {
		f.IdleW, f.Why = nil, "no power above idle: "+r.noNet
		f.Flags = append(f.Flags, FlagResponse)
	}
	if !r.known() {
		f.Quality = strings.TrimPrefix(f.Quality+"; "+r.why, "; ")
	}
	f.uncertainty(t, at, load, idle, r)
	f.gates(at)
	f.metrics(t, load, at)
	return f
}

// idle averages the idle windows; N is 0 where there is none. What idle would have been during the
// load lies between them, anywhere: half of their distance is a limit of the error. How the
// instrument follows the steps from and to idle is told, too.
func (f *Figure) idle(t Trace, at Times, load mean) (idle mean, r response) {
	t.after = 0 // the next run may begin
	var means []mean
	var windows []Window
	for _, w := range []Window{at.IdleBefore, at.IdleAfter} {
		if w.Zero() {
			continue
		}
		m, err := t.Sum(w.FromNs, w.ToNs)
		if err != nil {
			f.Why = "idle power: " + err.Error()
			continue
		}
		means, windows = append(means, m), append(windows, w)
	}
	if len(at.Turns) == 0 { // else the meter's period was measured
		r = t.response(at, load, windows, means)
	}
	if len(means) < 2 {
		f.Flags = append(f.Flags, FlagNoIdle)
	}
	for _, m := range means {
		idle.Watts += m.Watts / float64(len(means))
		idle.N += m.N
		idle.U = math.Hypot(idle.U, m.U/float64(len(means)))
	}
	if len(means) == 0 {
		return idle, r
	}
	f.IdleW = &idle.Watts
	if len(means) == 2 && idle.Watts > 0 {
		apart := math.Abs(means[0].Watts - means[1].Watts)
		idle.U = math.Hypot(idle.U, standard(apart/2))
		f.drift(apart/idle.Watts, means[0].Watts, means[1].Watts, at)
	}
	return idle, r
}

// drift records by how much idle power changed over the run; a gate judges it.
func (f *Figure) drift(share, before, after float64, at Times) {
	f.Drift = &share
	quality := ""
	if f.drifted(at) {
		quality = fmt.Sprintf("idle power went from %.1f to %.1f W", before, after)
	}
	f.add("idle_drift", "1", share, quality)
}

// drifted reports whether idle power changed by more than the run's gate lets it.
func (f *Figure) drifted(at Times) bool {
	return f.Drift != nil && at.MostDrift != nil && *f.Drift > *at.MostDrift
}

// standard turns a limit of the error into a standard uncertainty: nobody says more than that the
// truth lies within, so that it is as likely anywhere there (JCGM 100:2008, 4.3.7).
func standard(limit float64) float64 { return limit / math.Sqrt(3) }

// uncertainty adds what the instrument declares, a limit, its resolution and the
// scatter of its readings. What an instrument reads too high or too low by a share it
// does so for load and idle alike, so that of the difference only that share is
// uncertain. What an instrument that lags may lack of the load's step is a limit, too.
func (f *Figure) uncertainty(t Trace, at Times, load, idle mean, r response) {
	f.add("scatter_w", "W", t.random(load), "")
	f.add("effective_readings", "1", load.Effective, "")
	if step := max(r.step, load.Watts-idle.Watts); r.load+r.idle > 0 && f.IdleW != nil {
		f.add("response_limit_w", "W", (r.load+r.idle)*step, "")
	}
	rel := t.declared(at.Load)
	if math.IsNaN(rel) || !r.known() {
		return
	}
	shared := standard(rel * load.Watts)
	u := math.Hypot(math.Hypot(shared, t.random(load)), standard(r.load*r.step))
	f.GrossU, f.SharedU = &u, &shared
	if f.IdleW != nil {
		share := max(rel, t.declared(at.IdleBefore), t.declared(at.IdleAfter))
		net := math.Hypot(standard(share*(load.Watts-idle.Watts)), math.Hypot(t.random(load), t.random(idle)))
		net = math.Hypot(net, standard((r.load+r.idle)*r.step))
		f.NetU = &net
	}
}

// declared returns the limit of the error of readings in a window, as a share: the largest that the
// instrument itself gave for one, else what is declared for all. NaN where it is unknown.
func (t Trace) declared(w Window) float64 {
	var most float64
	for _, s := range t.Samples {
		if s.AtNs >= w.FromNs && s.AtNs <= w.ToNs {
			most = max(most, s.U)
		}
	}
	if most > 0 {
		return most
	}
	return t.Info.Uncertainty
}

// random computes the standard uncertainty of a mean, apart from what is declared: the instrument's
// step, and what the readings' scatter leaves. Where they are all equal, the step is as wide for
// their mean as for one.
func (t Trace) random(m mean) float64 { return math.Hypot(t.grain(), m.U) }

// grain is the standard uncertainty that the instrument's step leaves: the one that it declares, or
// the one that its readings show, if that is coarser.
func (t Trace) grain() (step float64) {
	for _, c := range t.Info.Channels {
		if !c.Part && c.Kind == power {
			step = math.Hypot(step, c.Resolution/math.Sqrt(12))
		}
	}
	return max(step, t.grid()/math.Sqrt(12))
}

func (f *Figure) gates(at Times) {
	if at.GuardNs < int64(LeastGuard) {
		f.Flags = append(f.Flags, FlagShortGuard)
	}
	if at.SkewNs > int64(mostSkew) {
		f.Flags = append(f.Flags, FlagSkew)
	}
}

// doubts lists why the load's mean may mislead.
func (t Trace) doubts(load mean, at Times) string {
	var out []string
	if a := t.Info.Averages; a > 0 && at.GuardNs < int64(a) {
		out = append(out, fmt.Sprintf("the instrument averages over %v, more than the guard of %v", a,
			time.Duration(at.GuardNs)))
	}
	out = append(out, t.Info.Doubts...)
	switch u := t.declared(at.Load); {
	case math.IsNaN(u):
		out = append(out, "its uncertainty is not known")
	case u > mostUncertainty:
		out = append(out, fmt.Sprintf("its uncertainty of %.3g %% is above %g %%", 100*u, 100*mostUncertainty))
	}
	if load.Fresh == 1 && load.N >= 10 {
		out = append(out, fmt.Sprintf("all %d readings are equal: the instrument may be stuck", load.N))
	}
	if load.Effective < fewEffective && load.U > 0 {
		out = append(
			out, fmt.Sprintf("its %d readings are worth only %.1f independent ones: the true scatter may be larger",
				load.N, load.Effective))
	}
	if load.Min >= 0 && load.Watts > 0 && load.Max > 5*load.Watts {
		out = append(out, fmt.Sprintf("a reading jumped to %.1f W", load.Max))
	}
	return strings.Join(out, "; ")
}

// slug returns the source's name in metrics.
func (f *Figure) slug() string { return "power_" + snake(f.Source) }

func (f *Figure) add(name, unit string, v float64, quality string) {
	f.Metrics = append(f.Metrics, measure.Metric{Name: f.slug() + "_" + name, Unit: unit, Value: v, Source: f.Source,
		Quality: quality})
}

func (f *Figure) metrics(t Trace, load mean, at Times) {
	f.add("w", "W", load.Watts, f.Quality)
	f.add("min_w", "W", load.Min, "")
	f.add("max_w", "W", load.Max, "")
	f.add("readings", "1", float64(load.N), "")
	f.add("covered_s", "s", load.Covered.Seconds(), "")
	if f.GrossU != nil {
		f.add("uncertainty_w", "W", *f.GrossU, "")
		f.add("shared_uncertainty_w", "W", *f.SharedU, "")
	}
	if f.IdleW != nil {
		quality := ""
		if slices.Contains(f.Flags, FlagNoIdle) {
			quality = FlagNoIdle
		}
		if f.drifted(at) {
			quality = FlagIdleDrift
		}
		f.add("idle_w", "W", *f.IdleW, quality)
		f.add("net_w", "W", load.Watts-*f.IdleW, quality)
		if f.NetU != nil {
			f.add("net_uncertainty_w", "W", *f.NetU, quality)
		}
	}
	for c, ch := range t.Info.Channels {
		if len(t.Info.Channels) < 2 && ch.Place == "" {
			return
		}
		m, err := t.loadOf(c, at)
		if err != nil {
			continue
		}
		f.add(ch.Name+"_w", "W", m.Watts, "")
		if ch.Place != "" { // which GPU it is
			f.Metrics[len(f.Metrics)-1].Source += " " + ch.Place
		}
	}
}

func (t Trace) failedIn(w Window) (n int) {
	for _, x := range t.Failures {
		if x.in(w.FromNs, w.ToNs) {
			n++
		}
	}
	return n
}

// series returns the readings of all windows, as watts, with times since the load's beginning. A
// counter's are the means since the reading before.
func (t Trace) series(slug string, at Times) []measure.Series {
	all := at.All()
	var out []measure.Series
	for c, ch := range t.Info.Channels {
		s := measure.Series{Name: slug + "_" + ch.Name + "_w", Unit: "W"}
		in := t.inside(c, all.FromNs, all.ToNs)
		before := 0
		for i, x := range in {
			w := float64(x.V[c]) / 1e6
			if ch.Kind == energy {
				since := x.AtNs - in[before].AtNs
				if t.Period > 0 && !x.Gap && since < t.Interval.Nanoseconds()/2 {
					continue // one at a turn's edge: a counter tells no power of so short a time
				}
				last := in[before]
				before = i
				if i == 0 || x.Gap {
					continue
				}
				w = watts(x.V[c]-last.V[c], since)
			}
			s.T, s.V = append(s.T, x.AtNs-at.Load.FromNs), append(s.V, w)
		}
		if len(s.T) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// PerByte returns the energy per payload of a window, gross and above idle, J/GB, with the share
// that the power's uncertainty gives it; nil: something was not measured.
func (f *Figure) PerByte(seconds *float64, bytes *uint64) (out []measure.Metric) {
	if f.GrossW == nil || seconds == nil || bytes == nil || *bytes == 0 {
		return nil
	}
	perGB := *seconds / (float64(*bytes) / 1e9)
	add := func(name string, w float64, quality string) {
		out = append(out, measure.Metric{Name: f.slug() + "_" + name, Unit: "J/GB", Value: w * perGB,
			Source: f.Source, Quality: quality})
	}
	add("joule_per_gb", *f.GrossW, f.Quality)
	if f.GrossU != nil {
		add("joule_per_gb_uncertainty", *f.GrossU, "")
	}
	if f.IdleW != nil {
		add("net_joule_per_gb", *f.GrossW-*f.IdleW, f.Quality)
	}
	if f.NetU != nil {
		add("net_joule_per_gb_uncertainty", *f.NetU, "")
	}
	return out
}

// Metrics describe what an instrument measured.
var Metrics = []measure.MetricDoc{
	{Names: "power_SOURCE_w power_SOURCE_min_w power_SOURCE_max_w power_SOURCE_uncertainty_w",
		Units: "W", Source: "",
		Meaning: "mean over the window, least and greatest reading, standard uncertainty of " +
			"the mean"},
	{Names: "power_SOURCE_shared_uncertainty_w power_SOURCE_scatter_w",
		Units: "W", Source: "",
		Meaning: "the uncertainty's part that all figures of the instrument have in common, " +
			"and the part that the scatter of its readings leaves"},
	{Names: "power_SOURCE_idle_w power_SOURCE_net_w power_SOURCE_net_uncertainty_w",
		Units: "W", Source: "",
		Meaning: "while nothing ran; what is left of the mean"},
	{Names: "power_SOURCE_response_limit_w",
		Units: "W", Source: "",
		Meaning: "the most that the windows may lack of the load's step, by how the instrument follows it"},
	{Names: "power_SOURCE_CHANNEL_w",
		Units: "W", Source: "",
		Meaning: "of each sensor, zone or outlet of a source with several"},
	{Names: "power_area_gpu_w", Units: "W",
		Meaning: "of the GPU that has the payload (area_device_bytes), where nvml is a source"},
	{Names: "power_SOURCE_joule_per_gb power_SOURCE_joule_per_gb_uncertainty " +
		"power_SOURCE_net_joule_per_gb power_SOURCE_net_joule_per_gb_uncertainty",
		Units: "J/GB", Source: "",
		Meaning: "per 1e9 bytes, gross and net"},
	{Names: "power_SOURCE_readings power_SOURCE_effective_readings " +
		"power_SOURCE_failed_readings power_SOURCE_covered_s",
		Units: "1 1 1 s", Source: "",
		Meaning: "readings in the window, how many independent ones they are worth, those " +
			"that failed, the time that they cover"},
	{Names: "power_SOURCE_idle_drift",
		Units: "1", Source: "",
		Meaning: "how far idle before and after are apart, of their mean"},
	{Names: "power_SOURCE_sampler_cores power_sampler_cores power_controller_sampler_cores",
		Units: "cores", Source: "",
		Meaning: "what reading it took, all of a host's, and those of the controller"},
	{Names: "power_idle_before_from_s power_idle_before_to_s power_idle_after_from_s " +
		"power_idle_after_to_s power_guard_s power_window_late_s",
		Units: "s", Source: "CLOCK_MONOTONIC; CLOCK_REALTIME",
		Meaning: "rests of the method, from the start of the steady window on; guard; by how " +
			"much the window began late"},
}

// Series describe readings over time.
var Series = []measure.MetricDoc{
	{Names: "power_SOURCE_CHANNEL_w", Units: "W", Meaning: "each reading of each channel"},
}
