// SPDX-License-Identifier: MIT

package built

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is that of a TCP socket, as the kernel's tables have it.
type State string

const (
	Established State = "01"
	Listening   State = "0A"
)

// Has reports whether a process has a TCP socket in that state.
func Has(pid int, state State) bool {
	there := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == string(state) {
				there["socket:["+f[9]+"]"] = true
			}
		}
	}
	return slices.ContainsFunc(files(pid), func(f string) bool { return there[f] })
}

// files lists what a process has open.
func files(pid int) (out []string) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			out = append(out, to)
		}
	}
	return out
}
