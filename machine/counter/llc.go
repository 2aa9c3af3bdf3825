// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/lazy"
)

// lastLevelEvents are a CPU's own events of its last-level cache.
type lastLevelEvents struct {
	misses, references unix.PerfEventAttr
	source             string
}

// What perf calls cache-misses is of another cache on each processor: the last level on Intel's,
// whose architectural event it is (arch/x86/events/intel/core.c: intel_perfmon_event_map), the L2
// on AMD's (arch/x86/events/amd/core.c: amd_zen2_perfmon_event_map), the L1 on Arm's
// (drivers/perf/arm_pmuv3.c: armv8_pmuv3_perf_map), whose LL_CACHE events count the last level.
const intelLLCMisses = 0x412e

var armPMU = lazy.Regexp(`^armv[0-9]+_`)

// LLCMisses is the event of a CPU's own that counts misses of its last-level cache.
func LLCMisses(fs FS) (unix.PerfEventAttr, error) {
	e, err := lastLevel(fs)
	return e.misses, err
}

// lastLevel finds the events by what the kernel says of its PMUs.
func lastLevel(fs FS) (lastLevelEvents, error) {
	root := fs.sysPath("bus/event_source/devices")
	entries, err := os.ReadDir(root)
	if err != nil {
		return lastLevelEvents{}, fmt.Errorf("no PMU: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		switch {
		case e.Name() == "cpu" || e.Name() == "cpu_core": // of a hybrid processor
			if lastLevelOfIntel(dir) {
				return lastLevelEvents{source: "perf_event cache-misses",
					misses: unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CACHE_MISSES},
					references: unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE,
						Config: unix.PERF_COUNT_HW_CACHE_REFERENCES}}, nil
			}
		case armPMU().MatchString(e.Name()):
			if line(filepath.Join(dir, "events/ll_cache_miss_rd")) != "" {
				const read = unix.PERF_COUNT_HW_CACHE_LL | unix.PERF_COUNT_HW_CACHE_OP_READ<<8
				return lastLevelEvents{source: "perf_event LL_CACHE_RD",
					misses: unix.PerfEventAttr{Type: unix.PERF_TYPE_HW_CACHE,
						Config: read | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16},
					references: unix.PerfEventAttr{Type: unix.PERF_TYPE_HW_CACHE,
						Config: read | unix.PERF_COUNT_HW_CACHE_RESULT_ACCESS<<16}}, nil
			}
		case e.Name() == "amd_l3":
			return lastLevelEvents{},
				errors.New("this processor's CPUs count misses of their L2; those of the L3 are " +
					"counted beside it (amd_l3)")
		}
	}
	return lastLevelEvents{}, errors.New("this processor, or the virtual machine, has no counter of its " +
		"last-level cache (ls /sys/bus/event_source/devices)")
}

// LastLevelBytes adds up the L3 caches of the machine, each once; 0: it has none, or nobody tells.
func LastLevelBytes(fs FS) (sum float64) {
	dirs, _ := filepath.Glob(fs.sysPath("devices/system/cpu/cpu[0-9]*/cache/index3"))
	seen := map[string]bool{}
	for _, dir := range dirs {
		shared := line(filepath.Join(dir, "shared_cpu_list"))
		kib, ok := strings.CutSuffix(line(filepath.Join(dir, "size")), "K")
		n, err := strconv.ParseFloat(kib, 64)
		if ok && err == nil && !seen[shared] {
			seen[shared], sum = true, sum+1024*n
		}
	}
	return sum
}

// lastLevelOfIntel reports whether the PMU's cache-misses are those of the last level.
func lastLevelOfIntel(dir string) bool {
	config, err := eventConfig(filepath.Join(dir, "format"), line(filepath.Join(dir, "events/cache-misses")))
	return err == nil && config == intelLLCMisses
}
