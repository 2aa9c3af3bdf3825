// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/covered"
	"github.com/zcbench/zcbench/machine/counter"
)

func TestKernelFiles(t *testing.T) {
	if c := kernelFiles(); c.Status != "ok" {
		t.Logf("here: %+v", c) // these tests may run in a container
	} else {
		complete(t, []wire.Check{c})
	}
	for _, x := range []struct {
		files map[string]string
		found []string
	}{
		{map[string]string{"/proc/stat": "cpu0 1 1 1 1\n"}, []string{"/proc/stat: CPU time is not measured"}},
		{map[string]string{"/proc/meminfo": "HugePages_Total: 64\nHugePages_Free: 64\nHugepagesize: 2048 kB\n",
			"/proc/uptime": "1 1\n"},
			[]string{"/proc/meminfo, /proc/uptime: free huge pages"}},
		{map[string]string{"/proc/interrupts": ""}, []string{"/proc/interrupts: which interrupts serve"}},
		{map[string]string{"/sys": ""}, []string{"/sys: interfaces, CPUs"}},
		{map[string]string{"/proc/swaps": ""}, []string{"/proc/swaps: no figure is made of these"}},
		{map[string]string{"/sys/devices/system/cpu/online": "0\n"},
			[]string{"/sys/devices/system/cpu/online: no figure"}},
	} {
		covered.Run(t, x.files, func() {
			c := kernelFiles()
			for _, f := range x.found {
				if c.Status != "warn" || !strings.Contains(c.Found, f) ||
					!strings.Contains(c.Fix, "measure on the host") {
					t.Errorf("%+v, want %q", c, f)
				}
			}
			complete(t, []wire.Check{c})
			if _, ok := x.files["/proc/meminfo"]; ok {
				if h := (fs{}).hugePages(); h.Status != "warn" || !strings.Contains(h.Found, "is not the kernel's") {
					t.Errorf("huge pages of a container: %+v", h)
				}
			}
		})
	}
}

// Where a container's folder stands in the place of that of CPUs, what it lacks is not told to be
// lacking in the machine, or the machine to be a virtual one.
func TestNotTheCPUs(t *testing.T) {
	for _, path := range []string{"/sys/devices/system/cpu", "/sys"} {
		covered.Run(t, map[string]string{path: ""}, func() {
			checks := append(idleChecks(counter.FS{}), fs{}.governor())
			for _, c := range checks {
				if c.Status == "ok" || !strings.Contains(c.Found, "is not the kernel's") ||
					strings.Contains(c.Found, "virtual machine") || !strings.Contains(c.Fix, "measure on the host") {
					t.Errorf("%s: %+v", path, c)
				}
			}
		})
	}
}
