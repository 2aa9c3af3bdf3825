// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan/matrix"
)

// apart gives each end of the demo's own link its softirq on the CPU of its thread, where the user
// says nothing of layouts. A veth has the receiver's softirq on the CPU of whoever sends: that CPU
// would work for both ends, and be the limit of neither. It returns a line on what the runs are, ""
// where there is nothing to say.
func (f *decideFlags) apart(cmd *cobra.Command, spec *matrix.Spec) (line string) {
	if spec.SUT.Host != "" || cmd.Flags().Changed("layout") || cmd.Flags().Changed("tg-layout") ||
		slices.Contains(spec.SUT.ThreadCPUs(), -1) || slices.Contains(spec.TG.ThreadCPUs(), -1) {
		return ""
	}
	var cells []int
	for i := range spec.Cells {
		// RPS never sees frames; flows that share queues may ask for what a layout cannot give
		// them.
		if c := &spec.Cells[i]; !c.MovesPackets() && c.Queues == 0 {
			cells = append(cells, i)
		}
	}
	if len(cells) == 0 {
		return ""
	}
	if err := canPlace(spec); err != nil {
		line = "The receiver's softirq is left on the sender's CPU, which then works for both ends: " +
			fault.Reason(err)
		if fix := fault.Fix(err); fix != "" {
			line += "; fix: " + fix
		}
		return line
	}
	for _, i := range cells {
		spec.Cells[i].CPULayout = string(place.OneCPU)
		if spec.Base != nil && spec.Base.ID == spec.Cells[i].ID {
			spec.Base.CPULayout = string(place.OneCPU)
		}
	}
	return "Each end's softirq runs on the CPU of its thread (else: --layout=)."
}

// canPlace tries whether the softirq of a link of ours can be put on the CPUs that the ends will
// have. One that is isolated, or without a tick (nohz_full), is refused by the kernel.
func canPlace(spec *matrix.Spec) (err error) {
	near, err := place.Near(nil)
	if err != nil {
		return err
	}
	if len(near) < 2 {
		return errors.New("there is one CPU")
	}
	use, rest := cpuclass.Prefer(place.ReadTopology().Classes, near)
	pair, err := veth.New(veth.Options{})
	if err != nil {
		return fmt.Errorf("make a link: %w", err)
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	return pair.SUT.Netns.Do(func() error {
		for _, cpu := range cpusOfEnds(spec, slices.Concat(use, rest)) {
			p, err := place.Softirq(pair.SUT.Dev, place.On(cpu))
			if err != nil {
				return fmt.Errorf("CPU %d: %w", cpu, err)
			}
			if err := p.Undo(); err != nil {
				return err
			}
		}
		return nil
	})
}

// cpusOfEnds lists the CPUs that the threads of both ends will have on one machine, out of those
// that there are: those that are named, or else for the SUT the last ones, and for the TG the
// first.
func cpusOfEnds(spec *matrix.Spec, cpus []int) []int {
	n := 1
	for i := range spec.Cells {
		n = max(n, spec.Cells[i].NFlows())
	}
	n = min(n, len(cpus))
	sut, tg := spec.SUT.ThreadCPUs(), spec.TG.ThreadCPUs()
	if len(sut) == 0 {
		sut = cpus[len(cpus)-n:]
	}
	if len(tg) == 0 {
		left := slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return slices.Contains(sut, c) })
		tg = left[:min(n, len(left))]
	}
	out := slices.Concat(sut, tg)
	slices.Sort(out)
	return slices.Compact(out)
}
