// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// ReadEnv describes this host: what a figure depends on besides the cell. dev
// is the interface whose driver and firmware are named, "" for none; it is
// looked up in the calling thread's network namespace. Fields that cannot be
// read stay empty; only those that every host should have are in the warnings.
// The flow's fields (Congestion, IRQCPU, AppCPU) are left to the caller.
func ReadEnv(fs FS, dev string) (measure.Env, []string) {
	env := measure.Env{
		Hostname:    line(fs.procPath("sys/kernel/hostname")),
		BootID:      line(fs.procPath("sys/kernel/random/boot_id")),
		Kernel:      line(fs.procPath("sys/kernel/osrelease")),
		CPUModel:    cpuModel(fs),
		Mitigations: mitigations(fs),
		Dev:         dev,
		GoVersion:   runtime.Version(),
	}
	var warnings []string
	online, err := OnlineCPUs(fs)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	if err := kernelfile.Check(fs.procPath("cpuinfo")); kernelfile.IsNotKernels(err) {
		warnings = append(warnings, "the processor's model is not known: "+mounted(err).Error())
	}
	env.CPUs, env.Governor = len(online), governor(fs, online)
	if dev == "" {
		return env, warnings
	}
	env.Driver, env.Firmware, err = DriverInfo(dev)
	if err != nil {
		warnings = append(warnings, err.Error())
	}
	return env, warnings
}

// ReadEnvOf does what [ReadEnv] does, for one interface or several: their names stand in order,
// separated by commas, and what their drivers are called and have is joined by "+" where it
// differs.
func ReadEnvOf(fs FS, devs ...string) (measure.Env, []string) {
	env, warnings := ReadEnv(fs, devs[0])
	if len(devs) == 1 {
		return env, warnings
	}
	drivers, firmware := []string{env.Driver}, []string{env.Firmware}
	for _, dev := range devs[1:] {
		driver, version, err := DriverInfo(dev)
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		drivers, firmware = append(drivers, driver), append(firmware, version)
	}
	env.Dev, env.Driver, env.Firmware = strings.Join(devs, ","), measure.Joined(drivers), measure.Joined(firmware)
	return env, warnings
}

// OnlineCPUs lists the machine's CPUs that are online: /sys/devices/system/cpu/online. Where
// lxcfs has put the list of a container at its place, the CPUs' own folders say it, and where
// these are covered too, the rows of /proc/net/softnet_stat.
func OnlineCPUs(fs FS) ([]int, error) {
	b, err := kernelfile.ReadFile(fs.sysPath("devices/system/cpu/online"))
	if kernelfile.IsNotKernels(err) {
		for _, ask := range []func(FS) []int{onlineFolders, onlineRows} {
			if cpus := ask(fs); len(cpus) > 0 {
				return cpus, nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list online cpus: %w", mounted(err))
	}
	cpus, err := ParseCPUList(string(b))
	if err != nil {
		return nil, fmt.Errorf("list online cpus: %w", err)
	}
	return cpus, nil
}

// onlineFolders lists the CPUs whose folders say that they are online. A CPU that can be switched
// off has a file for that (drivers/base/cpu.c: cpu_subsys_online), and the folder topology is there
// only while it is on (drivers/base/topology.c: topology_add_dev).
func onlineFolders(fs FS) (cpus []int) {
	dirs, _ := filepath.Glob(fs.sysPath("devices/system/cpu/cpu[0-9]*"))
	for _, d := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "cpu"))
		if err != nil || line(filepath.Join(d, "online")) == "0" {
			continue
		}
		if kernelfile.Check(filepath.Join(d, "topology/thread_siblings_list")) == nil {
			cpus = append(cpus, n)
		}
	}
	slices.Sort(cpus)
	return cpus
}

// onlineRows lists the CPUs that have a row of softnet counters, which names its CPU since Linux
// 5.10 (net/core/net-procfs.c: softnet_get_online, softnet_seq_show).
func onlineRows(fs FS) (cpus []int) {
	const index = 13 // the column, from 1
	rows, _ := ReadSoftnet(fs)
	for _, r := range rows {
		if r.Width >= index {
			cpus = append(cpus, int(r.Index))
		}
	}
	return cpus
}

// cpuModel reads the model name of the first CPU, or that of the board where /proc/cpuinfo has no
// model name (arm64).
func cpuModel(fs FS) string {
	if p, err := fs.procfs("cpuinfo"); err == nil {
		if infos, err := p.CPUInfo(); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
			return infos[0].ModelName
		}
	}
	return strings.TrimRight(line(fs.sysPath("firmware/devicetree/base/model")), "\x00")
}

// governor names the cpufreq governors in use, joined by "+" where CPUs differ;
// "" on a host without cpufreq.
func governor(fs FS, cpus []int) string {
	var names []string
	for _, c := range cpus {
		g := line(fs.sysPath("devices/system/cpu", fmt.Sprintf("cpu%d", c), "cpufreq/scaling_governor"))
		if g != "" && !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "+")
}

// mitigations sums up /sys/devices/system/cpu/vulnerabilities and what the
// command line asked for: "mitigations=auto; mitigated: retbleed spectre_v1;
// vulnerable: mds". "not affected" is a CPU without any; "" is not known.
func mitigations(fs FS) string {
	var parts []string
	for w := range strings.FieldsSeq(line(fs.procPath("cmdline"))) {
		if strings.HasPrefix(w, "mitigations=") {
			parts = append(parts, w)
		}
	}
	files, err := filepath.Glob(fs.sysPath("devices/system/cpu/vulnerabilities/*"))
	if err != nil || len(files) == 0 {
		return strings.Join(parts, "; ")
	}
	var mitigated, vulnerable []string
	for _, f := range files { // Glob sorts
		switch s := line(f); {
		case strings.Contains(s, "ulnerable"): // also "Mitigation: ...; BHI: Vulnerable"
			vulnerable = append(vulnerable, filepath.Base(f))
		case strings.Contains(s, "Mitigation"):
			mitigated = append(mitigated, filepath.Base(f))
		}
	}
	if mitigated != nil {
		parts = append(parts, "mitigated: "+strings.Join(mitigated, " "))
	}
	if vulnerable != nil {
		parts = append(parts, "vulnerable: "+strings.Join(vulnerable, " "))
	}
	if mitigated == nil && vulnerable == nil {
		parts = append(parts, "not affected")
	}
	return strings.Join(parts, "; ")
}

// DriverInfo names an interface's driver and firmware (ETHTOOL_GDRVINFO,
// net/ethtool/ioctl.c). Firmware is "" where the driver reports none. It fails
// with ENODEV for no such interface and EOPNOTSUPP for a driver without ethtool.
func DriverInfo(dev string) (driver, firmware string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", "", fmt.Errorf("read driver of %s: %w", dev, err)
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, dev)
	if err != nil {
		return "", "", fmt.Errorf("read driver of %s: %w: name an interface with ethtool support", dev, err)
	}
	firmware = unix.ByteSliceToString(info.Fw_version[:])
	if firmware == "N/A" {
		firmware = ""
	}
	return unix.ByteSliceToString(info.Driver[:]), firmware, nil
}
