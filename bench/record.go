// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
)

// Flags of a record.
const (
	FlagSharedMachine = "shared-machine" // both ends on one kernel: CPU figures are those of the pinned CPUs
	FlagSharedCPU     = "shared-cpu"     // and on one CPU, or not pinned: CPU figures cannot be told apart
)

// fill completes a record with what both ends said.
func (r *Runner) fill(rec *results.Record, out outcome) {
	rec.StartUTCNs = out.startUTCNs
	r.fillEnd(&rec.SUT, r.SUT, out.sut)
	r.fillEnd(&rec.TG, r.TG, out.tg)
	rec.SUT.Path, rec.TG.Path = out.path, nil // whatever the agents say
	if d := rec.SUT.Delivery; d != nil {
		d.ClockUs = out.clockUs // whatever the agent says
	}
	rec.Warnings = slices.Concat(named("SUT", out.sut.Warnings), named("TG", out.tg.Warnings), out.warnings)
	rec.Warnings = slices.Concat(rec.Warnings, named("SUT", takeProfile(&rec.Attached.SUT, out.sut.Profile)),
		named("TG", takeProfile(&rec.Attached.TG, out.tg.Profile)))
	rec.Flags = slices.Clone(out.sut.Flags)
	for _, f := range out.tg.Flags {
		if !slices.Contains(rec.Flags, f) {
			rec.Flags = append(rec.Flags, f)
		}
	}
	r.markSharing(rec)
	r.markPlacement(rec)
	r.markSiblings(rec)
	r.markClasses(rec)
	r.markNodes(rec)
	r.markUpper(rec)
	markDrops(rec)
	rec.Verdict, rec.Reason, rec.Fix = verdict(out, rec.Cell.MovesPackets())
	markReassembly(rec)
	AccountPackets(rec, r.SUT.SameMachine(r.TG), r.SUT.SameMachine(r.TG) && r.SUT.Info.NetNS == r.TG.Info.NetNS)
	countFlows(rec)
	askedTrips(rec)
	if rec.Verdict == results.Invalid {
		rec.Gate = out.gate()
	}
	rec.Expected = rec.Verdict == results.Invalid && out.expected()
}

// fillEnd takes an end's figures, and keeps what the agent said of its host.
func (r *Runner) fillEnd(h *results.Host, agent *host.Host, res wire.EndResult) {
	if res.Verdict == "" {
		return // it never ran
	}
	name := h.Name
	*h = res.Host
	h.Name = name
	h.Env.ToolVersion = agent.Info.ToolVersion
	h.Metrics = append(h.Metrics,
		measure.Metric{Name: "strangers", Unit: "1", Value: float64(res.Strangers), Source: "data port"},
		measure.Metric{Name: "clock_offset_uncertainty_ns", Unit: "ns", Value: float64(agent.UncertaintyNs),
			Source: "agent round trip"})
}

// takeProfile takes an end's profile, if it is one: it comes from another machine.
func takeProfile(to *[]byte, packed []byte) (warnings []string) {
	if len(packed) == 0 {
		return nil
	}
	if _, err := profile.Parse(packed); err != nil {
		return []string{"its profile is not kept: " + err.Error()}
	}
	*to = packed
	return nil
}

// gate returns the class of the gates that the ends of an invalid run did not pass. Where all of
// them only found that something else spoilt it, it says nothing of the run.
func (o *outcome) gate() plan.GateClass {
	spoilt := 0
	for _, e := range []wire.EndResult{o.sut, o.tg} {
		switch {
		case e.Verdict != results.Invalid:
		case slices.Contains(e.Flags, results.FlagDisturbed):
			spoilt++
		default:
			return plan.ByProof
		}
	}
	if spoilt == 0 {
		return plan.ByProof // what both say does not fit together
	}
	return plan.ByEnvironment
}

// expected reports whether an end is invalid because its mode is copied here, and none for another
// reason than that, or that something else spoilt the run as well.
func (o *outcome) expected() bool {
	n := 0
	for _, e := range []wire.EndResult{o.sut, o.tg} {
		switch {
		case e.Verdict != results.Invalid, slices.Contains(e.Flags, results.FlagDisturbed) && !e.Expected:
		case !e.Expected:
			return false
		default:
			n++
		}
	}
	return n > 0
}

func named(end string, warnings []string) []string {
	var out []string
	for _, w := range warnings {
		out = append(out, end+": "+w)
	}
	return out
}

// markSharing flags a record whose ends both run on one machine, and drops CPU figures that cannot
// be told apart.
func (r *Runner) markSharing(rec *results.Record) {
	if !r.SUT.SameMachine(r.TG) {
		return
	}
	rec.Flags = append(rec.Flags, FlagSharedMachine)
	if _, shares := r.sharesCPU(rec.Cell); shares {
		rec.Flags = append(rec.Flags, FlagSharedCPU)
		rec.Warnings = append(rec.Warnings, "both ends share a machine and are not pinned to different CPUs: "+
			"their CPU figures cannot be separated and are left out")
		dropCPU(&rec.SUT)
		dropCPU(&rec.TG)
		return
	}
	sut := r.threadCPUs(stream.RX, rec.Cell)
	if irq := rec.SUT.Env.IRQCPU; irq != "" && rec.SUT.CPUBusyCores != nil && rec.Cell.CPULayout == "" &&
		irq != counter.FormatCPUList(sut) {
		rec.Warnings = append(rec.Warnings, results.WarnSoftirqElsewhere(irq, counter.FormatCPUList(sut)))
	}
}

// threadCPUs lists the CPUs of an end's threads; one that is not pinned has -1.
func (r *Runner) threadCPUs(role stream.Role, cell plan.Cell) (out []int) {
	cpus, _ := r.cpus(role, cell)
	for _, c := range cpus {
		out = append(out, c.App)
	}
	return out
}

func dropCPU(h *results.Host) {
	h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores, h.CPUBusyCores, h.IOWaitCores, h.StatCoverage = nil, nil, nil, nil,
		nil, nil
	h.CPUBusyU, h.CPUPollerCores, h.CyclesPerByte = nil, nil, nil
	if h.Probes != nil {
		h.Probes.Profile = nil
	}
}

// severity orders verdicts: the worse end decides.
var severity = map[results.Verdict]int{results.OK: 0, results.Invalid: 1, results.Unsupported: 2, results.Failed: 3}

// said is one end's part of the verdict.
type said struct {
	end        string
	verdict    results.Verdict
	reason     string
	fix        string
	blamesPeer bool // the cause is at the other end
	gone       bool // its agent did not answer
}

func sayEnd(end string, res wire.EndResult, err error) said {
	if err == nil {
		return said{end: end, verdict: res.Verdict, reason: res.Reason, fix: res.Fix, blamesPeer: res.BlamesPeer}
	}
	s := said{end: end, verdict: results.Failed, reason: err.Error(), fix: fault.Fix(err), gone: true}
	if w, ok := err.(*wire.Error); ok {
		s.gone = false
		if w.Verdict == results.Unsupported {
			s.verdict = w.Verdict
		}
	}
	return s
}

// verdict joins the two ends' verdicts, and compares their byte counts; of packets some may be
// lost.
func verdict(out outcome, packets bool) (v results.Verdict, reason, fix string) {
	ends := causes([]said{sayEnd("SUT", out.sut, out.sutErr), sayEnd("TG", out.tg, out.tgErr)})
	v = results.OK
	for _, e := range ends {
		if severity[e.verdict] > severity[v] {
			v = e.verdict
		}
	}
	if v == results.OK {
		if out.sut.Verdict != results.OK || out.tg.Verdict != results.OK {
			return results.Failed, "an end gave no verdict", "this is a bug of zcbench: please report it"
		}
		if s, t := out.sut.Total.Bytes, out.tg.Total.Bytes; s != t && !packets {
			return results.Invalid, fmt.Sprintf("byte counts differ: %d sent, %d received", t, s),
				"this is a bug of a data path, or of the kernel: please report it"
		}
		return v, "", ""
	}
	if v == results.Failed && out.calledOff != nil {
		return v, "the run was aborted: " + out.calledOff.Error(), "" // what the ends say follows from that
	}
	var reasons []string
	for _, e := range ends {
		if e.verdict != v || e.reason == "" {
			continue
		}
		reasons = append(reasons, e.end+": "+e.reason)
		if fix == "" {
			fix = e.fix
		}
	}
	return v, strings.Join(reasons, "; "), fix
}

// causes leaves out an end that only suffers from what the other one says: it
// blames that one, or the other one's agent is gone.
func causes(ends []said) []said {
	stopped := func(e said) bool { return severity[e.verdict] >= severity[results.Unsupported] }
	var out []said
	for i, e := range ends {
		o := ends[1-i]
		if stopped(e) && stopped(o) && (e.blamesPeer && !o.blamesPeer || o.gone && !e.gone) {
			continue
		}
		out = append(out, e)
	}
	return out
}
