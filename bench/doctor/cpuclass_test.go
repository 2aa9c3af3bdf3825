// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

// The doctor says of a hybrid processor which of its CPUs runs use.
func TestClasses(t *testing.T) {
	for name, x := range map[string]struct {
		mhz           []int
		status, found string
	}{
		"alike": {[]int{3700, 3700, 3900, 3900}, "ok", "one"},
		"hybrid": {[]int{4900, 5000, 3800, 3800}, "ok",
			"5000 MHz 0-1, 3800 MHz 2-3; runs use 5000 MHz (CPUs 0-1) unless CPUs are named"},
		"one fast one": {[]int{3800, 3800, 3800, 5000}, "warn",
			"5000 MHz 3, 3800 MHz 0-2; runs use 3800 MHz (CPUs 0-2) unless CPUs are named"},
		"one of each": {[]int{3800, 5000}, "warn",
			"5000 MHz 1, 3800 MHz 0; runs use 5000 MHz+3800 MHz (CPUs 0-1) unless CPUs are named"},
	} {
		files := map[string]string{"sys/devices/system/cpu/online": fmt.Sprintf("0-%d\n", len(x.mhz)-1)}
		for i, mhz := range x.mhz {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", i)] = fmt.Sprintf("%d000\n", mhz)
		}
		c := fixture(t, files).classes()
		if c.Status != x.status || c.Found != x.found {
			t.Errorf("%s: %+v, want %s %q", name, c, x.status, x.found)
		}
		complete(t, []wire.Check{c})
	}
}
