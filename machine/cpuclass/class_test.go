// SPDX-License-Identifier: MIT

package cpuclass

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/covered"
	"github.com/zcbench/zcbench/internal/cpulist"
	"golang.org/x/sys/unix"
)

// sys makes a host's files below /sys.
func sys(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// each gives CPUs of a list a file with a value.
func each(files map[string]string, list, file, value string) {
	cpus, _ := cpulist.Parse(list)
	for _, c := range cpus {
		files[fmt.Sprintf("devices/system/cpu/cpu%d/%s", c, file)] = value + "\n"
	}
}

// i712700KF has 8 P-cores of two threads, of which two cores are favoured, and 4 E-cores.
func i712700KF(pmu bool) map[string]string {
	files := map[string]string{"devices/system/cpu/online": "0-19\n"}
	each(files, "0-7,12-15", "cpufreq/cpuinfo_max_freq", "4900000")
	each(files, "8-11", "cpufreq/cpuinfo_max_freq", "5000000")
	each(files, "16-19", "cpufreq/cpuinfo_max_freq", "3800000")
	if pmu {
		files["bus/event_source/devices/cpu_core/cpus"], files["bus/event_source/devices/cpu_core/type"] = "0-15\n",
			"4\n"
		files["bus/event_source/devices/cpu_atom/cpus"], files["bus/event_source/devices/cpu_atom/type"] = "16-19\n",
			"10\n"
	}
	return files
}

func TestRead(t *testing.T) {
	capacities := func(lists map[string]string) map[string]string {
		files := map[string]string{"devices/system/cpu/online": "0-7\n"}
		for list, value := range lists {
			each(files, list, "cpu_capacity", value)
		}
		return files
	}
	same := map[string]string{"devices/system/cpu/online": "0-3\n"}
	each(same, "0-3", "cpu_capacity", "1024")
	each(same, "0-1", "cpufreq/cpuinfo_max_freq", "3900000")
	each(same, "2-3", "cpufreq/cpuinfo_max_freq", "3700000")
	// AMD's preferred cores, of a kernel that writes ranks as frequencies: small steps.
	steps := map[string]string{"devices/system/cpu/online": "0-7\n"}
	for c := range 8 {
		each(steps, fmt.Sprint(c), "cpufreq/cpuinfo_max_freq", fmt.Sprint(5700000-200000*c))
	}
	ultra := map[string]string{"devices/system/cpu/online": "0-21\n", // 155H: 6 P, 8 E, and 2 E on a chip of their own
		"bus/event_source/devices/cpu_core/cpus": "0-11\n", "bus/event_source/devices/cpu_atom/cpus": "12-21\n"}
	each(ultra, "0-11", "cpufreq/cpuinfo_max_freq", "4800000")
	each(ultra, "12-19", "cpufreq/cpuinfo_max_freq", "3800000")
	each(ultra, "20-21", "cpufreq/cpuinfo_max_freq", "2500000")
	partly := i712700KF(false)
	delete(partly, "devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq")
	without := map[string]string{}
	for _, c := range []int{0, 1} {
		each(without, fmt.Sprint(c), "topology/core_id", "0")
		each(without, fmt.Sprint(c), "cpu_capacity", fmt.Sprint(1024-600*c))
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"i7-12700KF":   {i712700KF(true), "cpu_core 0-15, cpu_atom 16-19"},
		"by frequency": {i712700KF(false), "5000 MHz 0-15, 3800 MHz 16-19"},
		"three kinds":  {ultra, "cpu_core 0-11, cpu_atom 3800 MHz 12-19, cpu_atom 2500 MHz 20-21"},
		"big.LITTLE": {capacities(map[string]string{"0-3": "446", "4-7": "1024"}),
			"capacity 1024 4-7, capacity 446 0-3"},
		"one prime core": {capacities(map[string]string{"0-3": "300", "4-6": "800", "7": "1024"}),
			"capacity 1024 7, capacity 800 4-6, capacity 300 0-3"},
		"capacity, favoured ones": {capacities(map[string]string{"0-1": "1009", "2-3": "1024", "4-7": "623"}),
			"capacity 1024 0-3, capacity 623 4-7"},
		"a server with turbo":     {same, ""},
		"a row of small steps":    {steps, ""},
		"one without a frequency": {partly, ""},
		"nothing said":            {map[string]string{"devices/system/cpu/online": "0-3\n"}, ""},
		"nothing there":           {nil, ""},
		"no list of online CPUs":  {without, "capacity 1024 0, capacity 424 1"},
		"only counters": {map[string]string{"bus/event_source/devices/cpu_core/cpus": "0-15\n",
			"bus/event_source/devices/cpu_atom/cpus": "16-19\n"}, "cpu_core 0-15, cpu_atom 16-19"},
		"a virtual machine's kind": {map[string]string{"devices/system/cpu/online": "0-3\n",
			"bus/event_source/devices/cpu_core/cpus": "0-3\n"}, ""},
	} {
		if got := String(Read(sys(t, c.files))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A run has CPUs of the fastest class that has two; which class CPUs are of has a name.
func TestPrefer(t *testing.T) {
	classes := Read(sys(t, i712700KF(true)))
	prime := []Class{{"a", []int{7}}, {"b", []int{4, 5, 6}}, {"c", []int{0, 1, 2, 3}}}
	for _, c := range []struct {
		classes         []Class
		cpus, use, rest []int
		of              string
	}{
		{classes, []int{0, 2, 4, 16, 17, 18}, []int{0, 2, 4}, []int{16, 17, 18}, "cpu_core+cpu_atom"},
		{classes, []int{16, 17, 18}, []int{16, 17, 18}, nil, "cpu_atom"},
		{classes, []int{0, 16, 17}, []int{16, 17}, []int{0}, "cpu_core+cpu_atom"},
		{classes, []int{0, 16}, []int{0, 16}, nil, "cpu_core+cpu_atom"},
		{prime, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{4, 5, 6}, []int{0, 1, 2, 3, 7}, "a+b+c"},
		{nil, []int{0, 1}, []int{0, 1}, nil, ""},
		{classes, nil, nil, nil, ""},
	} {
		use, rest := Prefer(c.classes, c.cpus)
		if of := Of(c.classes, c.cpus); !slices.Equal(use, c.use) || !slices.Equal(rest, c.rest) || of != c.of ||
			Mixed(of) != (of != "" && of != "cpu_atom") {
			t.Errorf("%v: %v and %v, of %q; want %v and %v, of %q", c.cpus, use, rest, of, c.use, c.rest, c.of)
		}
	}
}

// An event names the counters of its CPU's kind.
func TestEvents(t *testing.T) {
	e := ReadEvents(sys(t, i712700KF(true)))
	for cpu, want := range map[int]uint64{0: 4 << 32, 15: 4 << 32, 16: 10 << 32, 19: 10 << 32, 20: 0} {
		if got := e.Config(unix.PERF_COUNT_HW_CPU_CYCLES, cpu); got != want {
			t.Errorf("CPU %d: %#x, want %#x", cpu, got, want)
		}
		if got := e.Config(unix.PERF_COUNT_HW_INSTRUCTIONS, cpu); got != want|1 {
			t.Errorf("CPU %d: %#x, want %#x", cpu, got, want|1)
		}
	}
	if got := ReadEvents(sys(t, map[string]string{"bus/event_source/devices/cpu/type": "4\n"})).Config(7, 0); got != 7 {
		t.Errorf("elsewhere: %#x", got)
	}
}

// What stands at the place of the kernel's list of CPUs is not believed.
func TestIntegrationCovered(t *testing.T) {
	want := String(Read(""))
	covered.Run(t, map[string]string{"/sys/devices/system/cpu/online": "0-1023\n"}, func() {
		if got := String(Read("")); got != want {
			t.Errorf("%q, and %q beside a file of lxcfs", want, got)
		}
	})
}

// A folder of CPUs that is a container's tells neither which there are nor that all are alike.
func TestIntegrationCoveredFolder(t *testing.T) {
	if why := Unknown(""); why != "" {
		t.Skip(why)
	}
	covered.Run(t, map[string]string{"/sys/devices/system/cpu": ""}, func() {
		for _, dir := range []string{"cpu0/topology", "cpu1/topology"} {
			if err := os.MkdirAll(filepath.Join("/sys/devices/system/cpu", dir), 0o755); err != nil {
				t.Error(err)
			}
		}
		s := source{sys: "/sys"}
		if cpus := s.online(); cpus != nil {
			t.Errorf("a container's CPUs are online: %v", cpus)
		}
		if why := Unknown(""); Read("") == nil && why == "" {
			t.Error("nothing is known of classes, and nobody hears of it")
		}
	})
}
