// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Bounds of what one end has to say of a run. Real ones stay far below.
const (
	mostMetrics  = 100_000
	mostIdle     = 100_000
	mostSeries   = 10_000 // of CPUs, power and the like, besides those of flows
	mostWarnings = 20_000 // several of each CPU
	mostFlags    = 100
	mostCores    = mostCPUs
	mostSeconds  = 1e7
	mostGbps     = 1e6
	mostPackets  = 1e12 // a second
)

// Check refuses an account that contradicts itself: one without a verdict, one
// that is well and gives a reason why it is not, one that is well without the
// figures that make it worth anything.
func (r *EndResult) Check() error {
	if err := r.checkVerdict(); err != nil {
		return err
	}
	if len(r.Warnings) > mostWarnings {
		return fmt.Errorf("%d warnings", len(r.Warnings))
	}
	if len(r.Profile) > MaxProfile {
		return fmt.Errorf("a profile of %d bytes", len(r.Profile))
	}
	for _, x := range []struct {
		what string
		ns   int64
	}{{"flow_ns", r.FlowNs}, {"from_ns", r.FromNs}, {"to_ns", r.ToNs}} {
		if x.ns < 0 || x.ns > mostNs {
			return fmt.Errorf("%s: %d", x.what, x.ns)
		}
	}
	if r.ProcUserS < 0 || r.ProcSysS < 0 {
		return errors.New("CPU time below zero")
	}
	h := &r.Host
	if err := errors.Join(checkFlags(r.Flags), checkMetrics(h.Metrics), checkIdle(h.Idle), checkSeries(h.Series),
		checkHost(h)); err != nil {
		return err
	}
	if r.Verdict == results.OK {
		return r.checkOK()
	}
	return nil
}

func (r *EndResult) checkVerdict() error {
	switch r.Verdict {
	case results.OK:
		if r.Reason != "" || r.Fix != "" || r.BlamesPeer {
			return fmt.Errorf("verdict ok, but with a reason: %q", r.Reason+r.Fix)
		}
	case results.Invalid, results.Unsupported, results.Failed:
		if r.Reason == "" {
			return fmt.Errorf("verdict %s without a reason", r.Verdict)
		}
	default:
		return fmt.Errorf("%q is not a verdict", r.Verdict)
	}
	return nil
}

// checkOK: a run that is well has the figures, and they are of one flow.
func (r *EndResult) checkOK() error {
	h := &r.Host
	switch {
	case h.DurationS == nil || h.Bytes == nil || h.TotalBytes == nil || h.ThroughputGbps == nil:
		return errors.New("verdict ok, but no duration, bytes or throughput")
	case *h.Bytes == 0 || !(*h.DurationS > 0) || !(*h.ThroughputGbps > 0) || r.FlowNs == 0:
		return errors.New("verdict ok, but nothing flowed")
	case *h.TotalBytes != r.Total.Bytes || *h.Bytes != r.Window.Bytes:
		return fmt.Errorf("byte counts contradict each other: %d and %d, in the window %d and %d", *h.TotalBytes,
			r.Total.Bytes, *h.Bytes, r.Window.Bytes)
	case r.Window.Bytes > r.Total.Bytes:
		return fmt.Errorf("%d bytes in the window of a flow of %d", r.Window.Bytes, r.Total.Bytes)
	case r.Turns != nil && !near(*h.ThroughputGbps*float64(r.Turns.PaceNs), float64(r.Turns.Paced)*8):
		return fmt.Errorf("%d bytes in %d ns at pace are not %g Gbit/s", r.Turns.Paced, r.Turns.PaceNs,
			*h.ThroughputGbps)
	case r.Turns != nil && *h.DurationS > 2*float64(r.ToNs-r.FromNs)/1e9:
		return fmt.Errorf("turns of %g s in a window from %d to %d ns", *h.DurationS, r.FromNs, r.ToNs)
	case r.Turns == nil && !near(*h.DurationS, float64(r.ToNs-r.FromNs)/1e9):
		return fmt.Errorf("a window of %g s that lasted from %d to %d ns", *h.DurationS, r.FromNs, r.ToNs)
	case !near(*h.ThroughputGbps, float64(*h.Bytes)*8/1e9 / *h.DurationS):
		return fmt.Errorf("%d bytes in %g s are not %g Gbit/s", *h.Bytes, *h.DurationS, *h.ThroughputGbps)
	}
	if err := errors.Join(r.checkPackets(), r.checkTrips()); err != nil {
		return err
	}
	return checkRates(h)
}

// checkTrips: round trips are those of the counters. The times of a window are read a moment after
// its counters.
func (r *EndResult) checkTrips() error {
	h, most := &r.Host, r.Total.Transactions
	if lost := h.TransactionsLost; lost != nil && (*lost != r.Window.TripsLost || *lost > r.Total.TripsLost) {
		return fmt.Errorf("%d round trips lost, and %d of %d counted", *lost, r.Window.TripsLost, r.Total.TripsLost)
	}
	told := uint64(0)
	if h.Transactions != nil {
		told = *h.Transactions
	}
	switch {
	case h.Transactions == nil && (most > 0 || h.RoundTrip != nil):
		return errors.New("times or counts of round trips, but none were made")
	case told != r.Window.Transactions:
		return fmt.Errorf("%d round trips, but %d counted", told, r.Window.Transactions)
	case told > most:
		return fmt.Errorf("%d round trips in the window of a flow of %d", told, most)
	case h.RoundTrip == nil:
		return nil
	case h.RoundTrip.Count > most+r.Total.TripsLost ||
		math.Abs(float64(h.RoundTrip.Count)-float64(told+r.Window.TripsLost)) > 0.1*float64(told)+10_000:
		return fmt.Errorf("times of %d round trips, but %d of %d were made", h.RoundTrip.Count, told, most)
	}
	return nil
}

// checkPackets: where there are packets their figures are those of the counters.
func (r *EndResult) checkPackets() error {
	h := &r.Host
	p := h.Packets
	switch {
	case (p == nil) != (h.PacketsPerS == nil):
		return errors.New("packets without a rate, or a rate without packets")
	case p == nil:
		return nil
	case p.Received == nil && (p.Sent == nil || *p.Sent != r.Total.Packets), p.Received != nil &&
		*p.Received != r.Total.Packets:
		return fmt.Errorf("%s, but %d counted", p.PacketsText(), r.Total.Packets)
	case r.Window.Packets > r.Total.Packets:
		return fmt.Errorf("%d packets in the window of a flow of %d", r.Window.Packets, r.Total.Packets)
	case !near(*h.PacketsPerS, float64(r.Window.Packets) / *h.DurationS):
		return fmt.Errorf("%d packets in %g s are not %g a second", r.Window.Packets, *h.DurationS, *h.PacketsPerS)
	case p.Corrupted != nil && *p.Corrupted > 0:
		return fmt.Errorf("verdict ok, but %d corrupted packets", *p.Corrupted)
	}
	return nil
}

// checkRates holds the flows' bytes against their throughput.
func checkRates(h *results.Host) error {
	if err := h.WellFlows(); err != nil {
		return err
	}
	for i := range h.Flows {
		f := &h.Flows[i]
		if !near(*f.ThroughputGbps, float64(*f.Bytes)*8/1e9 / *h.DurationS) {
			return fmt.Errorf("flow %d: %d bytes in %g s are not %g Gbit/s", i, *f.Bytes, *h.DurationS,
				*f.ThroughputGbps)
		}
	}
	return nil
}

// near reports whether two numbers are equal but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// checkHost refuses figures that no machine has. CPU time is a residual, and may
// come out a little below zero, on each CPU.
func checkHost(h *results.Host) error {
	if h.Env.CPUs < 0 || h.Env.CPUs > mostCPUs {
		return fmt.Errorf("%d CPUs", h.Env.CPUs)
	}
	below := -1 - 0.1*float64(h.Env.CPUs)
	for _, x := range []struct {
		what        string
		v           *float64
		least, most float64
	}{
		{"duration_s", h.DurationS, 0, mostSeconds},
		{"throughput_gbps", h.ThroughputGbps, 0, mostGbps},
		{"cpu_app_cores", h.CPUAppCores, below, mostCores},
		{"cpu_sys_cores", h.CPUSysCores, below, mostCores},
		{"cpu_soft_cores", h.CPUSoftCores, below, mostCores},
		{"cpu_busy_cores", h.CPUBusyCores, below, mostCores},
		{"iowait_cores", h.IOWaitCores, below, mostCores},
		{"stat_coverage", h.StatCoverage, 0, 1e3},
		{"cpu_busy_uncertainty_cores", h.CPUBusyU, 0, mostCores},
		{"cpu_poller_cores", h.CPUPollerCores, 0, mostCores},
		{"cpu_mhz", h.CPUMHz, 0, 1e6},
		{"cpu_temp_c", h.CPUTempC, -273.15, 1e4},
		{"flow_mhz", h.FlowMHz, 1, 1e6},
		{"cycles_per_byte", h.CyclesPerByte, 0, 1e9},
		{"instructions_per_kb", h.InstructionsPerKB, 0, 1e12},
		{"ipc", h.IPC, 0, 1e3},
		{"llc_misses_per_kb", h.LLCMissesPerKB, 0, 1e12},
		{"dram_bytes_per_byte", h.DRAMPerByte, 0, 1e12},
		{"mbm_bytes_per_byte", h.MBMPerByte, 0, 1e12},
		{"carried_bytes_per_byte", h.CarriedPerByte, 0, 1e12},
		{"packets_per_s", h.PacketsPerS, 0, mostPackets},
	} {
		if x.v != nil && !(*x.v >= x.least && *x.v <= x.most) {
			return fmt.Errorf("%s: %g", x.what, *x.v)
		}
	}
	return errors.Join(h.Delivery.Check(), h.RoundTrip.Check(), h.Steps.Check(), h.CheckWays(),
		h.Packets.Check(),
		h.CheckFlows(),
		checkProbes(h.Probes))
}

// mostProbed are the rows of each table of what probes saw, and the points of a line: ends send
// some dozens.
const mostProbed = 1000

func checkProbes(p *results.Probes) error {
	if p == nil {
		return nil
	}
	n := max(len(p.Stages), len(p.Calls), len(p.Counters), len(p.Flow))
	if d := p.Drops; d != nil {
		n = max(n, len(d.Places), len(d.Counted))
	}
	if f := p.Profile; f != nil {
		n = max(n, len(f.Classes), len(f.Functions))
	}
	if n > mostProbed {
		return fmt.Errorf("probes with %d rows", n)
	}
	for i := range p.Flow {
		if len(p.Flow[i].T) > mostProbed {
			return fmt.Errorf("probes with a series of %d points", len(p.Flow[i].T))
		}
	}
	return checkSeries(p.Flow)
}

func checkMetrics(ms []measure.Metric) error {
	if len(ms) > mostMetrics {
		return fmt.Errorf("%d metrics", len(ms))
	}
	for _, m := range ms {
		if m.Name == "" {
			return errors.New("a metric without a name")
		}
	}
	return nil
}

func checkIdle(names []string) error {
	if len(names) > mostIdle {
		return fmt.Errorf("%d idle counters", len(names))
	}
	for _, s := range names {
		if err := results.CheckFolded(s); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	return nil
}

// mostFlowSeries returns how many series the probe tcp draws of the most flows that a run may have.
func mostFlowSeries() int { return stream.MaxFlows * counter.FlowFigures() }

func checkSeries(all []measure.Series) error {
	if len(all) > mostSeries+mostFlowSeries() {
		return fmt.Errorf("%d series", len(all))
	}
	for _, s := range all {
		switch {
		case s.Name == "":
			return errors.New("a series without a name")
		case len(s.T) != len(s.V):
			return fmt.Errorf("series %q has %d times and %d values", s.Name, len(s.T), len(s.V))
		case !slices.IsSorted(s.T):
			return fmt.Errorf("series %q goes back in time", s.Name)
		case len(s.T) > 0 && (s.T[0] < -mostNs || s.T[len(s.T)-1] > mostNs):
			return fmt.Errorf("series %q goes from %d to %d ns", s.Name, s.T[0], s.T[len(s.T)-1])
		}
	}
	return nil
}

// flagName is what a machine-readable mark looks like.
var flagName = lazy.Regexp(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func checkFlags(flags []string) error {
	if len(flags) > mostFlags {
		return fmt.Errorf("%d flags", len(flags))
	}
	for _, f := range flags {
		if !flagName().MatchString(f) {
			return fmt.Errorf("flag %q", f)
		}
	}
	return nil
}
