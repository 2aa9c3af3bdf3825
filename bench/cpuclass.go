// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/results"
)

// markClasses flags a record in which the CPUs of an end, or those of both ends of one machine, mix
// fast and small ones.
func (r *Runner) markClasses(rec *results.Record) {
	mark := func(end, classes, why string) {
		if !slices.Contains(rec.Flags, results.FlagMixedClasses) {
			rec.Flags = append(rec.Flags, results.FlagMixedClasses)
		}
		rec.Warnings = append(rec.Warnings,
			fmt.Sprintf("%s: the CPUs are of several classes (%s)%s: the figures are of none of them", end, classes,
				why))
	}
	for i, role := range ends.Roles {
		h := rec.Host(role)
		if classes := h.Env.CPUClass; cpuclass.Mixed(classes) {
			why := ""
			if h.Env.AppCPU == "" {
				why = ", because its threads are not pinned"
			}
			host := r.SUT
			if i == 1 {
				host = r.TG
			}
			mark(role.Label(), cpuclass.String(host.Topology().Classes), why)
		}
	}
	s, t := rec.SUT.Env.CPUClass, rec.TG.Env.CPUClass
	if r.SUT.SameMachine(r.TG) && s != t && s != "" && t != "" && !cpuclass.Mixed(s) && !cpuclass.Mixed(t) {
		mark("both ends", fmt.Sprintf("SUT %s, TG %s", s, t), "")
	}
}
