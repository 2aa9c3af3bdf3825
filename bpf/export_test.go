// SPDX-License-Identifier: MIT

package bpf

// Stages are the names of all stages, in the order of a packet's way.
func Stages() []string {
	var names []string
	for _, s := range stages {
		names = append(names, s.name)
	}
	return names
}
