// SPDX-License-Identifier: MIT

package survey

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/covered"
)

// What a container's files say is no fact of the host. That they are there is one.
func TestNoFactsOfAContainer(t *testing.T) {
	covered.Run(t, map[string]string{"/proc/meminfo": "MemTotal: 7 kB\n", "/sys/devices/system/cpu/online": "7\n",
		"/proc/cpuinfo": "model name\t: made up\nflags\t\t: hypervisor\n"}, func() {
		said := ""
		for _, f := range Whole(FS{}, Devs{}).Facts {
			if f.Name == "ram/total" || f.Name == "cpu/online" || f.Name == "cpu/model name" ||
				f.Name == "machine/virtual" {
				t.Errorf("%s: %s", f.Name, f.Value)
			}
			if f.Name == "kernel/files that are not its own" {
				said = f.Value
			}
		}
		if said != "/proc/cpuinfo /proc/meminfo /sys/devices/system/cpu/online" {
			t.Errorf("covered: %q", said)
		}
	})
	for _, f := range Whole(FS{}, Devs{}).Facts {
		if f.Name == "cpu/online" {
			return
		}
		if strings.HasPrefix(f.Name, "kernel/files") {
			t.Errorf("%s: %s", f.Name, f.Value)
		}
	}
	t.Error("the kernel's own file is no fact")
}
