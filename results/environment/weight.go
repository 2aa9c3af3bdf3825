// SPDX-License-Identifier: MIT

package environment

import (
	"cmp"
	"slices"
)

// byWeight are the areas in the order in which people want to know of them.
var byWeight = []string{"boot", "kernel", "cpu", "cpufreq", "memory", "nic", "iommu", "numa", "ram", "dimm", "dmi", "machine", "busy", "sysctl", "config"}

// ByWeight orders facts, those first that explain most, then by name.
func ByWeight(a, b Fact) int {
	return cmp.Or(cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.Name, b.Name))
}

func (f Fact) weight() int {
	if i := slices.Index(byWeight, f.Area()); i >= 0 {
		return i
	}
	return len(byWeight)
}
