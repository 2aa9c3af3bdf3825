package place

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/counter"
)

// Near lists the CPUs of the NUMA node of interface dev, one of each core, in
// order. An interface without hardware, or on a machine of one node, is near to
// all of them.
func Near(dev string) ([]int, error) {
	root := "/sys"
	if sys, err := mountSysfs(); err == nil { // not as another user than root: then the machine's has to do
		defer sys.Close()
		root = fdPath(sys)
	}
	return near(root, dev)
}

func near(root, dev string) ([]int, error) {
	all, err := readCPUs(filepath.Join(root, "devices/system/cpu/online"))
	if err != nil {
		return nil, fmt.Errorf("list the CPUs that are online: %w", err)
	}
	if local, err := readCPUs(filepath.Join(root, "class/net", dev, "device/local_cpulist")); dev != "" && err == nil {
		if here := both(all, local); len(here) > 0 {
			all = here
		}
	}
	out := slices.DeleteFunc(slices.Clone(all), func(c int) bool {
		threads, _ := readCPUs(filepath.Join(root, fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", c)))
		return slices.ContainsFunc(threads, func(t int) bool { return t < c && slices.Contains(all, t) })
	})
	if len(out) < 2 {
		out = all // a single core: its threads are all there is
	}
	return out, nil
}

func both(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(c int) bool { return !slices.Contains(b, c) })
}

func readCPUs(path string) ([]int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return counter.ParseCPUList(string(b))
}
