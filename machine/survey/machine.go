// SPDX-License-Identifier: MIT

package survey

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/cpuclass"
)

// firmware are the files of /sys/class/dmi/id that are no serial number, UUID or asset tag.
var firmware = []string{"sys_vendor", "product_name", "product_version", "product_family", "product_sku",
	"board_vendor", "board_name", "board_version",
	"bios_vendor", "bios_version", "bios_date", "bios_release", "ec_firmware_release", "chassis_type"}

func (f *facts) machine() {
	fs := f.fs
	for _, name := range firmware {
		f.file("dmi/"+name, fs.sys("class/dmi/id", name))
	}
	f.add("dmi/model", strings.TrimRight(text(fs.sys("firmware/devicetree/base/model")), "\x00"))
	f.dimms()
	for line := range strings.Lines(text(fs.proc("meminfo"))) {
		if v, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			f.add("ram/total", v)
		}
	}
	f.file("machine/hypervisor", fs.sys("hypervisor/type"))
	units, _ := filepath.Glob(fs.sys("class/iommu/*"))
	var kinds []string
	for _, u := range units {
		kinds = append(kinds, strings.TrimRight(filepath.Base(u), "0123456789"))
	}
	f.add("iommu/units", distinct(kinds))
	types, _ := filepath.Glob(fs.sys("kernel/iommu_groups/*/type"))
	var modes []string
	for _, t := range types {
		modes = append(modes, text(t))
	}
	f.add("iommu/modes", distinct(modes))
}

// processor adds what the CPUs are, and what was decided about them when the host came up.
func (f *facts) processor() {
	fs := f.fs
	first, _, _ := strings.Cut(string(read(fs.proc("cpuinfo"), mostTable)), "\n\n")
	for line := range strings.Lines(first) {
		name, value, _ := strings.Cut(line, ":")
		switch name = strings.TrimSpace(name); name {
		case "vendor_id", "cpu family", "model", "model name", "stepping", "cache size", "CPU implementer", "CPU part",
			"CPU revision", "CPU variant":
			f.add("cpu/"+name, value)
		case "flags", "Features":
			if strings.Contains(" "+value+" ", " hypervisor ") {
				f.add("machine/virtual", "yes")
			}
		}
	}
	cpus, _ := numbered(fs.sys("devices/system/cpu/cpu[0-9]*"), "cpu")
	var microcode, siblings []string
	for _, c := range cpus {
		microcode = append(microcode, text(filepath.Join(c, "microcode/version")))
		siblings = append(siblings, text(filepath.Join(c, "topology/thread_siblings_list")))
	}
	if f.add("cpu/microcode", distinct(microcode)); distinct(microcode) == "" {
		for line := range strings.Lines(first) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "microcode" {
				f.add("cpu/microcode", value)
			}
		}
	}
	f.file("cpu/online", fs.sys("devices/system/cpu/online"))
	f.add("cpu/threads of a core", distinct(siblings))
	f.add("cpu/classes", cpuclass.String(cpuclass.Read(fs.Sys)))
	f.file("cpu/smt control", fs.sys("devices/system/cpu/smt/control"))
	f.file("cpu/smt active", fs.sys("devices/system/cpu/smt/active"))
	holes, _ := filepath.Glob(fs.sys("devices/system/cpu/vulnerabilities/*"))
	for _, h := range holes {
		f.file("cpu/vulnerability "+filepath.Base(h), h)
	}
}

// perCPU are the files of each CPU that say how fast it may go; most hosts have the same of all.
var perCPU = map[string]string{
	"cpufreq/driver":                  "cpufreq/scaling_driver",
	"cpufreq/governor":                "cpufreq/scaling_governor",
	"cpufreq/energy preference":       "cpufreq/energy_performance_preference",
	"cpufreq/least kHz":               "cpufreq/scaling_min_freq",
	"cpufreq/most kHz":                "cpufreq/scaling_max_freq",
	"cpufreq/hardware's most kHz":     "cpufreq/cpuinfo_max_freq",
	"cpufreq/energy-performance bias": "power/energy_perf_bias",
}

// frequency adds what decides about the CPUs' clocks and sleep.
func (f *facts) frequency() {
	fs := f.fs
	cpu := func(elem ...string) string { return fs.sys(append([]string{"devices/system/cpu"}, elem...)...) }
	cpus, _ := numbered(cpu("cpu[0-9]*"), "cpu")
	for name, file := range perCPU {
		var values []string
		for _, c := range cpus {
			values = append(values, text(filepath.Join(c, file)))
		}
		f.add(name, distinct(values))
	}
	f.file("cpufreq/boost", cpu("cpufreq/boost"))
	f.file("cpufreq/intel_pstate status", cpu("intel_pstate/status"))
	f.file("cpufreq/intel_pstate no_turbo", cpu("intel_pstate/no_turbo"))
	f.file("cpufreq/intel_pstate max_perf_pct", cpu("intel_pstate/max_perf_pct"))
	f.file("cpufreq/intel_pstate min_perf_pct", cpu("intel_pstate/min_perf_pct"))
	f.file("cpufreq/amd_pstate status", cpu("amd_pstate/status"))
	f.file("cpufreq/amd_pstate prefcore", cpu("amd_pstate/prefcore"))
	f.file("cpufreq/idle driver", cpu("cpuidle/current_driver"))
	f.file("cpufreq/idle governor", cpu("cpuidle/current_governor"))
	off := map[string][]string{}
	for _, c := range cpus {
		states, _ := numbered(filepath.Join(c, "cpuidle/state[0-9]*"), "state")
		for _, s := range states {
			name := text(filepath.Join(s, "name"))
			off[name] = append(off[name], text(filepath.Join(s, "disable")))
		}
	}
	for name, values := range off {
		f.add("cpufreq/idle state "+name+" disabled", distinct(values))
	}
}

// memory adds how the kernel hands out memory.
func (f *facts) memory() {
	fs := f.fs
	mm := fs.sys("kernel/mm")
	for _, name := range []string{"enabled", "defrag", "shmem_enabled", "use_zero_page", "khugepaged/defrag",
		"khugepaged/scan_sleep_millisecs"} {
		f.add("memory/transparent_hugepage "+name, chosen(text(filepath.Join(mm, "transparent_hugepage", name))))
	}
	sizes, _ := filepath.Glob(filepath.Join(mm, "transparent_hugepage/hugepages-*kB/enabled"))
	for _, s := range sizes {
		f.add("memory/transparent_hugepage "+filepath.Base(filepath.Dir(s)), chosen(text(s)))
	}
	pools, _ := filepath.Glob(filepath.Join(mm, "hugepages/hugepages-*kB"))
	for _, p := range pools {
		f.file("memory/"+filepath.Base(p), filepath.Join(p, "nr_hugepages"))
	}
	f.file("memory/ksm", filepath.Join(mm, "ksm/run"))
	f.file("memory/lru_gen", filepath.Join(mm, "lru_gen/enabled"))
}

// chosen extracts the word in brackets from a file that lists all there are.
func chosen(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		if word, _, ok := strings.Cut(rest, "]"); ok {
			return word
		}
	}
	return s
}

// numa adds which memory is near which CPUs.
func (f *facts) numa() {
	paths, nodes := numbered(f.fs.sys("devices/system/node/node[0-9]*"), "node")
	if len(nodes) > 0 {
		f.add("numa/nodes", strconv.Itoa(len(nodes)))
	}
	for i, p := range paths {
		name := fmt.Sprintf("numa/node %d ", nodes[i])
		f.file(name+"CPUs", filepath.Join(p, "cpulist"))
		f.file(name+"distances", filepath.Join(p, "distance"))
		for line := range strings.Lines(text(filepath.Join(p, "meminfo"))) {
			if _, v, ok := strings.Cut(line, "MemTotal:"); ok {
				f.add(name+"memory", v)
			}
		}
	}
}
