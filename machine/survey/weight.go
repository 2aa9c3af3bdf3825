// SPDX-License-Identifier: MIT

package survey

import "cmp"

// byWeight are the areas in the order in which people want to know of them.
var byWeight = []string{"boot", "kernel", "cpu", "cpufreq", "cgroup", "memory", "nic", "gpu", "iommu", "numa", "ram",
	"dimm", "dmi", "machine", "busy", "sysctl", "config"}

// ByWeight orders facts, those first that explain most, then by name.
func ByWeight(a, b Fact) int {
	return cmp.Or(cmp.Compare(a.weight(), b.weight()), cmp.Compare(a.Name, b.Name))
}

// weights are the places of the areas there.
var weights = func() map[string]int {
	m := map[string]int{}
	for i, area := range byWeight {
		m[area] = i
	}
	return m
}()

func (f Fact) weight() int {
	if i, ok := weights[f.Area()]; ok {
		return i
	}
	return len(byWeight)
}
