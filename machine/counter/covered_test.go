// SPDX-License-Identifier: MIT

package counter

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/covered"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
)

// stale is what lxcfs shows while nothing moves, or a copy.
func stale(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// In a container /proc/stat is a file of lxcfs: there are no CPU figures, with the reason, and
// all else is measured.
func TestNoCPUFiguresOfAContainer(t *testing.T) {
	covered.Run(t, map[string]string{"/proc/stat": stale(t, "/proc/stat")}, func() {
		if _, err := ReadCPU(FS{}); !kernelfile.IsNotKernels(err) ||
			!strings.Contains(err.Error(), "measure on the host") {
			t.Errorf("%v", err)
		}
		before, err := Take(Config{CPUs: []int{0}})
		after, err2 := Take(Config{CPUs: []int{0}, End: true})
		if err != nil || err2 != nil {
			t.Errorf("no snapshot: %v, %v", err, err2)
			return
		}
		rows, c := Delta(before, after)
		h := c.Figures()
		if h.CPUBusyCores != nil || h.CPUSoftCores != nil || h.CPUAppCores != nil || h.StatCoverage != nil ||
			h.CPUBusyU != nil || h.CPUsMeasured != "" {
			t.Errorf("figures: %+v", h)
		}
		for _, m := range rows {
			if m.Source == statSource || m.Name == measure.MetricForeignCores {
				t.Errorf("%s = %v", m.Name, m.Value)
			}
		}
		if !slices.ContainsFunc(rows, func(m measure.Metric) bool { return m.Source == "/proc/softirqs" }) ||
			c.CPU.WallS <= 0 || c.Threads == nil {
			t.Errorf("what is the kernel's is not measured: %+v", rows)
		}
		for _, text := range []string{c.Unjudged, strings.Join(c.Warnings, "\n")} {
			if !strings.Contains(text, "/proc/stat is not the kernel's file") ||
				!strings.Contains(text, "measure on the host") {
				t.Errorf("no reason: %q", text)
			}
		}
	})
}

// Of each other file that such a container may cover there is nothing, and the reason.
func TestNothingOfACoveredFile(t *testing.T) {
	covered.Run(t, map[string]string{"/proc/softirqs": stale(t, "/proc/softirqs"),
		"/proc/cpuinfo": "model name : made up\n"}, func() {
		s, err := Take(Config{})
		if err != nil {
			t.Error(err)
		}
		if len(s.Softirq.NetRX()) != 0 || s.Softnet == nil || s.CPU.CPUs == nil {
			t.Errorf("softirqs %v, %d rows of softnet, %d CPUs", s.Softirq, len(s.Softnet), len(s.CPU.CPUs))
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), "/proc/softirqs is not the kernel's") {
			t.Errorf("nothing is said of it: %q", s.Warnings)
		}
		env, warnings := ReadEnv(FS{}, "")
		if env.CPUModel == "made up" || !strings.Contains(strings.Join(warnings, "\n"), "/proc/cpuinfo is not") {
			t.Errorf("%q, %q", env.CPUModel, warnings)
		}
	})
}

func TestSamplerOfAContainer(t *testing.T) {
	covered.Run(t, map[string]string{"/proc/stat": stale(t, "/proc/stat")}, func() {
		if _, err := StartSampler(SamplerConfig{}); !kernelfile.IsNotKernels(err) {
			t.Errorf("without a flow: %v", err)
		}
		s, err := StartSampler(SamplerConfig{Bytes: func() uint64 { return 7 }})
		if err != nil {
			t.Error(err)
			return
		}
		got := s.Stop(0)
		for _, x := range got.Series {
			if strings.HasPrefix(x.Name, "cpu") {
				t.Errorf("a series %s", x.Name)
			}
		}
		if len(got.Series) != 2 || len(got.Series[0].V) == 0 || got.Series[0].V[0] != 7 || len(got.Warnings) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// Which CPUs are online is in their own folders, too, and in the rows of another file.
func TestOnlineCPUsOfAContainer(t *testing.T) {
	want, err := OnlineCPUs(FS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/sys/devices/system/cpu/online", "/sys/devices/system/cpu"} {
		covered.Run(t, map[string]string{path: "4000\n"}, func() {
			// lxcfs has its own list in a folder of its own.
			f := "/sys/devices/system/cpu/online"
			if path != f {
				if err := os.WriteFile(f, []byte("4000\n"), 0o644); err != nil {
					t.Error(err)
				}
			}
			if got, err := OnlineCPUs(FS{}); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v", path, got, err, want)
			}
		})
	}
}

// Columns of other CPUs than these, or of a part of their time, are found out by the benchmark's
// own threads, whose clocks are exact.
func TestColumnsThatAreNotTheCPUs(t *testing.T) {
	for _, x := range []struct {
		name    string
		idle    uint64 // ticks of 100
		thread  ThreadDelta
		sampled bool
		want    string
	}{
		{"the container's idle", 81, ThreadDelta{CPU: 3, RunNs: 98e7}, false,
			"busy for 0.19 cores, and own threads ran there for 0.98"},
		{"right", 2, ThreadDelta{CPU: 3, RunNs: 98e7}, false, ""},
		{"others too", 2, ThreadDelta{CPU: 3, RunNs: 10e7}, false, ""},
		{"another CPU", 81, ThreadDelta{CPU: 4, RunNs: 98e7}, false, ""},
		{"anywhere", 81, ThreadDelta{CPU: -1, RunNs: 98e7}, false, ""},
		{"began meanwhile", 81, ThreadDelta{CPU: 3, RunNs: 98e7, New: true}, false, ""},
		{"idle by ticks", 81, ThreadDelta{CPU: 3, RunNs: 98e7}, true, ""},
		{"a snapshot's time", 12, ThreadDelta{CPU: 3, RunNs: 98e7}, false, ""},
	} {
		u := Usage(CPUSnapshot{AtNs: 0, SampledIdle: x.sampled, CPUs: []CPUTicks{{CPU: 3}}},
			CPUSnapshot{AtNs: 1e9, CPUs: []CPUTicks{{CPU: 3, Idle: x.idle, User: 100 - x.idle}}}, nil)
		u.disbelieve([]ThreadDelta{x.thread}, 0.06)
		if (u.BusyCores == nil) != (x.want != "") || (u.PerCPU[0].BusyCores == nil) != (x.want != "") ||
			!strings.Contains(u.Quality(), x.want) {
			t.Errorf("%s: %+v", x.name, u)
		}
		if c := (Change{CPU: u, Foreign: foreign(u, nil, 0)}); (c.unjudged() != "") != (x.want != "") {
			t.Errorf("%s: %q", x.name, c.unjudged())
		}
	}
}
