// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"errors"
	iofs "io/fs"
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
	"golang.org/x/sys/unix"
)

// without is what is not known where a container's file stands at the place of the kernel's.
// Nothing is made of those that are not in it, but for the list of CPUs that are online, which
// their own folders have, too.
var without = []struct{ file, what string }{
	{"/proc/stat", "CPU time is not measured, so neither what a flow costs nor the load of others is known"},
	{"/proc/meminfo", "free huge pages and the size of the memory are not known"},
	{"/proc/cpuinfo", "the processor's model is not known"},
	{"/proc/interrupts", "which interrupts serve the queues of an interface is not known, so they are not placed " +
		"(--layout)"},
	{"/sys", "interfaces, CPUs, interrupts and sensors are not known"},
	{"/sys/devices/system/cpu", "which CPUs share a core, their idle states, frequencies and throttling are not known"},
	{"/proc/loadavg", "the load before a comparison of tools is not known"},
}

// WithoutKernels lists what cannot be known without the kernel's own files of these names; "" for
// nothing.
func WithoutKernels(files []string) string {
	var out []string
	for _, w := range without {
		if slices.Contains(files, w.file) {
			out = append(out, w.what)
		}
	}
	return strings.Join(out, "; ")
}

// kernelFiles looks whether the files that figures are made of are the kernel's, and of this
// host and process.
func kernelFiles() wire.Check {
	c := wire.Check{Name: "the kernel's files",
		Needed: "procfs and sysfs themselves, of this PID namespace: lxcfs shows a container's part (docs/sources.md)",
		Status: "ok", Found: "/proc and /sys are the kernel's"}
	var found, fixes []string
	doubt := func(what, fix string) { found, fixes = append(found, what), append(fixes, fix) }
	if files := kernelfile.Covered(); len(files) > 0 {
		what := cmp.Or(WithoutKernels(files), "no figure is made of these")
		doubt("not the kernel's: "+strings.Join(files, ", ")+": "+what, "measure on the host, or umount these files")
	}
	if err := kernelfile.CheckPIDs("/proc"); err != nil {
		doubt(err.Error()+": the CPU time of threads is not measured, so the load of others is not known",
			fault.Fix(err))
	}
	if fix, what := hiddenProcesses(); what != "" {
		doubt(what, fix)
	}
	if what := uncounted(); what != "" {
		doubt(what, "measure on the host")
	}
	if found != nil {
		c.Status, c.Found, c.Fix = "warn", strings.Join(found, "; "),
			strings.Join(slices.Compact(slices.DeleteFunc(fixes, func(s string) bool { return s == "" })), "; ")
	}
	return c
}

// notTheCPUs returns an error if the folder of CPUs, or all of /sys, is not the kernel's: what is
// missing from it says nothing of this machine.
func notTheCPUs() error {
	for _, path := range []string{"/sys", "/sys/devices/system/cpu"} {
		if err := kernelfile.Check(path); kernelfile.IsNotKernels(err) {
			return err
		}
	}
	return nil
}

// hiddenProcesses finds what mount options of proc hide (fs/proc/root.c: hidepid, subset):
// whoever measures sees the files of all processes, and those that are of none.
func hiddenProcesses() (fix, what string) {
	if _, err := os.Stat("/proc/stat"); errors.Is(err, iofs.ErrNotExist) {
		return "mount -t proc proc /proc, without subset=pid",
			"/proc has no /proc/stat (subset=pid, or not mounted): runs fail"
	}
	if _, err := kernelfile.ReadFile("/proc/1/stat"); err != nil && !kernelfile.IsNotKernels(err) {
		return privilege.Fix(privilege.Machine, unix.CAP_SYS_PTRACE) + ", or mount -o remount,hidepid=0 /proc",
			"processes of others are hidden (hidepid): an irqbalance, and threads of NAPI, are not seen"
	}
	return "", ""
}

// uncounted finds CPUs that this process may use, and that /proc/stat does not have.
func uncounted() string {
	a, err := place.AllowedCPUs()
	s, serr := counter.ReadCPU(counter.FS{})
	if err != nil || serr != nil {
		return ""
	}
	has := func(cpu int) bool {
		return slices.ContainsFunc(s.CPUs, func(t counter.CPUTicks) bool { return t.CPU == cpu })
	}
	if i := slices.IndexFunc(a.Own, func(cpu int) bool { return !has(cpu) }); i >= 0 {
		return "/proc/stat has no line of CPUs that this process may use (" +
			counter.FormatCPUList(slices.DeleteFunc(slices.Clone(a.Own), has)) +
			"): it is not of this machine"
	}
	return ""
}
