// SPDX-License-Identifier: MIT

package end

import (
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// Layout is how an end's CPU layout was kept.
type Layout struct {
	By, Dev   string
	Words     string // that describe it
	Broken    error  // it was not kept
	Misplaced string // where softirqs ran instead; "": nowhere
}

// keptLayout: the softirq ran where the layout wants it. Where it did not, something else
// on the host moved it.
func (e *Evidence) keptLayout(v *verdict) (found Finding) {
	p := e.Layout
	if p == nil {
		return found
	}
	v.Flags = append(v.Flags, results.FlagSoftirqBy+p.By)
	if p.By == "rps" {
		v.Warnings = append(v.Warnings, p.Words)
	}
	if p.Broken != nil {
		return Finding{Reason: "the CPU layout was not kept: " + p.Broken.Error(), Fix: fault.Fix(p.Broken),
			Disturbed: true}
	}
	if p.Misplaced == "" {
		return found
	}
	found = Finding{Reason: "the CPU layout was not obtained: " + p.Misplaced + " (" + p.Words + ")",
		Fix: "something else steers packets: sysctl -w net.core.rps_sock_flow_entries=0 (RFS), and no busy " +
			"polling",
		Disturbed: true}
	if p.By == "irq" {
		found.Fix = "something else moves the work: systemctl stop irqbalance, no busy polling, no threaded NAPI, " +
			"ethtool -K " + p.Dev + " ntuple off if accelerated RFS is on"
	}
	return found
}

// keptPoll: who polls is as it was set. Where it is not, something else on the host has set it.
func (e *Evidence) keptPoll(*verdict) (found Finding) {
	if e.Unpolled == nil {
		return found
	}
	return Finding{Reason: "who polls did not stay as it was set: " + e.Unpolled.Error(), Fix: fault.Fix(e.Unpolled),
		Disturbed: true}
}

// untimed: the kernel did not time eBPF programs, which slows all that run
// on the machine, whoever asked for it. That may pass, so the run may be made again.
func (e *Evidence) untimed(*verdict) (found Finding) {
	if !e.TimedBPF {
		return found
	}
	return Finding{
		Reason: "bpf_stats was on: the kernel timed every run of an eBPF program, which slowed the flow",
		Fix: "sysctl -w kernel.bpf_stats_enabled=0, and stop what measures programs, such as zcbench probe " +
			"--overhead " +
			"or bpftop", Disturbed: true}
}
