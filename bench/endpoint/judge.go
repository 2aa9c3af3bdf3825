// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// DefaultMaxCopied is the share of payload that a zero-copy mode may copy.
const DefaultMaxCopied = 0.01

// judge makes the result out of what was measured and what went wrong.
func (r *run) judge(err error) wire.EndResult {
	counters := r.end.counters()
	res := wire.EndResult{Host: r.host(), Total: sum(counters), Warnings: r.warnings}
	res.PeerBytes = r.end.peerBytes()
	if end := r.endNs(); end > 0 {
		res.FlowNs = end - r.startNs
		res.ProcUserS = float64(r.usage[1].UserNs-r.usage[0].UserNs) / 1e9
		res.ProcSysS = float64(r.usage[1].SysNs-r.usage[0].SysNs) / 1e9
	}
	if r.from.taken && r.to.taken {
		res.FromNs, res.ToNs = r.from.atNs, r.to.atNs
		res.Window = sum(r.to.flows).Sub(sum(r.from.flows))
	}
	r.profiled(&res)
	if r.end.port != nil {
		if res.Strangers = r.end.port.Strangers(); res.Strangers > 0 {
			res.Warnings = append(res.Warnings,
				fmt.Sprintf("closed %d connections to the data port that were not the flow's", res.Strangers))
		}
	}
	res.Warnings = append(res.Warnings, r.end.notes()...)
	res.Linear = r.end.first().result.evidence.CountsLinear
	if len(r.polledBy.PIDs) > 0 {
		res.Flags = append(res.Flags, FlagPolled)
	}
	if r.change.Unjudged != "" {
		res.Flags = append(res.Flags, unjudged(&res.Host))
	}
	if err != nil {
		res.Verdict, res.Reason, res.Fix = verdictOf(err), r.reason(err), fault.Fix(err)
		res.BlamesPeer = stream.BlamesPeer(err)
		r.blame(&res)
		return res
	}
	res.Verdict = results.OK
	invalid := func(reason, fix string) {
		if reason != "" && res.Verdict == results.OK {
			res.Verdict, res.Reason, res.Fix = results.Invalid, reason, fix
		}
	}
	r.judgeFlows(counters, &res, invalid)
	for _, gate := range []func(*wire.EndResult) (string, string){r.gateWindow, r.gatePlacement, r.gateBPFStats} {
		if res.Verdict == results.OK {
			invalid(gate(&res))
		}
	}
	return res
}

// unjudged returns the flag of an end that cannot tell whether others used its CPUs; its warnings
// say why.
func unjudged(h *results.Host) string {
	if h.CPUBusyCores == nil {
		return results.FlagCPUMissing
	}
	return results.FlagForeignUnknown
}

// reason explains why a run failed. Of several flows it names the one that did.
func (r *run) reason(err error) string {
	why := fault.Reason(err)
	for _, f := range r.end.flows {
		prefix := fmt.Sprintf("flow %d: ", f.N)
		if strings.HasPrefix(err.Error(), prefix) && !strings.HasPrefix(why, prefix) {
			return prefix + why
		}
	}
	return why
}

// blame marks for each flow of a run that failed whether it was the one.
func (r *run) blame(res *wire.EndResult) {
	if r.died == nil {
		return
	}
	called := errors.Is(r.died.err(), stream.ErrAborted) // all were called off
	for i := range res.Host.Flows {
		f := &res.Host.Flows[i]
		f.Verdict, f.Reason = results.Failed, fmt.Sprintf("ended with flow %d", r.died.N)
		switch {
		case called:
			f.Reason = res.Reason
		case i == r.died.N:
			f.Reason = fault.Reason(r.died.err())
		}
	}
}

// judgeFlows: the run is as good as the worst of its flows. It is expected to be invalid, or was
// disturbed, where that is so of each flow that is invalid.
func (r *run) judgeFlows(counters []stream.Counters, res *wire.EndResult, invalid func(reason, fix string)) {
	expected, disturbed, flags := true, true, slices.Clip(res.Flags)
	for i, f := range r.end.flows {
		res.Expected, res.Flags = false, flags
		reason, fix := r.judgeFlow(f, counters[i], res)
		expected = expected && (reason == "" || res.Expected)
		disturbed = disturbed && (reason == "" || slices.Contains(res.Flags, results.FlagDisturbed))
		invalid(reason, fix)
	}
	res.Flags = flags
	if res.Expected = expected && res.Verdict == results.Invalid; disturbed && res.Verdict == results.Invalid {
		res.Flags = append(flags, results.FlagDisturbed)
	}
}

// judgeFlow gives one flow its verdict.
func (r *run) judgeFlow(f *flow, c stream.Counters, res *wire.EndResult) (reason, fix string) {
	for _, gate := range []func(*flow, stream.Counters, *wire.EndResult) (string, string){r.gateBytes, r.gatePayload,
		r.gateCorrupted, r.gateZeroCopy, r.gateQueue, r.gateMoved} {
		if reason, fix = gate(f, c, res); reason != "" {
			break
		}
	}
	if f.N < len(res.Host.Flows) {
		own := &res.Host.Flows[f.N]
		if own.Verdict = results.OK; reason != "" {
			own.Verdict, own.Reason = results.Invalid, reason
		}
	}
	if reason != "" && len(r.end.flows) > 1 {
		reason = fmt.Sprintf("flow %d: %s", f.N, reason)
	}
	return reason, fix
}

func verdictOf(err error) results.Verdict {
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		return results.Unsupported
	}
	return results.Failed
}

// gateBytes: something flowed, and the receiver got what the sender sent.
func (r *run) gateBytes(f *flow, c stream.Counters, _ *wire.EndResult) (reason, fix string) {
	if taken := f.Meter.Snapshot().Bytes; r.end.sorts() && taken != c.Bytes {
		return fmt.Sprintf("the path took %d bytes, but reports for %d whether they were copied", taken, c.Bytes),
			"this is a bug of the data path: please report it"
	}
	if c.Bytes == 0 {
		return "no payload was transferred", "check the other end's message"
	}
	if p := f.result.peer; p != nil && p.Bytes != c.Bytes && !r.end.path.Kind.Packets() {
		return fmt.Sprintf("byte counts differ: %d sent, %d received", c.Bytes, p.Bytes),
			"this is a bug of the data path, or of the kernel: please report it"
	}
	return "", ""
}

// gatePayload: verified payload was right.
func (r *run) gatePayload(f *flow, c stream.Counters, _ *wire.EndResult) (reason, fix string) {
	if reason, fix = r.gateTrips(f, c); reason != "" {
		return reason, fix
	}
	const how = "memory was overwritten or misplaced on the way: repeat with --rx tcp to see whether it is the " +
		"network or the mode"
	if c.Mismatches > 0 {
		return fmt.Sprintf("%d payload bytes are wrong, the first at flow position %d", c.Mismatches,
			c.FirstMismatch-1), how
	}
	if p := f.result.peer; p != nil && p.Mismatches > 0 {
		return fmt.Sprintf("the receiver found %d wrong payload bytes", p.Mismatches), how
	}
	return "", ""
}

// gateWindow: the figures are of the window that was asked for, and payload
// passed in it. Its edges are read late where other work keeps this thread off
// the CPUs. A window in time in which nothing passed is not disturbed: a mode
// that stalls looks the same, and making it again would hide that.
func (r *run) gateWindow(res *wire.EndResult) (reason, fix string) {
	if r.sch.ToNs == 0 {
		return "", ""
	}
	if reason, fix = r.windowFault(res); reason != "" {
		res.Flags = append(res.Flags, results.FlagDisturbed)
		return reason, fix
	}
	if res.Window.Bytes == 0 {
		return fmt.Sprintf("no payload was transferred in the window of %v",
				duration(r.sch.ToNs-r.sch.FromNs).Round(time.Millisecond)),
			"the flow stalled, or other work kept the CPUs busy: measure longer, and repeat with --rx tcp to see " +
				"whether it is the network or the mode"
	}
	return "", ""
}

// gateMoved: each of several flows brought something in the window.
func (r *run) gateMoved(f *flow, _ stream.Counters, res *wire.EndResult) (reason, fix string) {
	if len(r.end.flows) == 1 || !r.from.taken || !r.to.taken || res.Window.Bytes == 0 ||
		r.to.flows[f.N].Bytes > r.from.flows[f.N].Bytes {
		return "", ""
	}
	// of a warm-up, or one that was chosen
	if err := r.end.spec.Cell.CheckRequests(duration(r.sch.ToNs - r.sch.FromNs)); err != nil {
		return "none of its requests was due in the window", err.Error()
	}
	return "no payload was transferred in the window, while other flows moved",
		"its thread, queue or CPU had no time for it: give each flow its own CPU, or use fewer flows"
}

// windowFault explains how the window's edges missed what was asked for.
func (r *run) windowFault(res *wire.EndResult) (reason, fix string) {
	const how = "other work keeps the CPUs busy: end it, give the benchmark its own CPUs, or measure longer"
	asked, got := duration(r.sch.ToNs-r.sch.FromNs), duration(res.ToNs-res.FromNs)
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	switch {
	case r.startNs > r.sch.FromNs && r.sch.StartNs > 0:
		which := "the flow"
		if r.lastOpen != nil && len(r.end.flows) > 1 {
			which = fmt.Sprintf("flow %d, the last one,", r.lastOpen.N)
		}
		return fmt.Sprintf("the window of %v began %.1f ms before %s was open, and its edges were read %.1f ms "+
				"and %.1f ms late: connecting took %.1f ms until the receiver's welcome",
				asked.Round(time.Millisecond), ms(r.startNs-r.sch.FromNs), which, ms(res.FromNs-r.sch.FromNs),
				ms(res.ToNs-r.sch.ToNs), ms(r.startNs-r.sch.StartNs)),
			"packets were lost on the way (nstat -az TcpRetransSegs TcpExtTCPTimeouts on both hosts), or other " +
				"work keeps the CPUs busy; a longer --ramp-up hides it"
	case got < asked-asked/4, got > asked+asked/4:
		return fmt.Sprintf("the window of %v lasted %.1f ms, its edges read %s and %s", asked.Round(time.Millisecond),
			ms(int64(got)), offBy(ms(res.FromNs-r.sch.FromNs)), offBy(ms(res.ToNs-r.sch.ToNs))), how
	}
	return "", ""
}

// offBy formats by how many ms an edge was read late, or early.
func offBy(ms float64) string {
	if ms < 0 {
		return fmt.Sprintf("%.1f ms early", -ms)
	}
	return fmt.Sprintf("%.1f ms late", ms)
}

// gateZeroCopy: a mode that claims zero copy has the kernel's word for it.
func (r *run) gateZeroCopy(f *flow, c stream.Counters, res *wire.EndResult) (reason, fix string) {
	if !r.end.path.Has(stream.ZeroCopy) {
		return "", ""
	}
	limit := DefaultMaxCopied
	if r.sch.MaxCopiedFrac != nil {
		limit = *r.sch.MaxCopiedFrac
	}
	known := c.ZeroCopyBytes + c.CopiedBytes + c.LinearBytes
	if known == 0 {
		return "the kernel gave no evidence of zero copy", "see `zcbench doctor` for what the mode needs"
	}
	frac := float64(c.CopiedBytes+c.LinearBytes+f.result.evidence.Uncounted) / float64(known)
	if frac <= limit {
		return gateTold(f, float64(known), limit, r.end.spec.Mode())
	}
	res.Expected = r.end.path.Has(stream.CopiedHere) && r.copiesHere(f, res.Host.Env)
	how, why := "allow it with --max-copied, or find out what makes the kernel copy", ""
	if e := f.result.evidence; e.Why != "" {
		why, how = ": "+e.Why, e.Fix
	}
	if r.end.spec.Role == stream.TX {
		how = "loopback and veth always copy such payload when they deliver it, as does a NIC without " +
			"scatter-gather: use a real NIC (ethtool -k DEV: tx-scatter-gather on), or allow it with --max-copied"
	}
	if r.end.astray(f) {
		why, how = why+plan.AsIntended, "nothing is to be mended: the control shows that a copied run is found out"
	}
	return fmt.Sprintf("the kernel copied %.1f %% of the payload of %s (limit %g %%)%s", 100*frac, r.end.spec.Mode(),
		100*limit, why), how
}

// gateTold: what claims zero copy, and what may have been copied without anybody knowing, are told
// apart. That is no proof of a copy, nor of none.
func gateTold(f *flow, known, limit float64, mode string) (reason, fix string) {
	e := &f.result.evidence
	if frac := float64(e.Untold) / known; frac > limit {
		return fmt.Sprintf("whether %.1f %% of the payload of %s were copied cannot be told (limit %g %%): %s",
			100*frac, mode, 100*limit, e.Why), e.Fix
	}
	return "", ""
}

// astray reports whether a flow is steered to another queue than its memory's on purpose: the last
// one of a negative control.
func (e *End) astray(f *flow) bool {
	c := &e.spec.Cell
	return e.spec.Role == stream.RX && f.N == len(e.flows)-1 && (c.Control == plan.WrongQueue || c.SteerTo != nil)
}

// fillFlow fills the figures of the flows themselves.
func (r *run) fillFlow(h *results.Host, c counter.Change) {
	w := sum(r.to.flows).Sub(sum(r.from.flows))
	seconds := float64(r.to.atNs-r.from.atNs) / 1e9
	gbps := float64(w.Bytes) * 8 / 1e9 / seconds
	total := r.end.Progress()
	h.DurationS, h.Bytes, h.TotalBytes, h.ThroughputGbps = &seconds, &w.Bytes, &total, &gbps
	r.fillEach(h, c, seconds)
	r.fillPackets(h, w, seconds)
	if r.end.path.SortsBytes() {
		h.ZeroCopyBytes, h.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
		if r.end.first().result.evidence.CountsLinear {
			h.LinearBytes = &w.LinearBytes
		}
	}
	if r.end.opts.Touch == stream.TouchVerify {
		h.Mismatches = &w.Mismatches
	}
	if !r.end.first().trips() {
		h.Delivery = delivery(r.from.times, r.to.times)
	}
	if h.Delivery != nil {
		h.Metrics = append(h.Metrics, h.Delivery.Metrics()...)
	}
	r.fillTrips(h, w)
	h.Metrics = append(h.Metrics, flowMetrics(w, seconds, r.end.path)...)
	if ms := cyclesPerByte(h.Metrics, w.Bytes); ms != nil {
		h.CyclesPerByte = &ms[0].Value
		h.Metrics = append(h.Metrics, ms...)
	}
	r.fillNodes(h)
	h.Metrics = append(h.Metrics, r.end.figures()...)
	h.Metrics = append(h.Metrics, r.end.queueShares()...)
}

// fillNodes adds on which NUMA nodes the payload's memory is, of all flows together, and warns of
// each flow whose memory is far from its thread.
func (r *run) fillNodes(h *results.Host) {
	t, all := place.ReadTopology(), map[int]int{}
	for _, f := range r.end.flows {
		for node, pages := range f.result.nodes {
			all[node] += pages
		}
		if _, warning := memoryNodes(f.result.nodes, f.CPU, t); warning != "" {
			r.warnings = append(r.warnings, r.end.called(f)+warning)
		}
	}
	ms, _ := memoryNodes(all, -1, t)
	h.Metrics = append(h.Metrics, ms...)
}

// cyclesPerByte divides the processor's cycles by bytes; it returns nothing where they were not
// counted.
func cyclesPerByte(ms []measure.Metric, bytes uint64) []measure.Metric {
	i := slices.IndexFunc(ms, func(m measure.Metric) bool { return m.Name == "pmu_cycles" })
	if i < 0 || bytes == 0 {
		return nil
	}
	return []measure.Metric{{Name: "cycles_per_byte", Unit: "1/byte", Value: ms[i].Value / float64(bytes),
		Source: ms[i].Source, Quality: ms[i].Quality}}
}

// flowMetrics builds the metrics of the data path's own counters over the window.
func flowMetrics(w stream.Counters, seconds float64, path stream.Mode) []measure.Metric {
	const src = "data path"
	ms := []measure.Metric{
		{Name: "flow_calls", Unit: "1", Value: float64(w.Calls), Source: src},
		{Name: "flow_waits", Unit: "1", Value: float64(w.Waits), Source: src},
		{Name: "flow_calls_per_second", Unit: "1/s", Value: float64(w.Calls) / seconds, Source: src},
	}
	if w.Bytes > 0 {
		ms = append(ms, measure.Metric{Name: "flow_calls_per_mb", Unit: "1/MB",
			Value: float64(w.Calls) / (float64(w.Bytes) / 1e6), Source: src})
	}
	if w.PacePieces > 0 {
		ms = append(ms, measure.Metric{Name: "pace_waits", Unit: "1", Value: float64(w.PaceWaits), Source: src},
			measure.Metric{Name: "pace_pieces", Unit: "1", Value: float64(w.PacePieces), Source: src},
			measure.Metric{Name: "pace_late_mean_us", Unit: "us",
				Value: float64(w.PaceLateNs) / float64(w.PacePieces) / 1e3, Source: src})
	}
	if path.Has(stream.UsesRing) {
		ms = append(ms, measure.Metric{Name: "uring_rearms", Unit: "1", Value: float64(w.Rearms), Source: src},
			measure.Metric{Name: "uring_overflows", Unit: "1", Value: float64(w.Overflows), Source: src})
	}
	if w.Completions > 0 {
		ms = append(ms, measure.Metric{Name: "zerocopy_completions", Unit: "1", Value: float64(w.Completions),
			Source: src},
			measure.Metric{Name: "zerocopy_completions_copied", Unit: "1", Value: float64(w.CopiedCompletions),
				Source: src})
	}
	return ms
}
