// SPDX-License-Identifier: MIT

package bench

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// sharedSoftirq returns the CPUs of an end's softirq that are the other end's, on one machine:
// those of its threads, and for the SUT also those of the TG's softirq. Each CPU counts in the
// figures of one end.
func (r *Runner) sharedSoftirq(role stream.Role, cell plan.Cell) (out []int) {
	if !r.SUT.SameMachine(r.TG) {
		return nil
	}
	peer := stream.TX
	if role == stream.TX {
		peer = stream.RX
	}
	own, layout := r.cpus(role, cell)
	other, theirs := r.cpus(peer, cell)
	for _, c := range own {
		n := c.SoftirqOf(layout)
		if n < 0 || slices.ContainsFunc(own, func(o place.CPUs) bool { return o.App == n }) {
			continue // a thread's of this end, too, is its own
		}
		if slices.ContainsFunc(other, func(o place.CPUs) bool {
			return o.App == n || role == stream.RX &&
				o.SoftirqOf(theirs) == n
		}) {
			out = append(out, n)
		}
	}
	return inOrder(out)
}

// markPlacement flags a run in which an end's softirq runs on CPUs of the other end, and warns of
// what the layout then means on this machine.
func (r *Runner) markPlacement(rec *results.Record) {
	for _, x := range []struct {
		role        stream.Role
		end, other  string
		layout, key string
	}{
		{stream.RX, "SUT", "TG", rec.Cell.CPULayout, "--cpus APP,SOFTIRQ"},
		{stream.TX, "TG", "SUT", rec.Cell.TGLayout(), "--tg-cpus APP,SOFTIRQ"},
	} {
		cpus := r.sharedSoftirq(x.role, rec.Cell)
		if len(cpus) == 0 {
			continue
		}
		if !slices.Contains(rec.Flags, results.FlagCrowded) {
			rec.Flags = append(rec.Flags, results.FlagCrowded)
		}
		rec.Warnings = append(rec.Warnings, results.WarnSoftirqShared(x.end, counter.FormatCPUList(cpus), x.other,
			x.layout, x.key))
	}
}
