// SPDX-License-Identifier: MIT

// Package cpuclass tells the CPUs of a hybrid processor apart: fast cores and small ones, such as
// Intel's P and E-cores and Arm's big.LITTLE. What work costs on one kind says nothing of the
// other.
package cpuclass

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/internal/kernelfile"
)

// Class is CPUs of one kind.
type Class struct {
	Name string // "cpu_core", "cpu_atom", "capacity 1024", "4900 MHz": one word or two
	CPUs []int
}

// pmus are the performance counters of Intel's kinds of cores, the fastest first
// (arch/x86/events/intel/core.c: intel_hybrid_pmu_type_map).
var pmus = []string{"cpu_core", "cpu_atom", "cpu_lowpower"}

// gap is how far apart two neighbours in the order of speed are, of two classes: the slower has
// less than this share of the faster one. CPUs of one kind differ by less: those that Intel's
// Turbo Boost Max 3.0 or AMD's preferred cores favour are up to 8 % faster than others of their
// kind; of two kinds by more: the P and E-cores that are nearest to each other by 16 %
// (Core Ultra 9 285K: 5.5 and 4.6 GHz).
const gap = .88

// Read reads the classes of the CPUs that are online, the fastest first; nil: all are alike, as
// far as is known. sys is a fixture's /sys; "" is the running host's. What each kind of counters
// says goes first (Intel); then the scheduler's capacity (arm64, and x86 since 6.12); then the
// highest frequency that the hardware has, whatever was set.
func Read(sys string) []Class {
	s := source{sys: cmp.Or(sys, "/sys")}
	cpus := s.online()
	frequency := s.values(cpus, "cpufreq/cpuinfo_max_freq")
	classes := s.byPMU(cpus, frequency)
	if classes == nil {
		capacity := s.values(cpus, "cpu_capacity")
		classes = parted(cpus, capacity, func(v int) string { return fmt.Sprintf("capacity %d", v) })
	}
	if classes == nil {
		classes = parted(cpus, frequency, megahertz)
	}
	return classes
}

func megahertz(khz int) string { return fmt.Sprintf("%d MHz", khz/1000) }

type source struct{ sys string }

// online lists the online CPUs; where a container covers the kernel's list, those whose topology
// the kernel shows, which it does only of online CPUs (drivers/base/topology.c); nil where the
// folder of CPUs is the container's, too: it lists others, by other numbers.
func (s *source) online() (cpus []int) {
	if cpus = s.list("devices/system/cpu/online"); cpus != nil {
		return cpus
	}
	dirs, _ := filepath.Glob(filepath.Join(s.sys, "devices/system/cpu/cpu[0-9]*/topology"))
	for _, d := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(d)), "cpu"))
		if err == nil && !kernelfile.IsNotKernels(kernelfile.Check(d)) {
			cpus = append(cpus, n)
		}
	}
	slices.Sort(cpus)
	return cpus
}

func (s *source) list(elem ...string) []int {
	b, err := kernelfile.ReadFile(filepath.Join(append([]string{s.sys}, elem...)...))
	if err != nil {
		return nil
	}
	cpus, err := cpulist.Parse(strings.TrimSpace(string(b)))
	if err != nil {
		return nil
	}
	return cpus
}

// values reads a file's numbers, by CPU; nil unless all have one.
func (s *source) values(cpus []int, file string) map[int]int {
	out := map[int]int{}
	for _, c := range cpus {
		b, err := kernelfile.ReadFile(filepath.Join(s.sys, "devices/system/cpu", fmt.Sprintf("cpu%d", c), file))
		if err != nil {
			return nil
		}
		v, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil || v <= 0 {
			return nil
		}
		out[c] = v
	}
	return out
}

// byPMU finds the classes that have counters of their own; of one whose CPUs are of several speeds,
// such as E-cores on a chip of their own, each speed is a class. Nil: not every CPU is in one. The
// counters' own lists have only online CPUs (arch/x86/events/intel/core.c: intel_pmu_cpu_dead):
// where no other list is known, they are believed.
func (s *source) byPMU(cpus []int, frequency map[int]int) (all []Class) {
	n := 0
	for _, name := range pmus {
		of := slices.DeleteFunc(s.list("bus/event_source/devices", name, "cpus"), func(c int) bool {
			return cpus != nil && !slices.Contains(cpus, c)
		})
		if len(of) == 0 {
			continue
		}
		n += len(of)
		if parts := parted(of, frequency, megahertz); parts != nil {
			for _, p := range parts {
				all = append(all, Class{name + " " + p.Name, p.CPUs})
			}
			continue
		}
		all = append(all, Class{name, of})
	}
	if len(all) < 2 || cpus != nil && n != len(cpus) {
		return nil
	}
	return all
}

// Unknown explains why nothing is known of classes; "": it is, or there are none.
func Unknown(sys string) string {
	root := filepath.Join(cmp.Or(sys, "/sys"), "devices/system/cpu")
	if err := kernelfile.Check(root); kernelfile.IsNotKernels(err) && Read(sys) == nil {
		return err.Error()
	}
	return ""
}

// parted parts CPUs by their values where these have a gap; nil: they have none.
func parted(cpus []int, values map[int]int, name func(int) string) (all []Class) {
	if values == nil {
		return nil
	}
	order := slices.Clone(cpus)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	for i, c := range order {
		if i == 0 || float64(values[c]) < gap*float64(values[order[i-1]]) {
			all = append(all, Class{Name: name(values[c])})
		}
		last := &all[len(all)-1]
		last.CPUs = append(last.CPUs, c)
	}
	if len(all) < 2 {
		return nil
	}
	for i := range all {
		slices.Sort(all[i].CPUs)
	}
	return all
}

// Of names the classes of some CPUs, the fastest first, joined by "+"; "" where all CPUs are
// alike, or none of these is known.
func Of(classes []Class, cpus []int) string {
	var names []string
	for _, c := range classes {
		if slices.ContainsFunc(cpus, func(n int) bool { return slices.Contains(c.CPUs, n) }) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, "+")
}

// Mixed reports whether names are of several classes.
func Mixed(names string) bool { return strings.Contains(names, "+") }

// Prefer parts CPUs into those that a run should use, which are of one class, and the rest: the
// fastest class of which there are two CPUs at least. Where all are alike, or no class has two,
// there is no rest.
func Prefer(classes []Class, cpus []int) (use, rest []int) {
	for _, c := range classes {
		use, rest = nil, nil
		for _, n := range cpus {
			if slices.Contains(c.CPUs, n) {
				use = append(use, n)
			} else {
				rest = append(rest, n)
			}
		}
		if len(use) > 1 {
			return use, rest
		}
	}
	return cpus, nil
}

// String lists classes, for people: "cpu_core 0-15, cpu_atom 16-19".
func String(classes []Class) string {
	var parts []string
	for _, c := range classes {
		parts = append(parts, c.Name+" "+cpulist.Format(c.CPUs))
	}
	return strings.Join(parts, ", ")
}
