// SPDX-License-Identifier: MIT

package bench

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
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
	both := out.both()
	both.OneMachine = r.SUT.SameMachine(r.TG)
	both.OneNamespace = both.OneMachine && r.SUT.Info.NetNS == r.TG.Info.NetNS
	both.Judge(rec)
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
	rec.Flags = append(rec.Flags, results.FlagSharedMachine)
	if _, shares := r.sharesCPU(rec.Cell); shares {
		rec.Flags = append(rec.Flags, results.FlagSharedCPU)
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
	h.CPUBusyU, h.CPUPollerCores = nil, nil
	h.CyclesPerByte, h.InstructionsPerKB, h.IPC, h.LLCMissesPerKB = nil, nil, nil, nil
	if h.Probes != nil {
		h.Probes.Profile = nil
	}
}

// both sums up what the ends said.
func (o *outcome) both() judge.Both {
	return judge.Both{SUT: saidBy(&o.sut, o.sutErr), TG: saidBy(&o.tg, o.tgErr), CalledOff: o.calledOff}
}

// saidBy returns an end's part of the verdict: what it says, or the error in place of that.
func saidBy(res *wire.EndResult, err error) judge.Said {
	if err == nil {
		return judge.Said{Verdict: res.Verdict, Reason: res.Reason, Fix: res.Fix, Flags: res.Flags,
			Bytes:    res.Total.Bytes,
			Expected: res.Expected, BlamesPeer: res.BlamesPeer}
	}
	s := judge.Said{Verdict: results.Failed, Reason: err.Error(), Fix: fault.Fix(err), Gone: true}
	if w, ok := err.(*wire.Error); ok {
		s.Gone = false
		if w.Verdict == results.Unsupported {
			s.Verdict = w.Verdict
		}
	}
	return s
}
