// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/zc/nicqueue"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// judge makes the result out of what was measured and what went wrong.
func (r *run) judge(err error) wire.EndResult {
	counters := r.end.counters()
	res := wire.EndResult{Host: r.host(), Total: sum(counters), Warnings: r.warnings}
	res.PeerBytes = r.end.peerBytes()
	if ns := r.endNs(); ns > 0 {
		res.FlowNs = ns - r.startNs
	}
	if res.FlowNs > 0 && r.turns == nil { // else the process has flows of others, too
		res.ProcUserS = float64(r.usage[1].UserNs-r.usage[0].UserNs) / 1e9
		res.ProcSysS = float64(r.usage[1].SysNs-r.usage[0].SysNs) / 1e9
	}
	if r.from.taken && r.to.taken {
		res.FromNs, res.ToNs = r.from.atNs, r.to.atNs
		res.Window = sum(r.to.flows).Sub(sum(r.from.flows))
	}
	res.Turns = r.turns.result()
	r.profiled(&res)
	if r.end.port != nil {
		if res.Strangers = r.end.strangers(); res.Strangers > 0 {
			res.Warnings = append(res.Warnings,
				fmt.Sprintf("closed %d connections to the data port that were not the flow's", res.Strangers))
		}
	}
	res.Warnings = append(res.Warnings, r.end.notes()...)
	if _, note := r.end.portSpread(); note != "" && err == nil {
		res.Warnings = append(res.Warnings, note)
	}
	res.Linear = r.end.first().result.evidence.CountsLinear
	if len(r.polledBy.PIDs) > 0 {
		res.Flags = append(res.Flags, results.FlagPolled)
	}
	if r.change.Unjudged != "" {
		res.Flags = append(res.Flags, unjudged(&res.Host))
	}
	if err != nil {
		res.Verdict, res.Reason, res.Fix = r.verdictOf(err), r.reason(err), fault.Fix(err)
		res.BlamesPeer = stream.BlamesPeer(err)
		r.blame(&res)
		return res
	}
	r.ask(counters, &res)
	return res
}

// ask has the judge say what the end's run is worth, by what the end knows of it.
func (r *run) ask(counters []stream.Counters, res *wire.EndResult) {
	e := r.known(counters, res)
	v := e.Judge()
	res.Verdict, res.Reason, res.Fix, res.Expected = v.Verdict, v.Reason, v.Fix, v.Expected
	res.Flags, res.Warnings = append(res.Flags, v.Flags...), append(res.Warnings, v.Warnings...)
	for i := range min(len(v.Flows), len(res.Host.Flows)) {
		own := &res.Host.Flows[i]
		if own.Verdict = results.OK; v.Flows[i] != "" {
			own.Verdict, own.Reason = results.Invalid, v.Flows[i]
		}
	}
}

// known gathers what the end knows of a run that has ended.
func (r *run) known(counters []stream.Counters, res *wire.EndResult) *end.Evidence {
	s := &r.end.spec
	e := &end.Evidence{Role: s.Role, Mode: s.Mode(), Path: r.end.path, Cell: &s.Cell,
		MaxCopied: r.sch.MaxCopiedFrac, Start: r.sch.StartNs, From: r.sch.FromNs, To: r.sch.ToNs, Opened: r.startNs,
		ReadFrom: res.FromNs, ReadTo: res.ToNs, Window: res.Window, Layout: r.layout(),
		Unpolled: r.end.polling.moved, TimedBPF: r.to.timed.Since(r.from.timed)}
	if t := res.Turns; t != nil {
		e.Turns = &end.Turns{Turns: t.Turns, Missed: t.Missed, Unsettled: t.Unsettled, LateCPU: t.LateCPU,
			Crowded: t.Crowded, LeftOut: t.LeftOut, Paced: t.Paced, Stolen: t.StolenFrac}
	}
	if r.lastOpen != nil {
		e.LastOpen = &r.lastOpen.N
	}
	for i, f := range r.end.flows {
		x := f.known(counters[i])
		x.Moved = !r.from.taken || !r.to.taken || r.to.flows[i].Bytes > r.from.flows[i].Bytes
		x.CopiesHere = r.end.path.Has(stream.CopiedHere) && r.copiesHere(f, res.Host.Env)
		if x.RequestBytes == 0 {
			x.RequestBytes = uint64(r.end.opts.MessageBytes)
		}
		if other := f.otherDev(); other != "" {
			x.OtherDevFix = nicqueue.ByOtherDev(other, f.opts.NIC.Dev)
		}
		if f.Conn != nil {
			x.TLS = f.Conn.TLS
		}
		x.Dev = f.opts.NIC.Dev
		x.Answers = r.knownAnswers(f, res.Host.Env)
		x.AnswerBytes = uint64(r.end.opts.Trips.ResponseBytes)
		e.Flows = append(e.Flows, x)
	}
	return e
}

// known gathers what is known of a flow that has ended.
func (f *flow) known(c stream.Counters) end.Flow {
	x := end.Flow{N: f.N, Counted: c, Taken: f.Meter.Snapshot().Bytes, Peer: f.result.peer,
		Evidence: f.result.evidence, Trips: f.trips(), Strayed: strayed(f),
		Asks: f.asks(), RequestBytes: f.request, Onward: f.knownOnward()}
	if a := f.Meter.Answers(); a != nil {
		x.RequestBytes = a.RequestBytes()
	}
	return x
}

// layout looks how the CPU layout was kept; nil: softirqs are left as found.
func (r *run) layout() *end.Layout {
	all := r.end.placed()
	if len(all) == 0 {
		return nil
	}
	l := &end.Layout{By: all[0].By, Dev: all[0].Dev, Words: strings.Join(r.end.placedWords(), "; ")}
	for _, p := range all {
		if err := p.Check(); l.Broken == nil {
			l.Broken = err
		}
	}
	// whose packets no socket and no softnet counter tells; Check has looked at the thread
	if r.end.path.Kind != stream.Frame && !r.end.path.Has(stream.AFXDP) {
		l.Misplaced = r.misplaced()
	}
	return l
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

// fillFlow fills the figures of the flows themselves.
func (r *run) fillFlow(h *results.Host, c counter.Change) {
	w := sum(r.to.flows).Sub(sum(r.from.flows))
	seconds := r.turns.seconds(w.Bytes, float64(r.to.atNs-r.from.atNs)/1e9)
	gbps := float64(w.Bytes) * 8 / 1e9 / seconds
	total := r.end.Progress()
	h.DurationS, h.Bytes, h.TotalBytes, h.ThroughputGbps = &seconds, &w.Bytes, &total, &gbps
	r.fillEach(h, c, seconds)
	r.fillPackets(h, w, seconds)
	r.fillThen(h, seconds)
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
		if d := h.Delivery; d != nil && r.end.spec.Cell.ObjectBytes > 0 {
			h.Objects, h.ObjectsLate = &d.Count, &d.Late
		}
	}
	if h.Delivery != nil {
		h.Metrics = append(h.Metrics, h.Delivery.Metrics()...)
	}
	r.fillTrips(h, w)
	on := r.to.onward.Sub(r.from.onward)
	w.Calls, w.Waits = w.Calls+on.Calls, w.Waits+on.Waits // the data path's, too
	h.Metrics = append(h.Metrics, flowMetrics(w, seconds, r.end.path)...)
	if r.end.back == nil { // else they are of both ways
		fillHardware(h, w.Bytes, r.turns.carried())
	}
	r.fillNodes(h)
	figures := r.end.figures()
	h.Metrics, h.Wants = append(h.Metrics, figures...), results.WantsOf(figures)
	h.Metrics = append(h.Metrics, r.end.queueShares()...)
	spread, _ := r.end.portSpread()
	h.Metrics = append(h.Metrics, spread...)
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
