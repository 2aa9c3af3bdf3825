// SPDX-License-Identifier: MIT

package place

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Near lists the CPUs of the NUMA node of an interface, one of each core, in
// order, of those that this process was started on and may use. An interface without
// hardware, on a machine of one node, or of which nothing is known (nil), is near to all
// of them.
func Near(d *nic.Device) ([]int, error) {
	a, _ := AllowedCPUs() // of more CPUs than can be asked for, all are taken
	return near("/sys", localCPUs(d), a.Own...)
}

// localCPUs reads the list of the CPUs of an interface's node, "" where it has none.
func localCPUs(d *nic.Device) string {
	if d == nil {
		return ""
	}
	list, err := d.SysFile("device/local_cpulist")
	if errors.Is(err, unix.EPERM) { // the namespace's sysfs is for root only: the machine's has to do
		b, _ := kernelfile.ReadFile(filepath.Join("/sys/class/net", d.Name, "device/local_cpulist"))
		list = string(b)
	}
	return list
}

func near(root, node string, own ...int) ([]int, error) {
	all := own // which the kernel told this process; a file may be a container's
	online, err := readCPUs(filepath.Join(root, "devices/system/cpu/online"))
	if here := both(own, online); err == nil && len(here) > 0 { // one may have gone since
		all = here
	}
	if len(own) == 0 {
		if all = online; err != nil {
			return nil, fmt.Errorf("list the CPUs that are online: %w", err)
		}
	}
	if local, err := counter.ParseCPUList(node); err == nil {
		if here := both(all, local); len(here) > 0 {
			all = here
		}
	}
	out := slices.DeleteFunc(slices.Clone(all), func(c int) bool {
		threads, _ := readCPUs(filepath.Join(root, fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list",
			c)))
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
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return counter.ParseCPUList(string(b))
}
