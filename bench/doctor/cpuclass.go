// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/machine/cpuclass"
	"github.com/zcbench/zcbench/machine/place"
)

// classes checks which CPUs of a hybrid processor runs use.
func (fs fs) classes() wire.Check {
	c := wire.Check{Name: "classes of CPUs", Needed: "one for a run: what work costs on one says nothing of another",
		Status: "ok", Found: "one"}
	all := cpuclass.Read(fs.Sys)
	if why := cpuclass.Unknown(fs.Sys); why != "" {
		c.Status, c.Found = "warn", "not known: "+why
		c.Fix = "measure on the host, or name the CPUs of one kind: --sut-cpu, --tg-cpu"
	}
	if all == nil {
		return c
	}
	var cpus []int
	for _, class := range all {
		cpus = append(cpus, class.CPUs...)
	}
	if a, err := place.AllowedCPUs(); err == nil && fs.Sys == "" {
		if own := slices.DeleteFunc(slices.Clone(cpus),
			func(n int) bool { return !slices.Contains(a.Own, n) }); len(own) > 0 {
			cpus = own
		}
	}
	slices.Sort(cpus)
	use, _ := cpuclass.Prefer(all, cpus)
	names := cpuclass.Of(all, use)
	c.Found = cpuclass.String(all) + "; runs use " + cmp.Or(names, "any") + " (CPUs " + cpulist.Format(use) +
		") unless CPUs are named"
	if cpuclass.Mixed(names) || names != all[0].Name {
		c.Status, c.Fix = "warn", "start zcbench on two CPUs at least of the fastest class (taskset, cpuset), "+
			"where there are as many; or name the CPUs: --sut-cpu, --tg-cpu"
	}
	return c
}
