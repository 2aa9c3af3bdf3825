// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// window reads the two fixtures as ends of a window of two seconds, in which a
// CPU has 200 ticks.
func window(t *testing.T) (before, after CPUSnapshot) {
	t.Helper()
	before, err := ReadCPU(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	if after, err = ReadCPU(fixture(t, "after")); err != nil {
		t.Fatal(err)
	}
	before.AtNs, after.AtNs = 5e9, 7e9
	before.ReadNs, after.ReadNs = 0, 0
	before.SampledIdle, after.SampledIdle = false, false
	return before, after
}

func TestUsageFooledColumns(t *testing.T) {
	before, after := window(t)
	u := Usage(before, after, []int{0})
	// idle +90, iowait +10: busy 100 of 200 ticks; columns saw 4 + 10 + 6.
	value(t, "busy", u.BusyCores, 0.5)
	value(t, "app", u.AppCores, 0.5*4/20)
	value(t, "sys", u.SysCores, 0.5*10/20)
	value(t, "soft", u.SoftCores, 0.5*6/20)
	value(t, "iowait", u.IOWaitCores, 0.05)
	value(t, "coverage", u.Coverage, 0.6)
	if !near(u.UncertaintyCores, 0.01) || u.SplitTicks != 20 || u.WallS != 2 {
		t.Errorf("uncertainty %v, ticks %d, wall %v; want 0.01, 20, 2", u.UncertaintyCores, u.SplitTicks, u.WallS)
	}
	if want := "CPU 0: the columns cover 0.60 of the wall clock: the split is an estimate"; u.Quality() != want {
		t.Errorf("quality %q, want %q", u.Quality(), want)
	}
}

func TestUsageIOWaitFell(t *testing.T) {
	before, after := window(t)
	u := Usage(before, after, []int{1})
	value(t, "busy", u.BusyCores, 0.25)
	value(t, "iowait", u.IOWaitCores, 0)
	if want := "iowait fell by 5 ticks"; !strings.Contains(u.Quality(), want) {
		t.Errorf("quality %q lacks %q", u.Quality(), want)
	}
}

func TestUsageHotplug(t *testing.T) {
	before, after := window(t)
	u := Usage(before, after, nil)
	flags := map[int]string{
		2: "CPU 2 went offline in the window",
		3: "CPU 3: idle fell by 29900 ticks: it was offline in the window",
		4: "CPU 4 came online in the window",
	}
	if len(u.PerCPU) != 5 {
		t.Fatalf("%d CPUs, want 5", len(u.PerCPU))
	}
	for _, c := range u.PerCPU {
		if want, bad := flags[c.CPU]; bad && (c.Quality() != want || c.BusyCores != nil || c.AppCores != nil ||
			c.Coverage != nil) {
			t.Errorf("CPU %d: %q %+v, want no figures and %q", c.CPU, c.Quality(), c.CPUFigures, want)
		}
	}
	value(t, "busy of the two that stayed", u.BusyCores, 0.75)
	for _, want := range flags {
		if !strings.Contains(u.Quality(), want) {
			t.Errorf("quality %q lacks %q", u.Quality(), want)
		}
	}
	if u := Usage(before, after, []int{9}); u.BusyCores != nil || u.PerCPU[0].Quality() != "CPU 9 is not online" {
		t.Errorf("CPU 9: %+v", u)
	}
}

func TestUsageTable(t *testing.T) {
	base := CPUTicks{CPU: 0, User: 100, Nice: 5, System: 100, Idle: 1000, IOWait: 50, SoftIRQ: 10, Steal: 5}
	const unknown = -1.0
	tests := []struct {
		name                 string
		change               func(*CPUTicks)
		busy, app, sys, soft float64
		flag                 string
	}{
		{"idle", func(c *CPUTicks) { c.Idle += 100 }, 0, 0, 0, 0, ""},
		{"all user", func(c *CPUTicks) { c.User += 60; c.Nice += 40 }, 1, 1, 0, 0, ""},
		{"no tick saw it", func(c *CPUTicks) { c.Idle += 60 }, 0.4, unknown, unknown, unknown, "app/sys/soft unknown"},
		{"rounding is not a load", func(c *CPUTicks) { c.Idle += 99 }, 0.01, unknown, unknown, unknown, ""},
		{"columns over-count", func(c *CPUTicks) { c.Idle += 50; c.User += 100 }, 0.5, 0.5, 0, 0, "columns cover 1.50"},
		{"idle too long", func(c *CPUTicks) { c.Idle += 120 }, unknown, unknown, unknown, unknown,
			"longer than the wall clock"},
		{"nothing moves", func(*CPUTicks) {}, unknown, unknown, unknown, unknown, "no column moved"},
		{"stolen", func(c *CPUTicks) { c.Idle += 50; c.User += 30; c.Steal += 20 }, 0.5, 0.5, 0, 0,
			"stolen by the hypervisor"},
		{"a column fell", func(c *CPUTicks) { c.Idle += 50; c.User -= 10; c.System += 50 }, 0.5, 0, 0.5, 0,
			"column fell"},
		{"irq is soft", func(c *CPUTicks) { c.Idle += 50; c.IRQ += 10; c.SoftIRQ += 40 }, 0.5, 0, 0, 0.5, ""},
		{"idle steps back a little", func(c *CPUTicks) { c.Idle -= 2; c.User += 100 }, 1, 1, 0, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after := base
			tt.change(&after)
			u := Usage(CPUSnapshot{AtNs: 1, CPUs: []CPUTicks{base}},
				CPUSnapshot{AtNs: 1e9 + 1, CPUs: []CPUTicks{after}}, nil)
			for _, f := range []struct {
				what string
				got  *float64
				want float64
			}{{"busy", u.BusyCores, tt.busy}, {"app", u.AppCores, tt.app}, {"sys", u.SysCores, tt.sys},
				{"soft", u.SoftCores, tt.soft}} {
				if f.want == unknown {
					if f.got != nil {
						t.Errorf("%s = %v, want not measured", f.what, *f.got)
					}
					continue
				}
				value(t, f.what, f.got, f.want)
			}
			if (tt.flag == "") != (u.Quality() == "") || !strings.Contains(u.Quality(), tt.flag) {
				t.Errorf("quality %q, want %q", u.Quality(), tt.flag)
			}
		})
	}
}

func TestUsageShortWindow(t *testing.T) {
	b := CPUTicks{Idle: 100}
	a := CPUTicks{Idle: 105, User: 5}
	u := Usage(CPUSnapshot{AtNs: 0, CPUs: []CPUTicks{b}}, CPUSnapshot{AtNs: 1e8, CPUs: []CPUTicks{a}}, nil)
	if !near(u.UncertaintyCores, 0.1) ||
		!strings.Contains(u.Quality(), "its busy time is known to 10.0 % of the window") {
		t.Errorf("uncertainty %v, quality %q", u.UncertaintyCores, u.Quality())
	}
	if u := Usage(CPUSnapshot{AtNs: 5}, CPUSnapshot{AtNs: 5}, nil); u.BusyCores != nil || u.Quality() == "" {
		t.Errorf("empty window: %+v", u)
	}
}

// Of two CPUs one has busy time that no tick saw. While it is little, the sum
// takes the other's proportions; else the sum has none.
func TestUsageSumSplit(t *testing.T) {
	for _, tt := range []struct {
		hidden uint64 // ticks out of 200
		known  bool
	}{{10, true}, {80, false}} {
		b := []CPUTicks{{CPU: 0, Idle: 1000}, {CPU: 1, Idle: 1000}}
		a := []CPUTicks{{CPU: 0, Idle: 1000, User: 100, System: 100}, {CPU: 1, Idle: 1200 - tt.hidden}}
		u := Usage(CPUSnapshot{AtNs: 0, CPUs: b}, CPUSnapshot{AtNs: 2e9, CPUs: a}, nil)
		if (u.AppCores != nil) != tt.known {
			t.Errorf("hidden %d: app %v", tt.hidden, u.AppCores)
		}
		if tt.known && !near(*u.AppCores+*u.SysCores+*u.SoftCores, *u.BusyCores) {
			t.Errorf("hidden %d: the parts do not sum to busy", tt.hidden)
		}
	}
}

func TestReadCPU(t *testing.T) {
	s, err := ReadCPU(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	want := CPUTicks{CPU: 1, User: 1000, System: 500, Idle: 20000, IOWait: 400, SoftIRQ: 100, Steal: 10}
	if diff := cmp.Diff(want, s.CPUs[1]); diff != "" {
		t.Errorf("cpu1 (-want +got):\n%s", diff)
	}
	if s.SampledIdle {
		t.Error("idle is measured on this host")
	}
	if s, err = ReadCPU(fixture(t, "after")); err != nil || !s.SampledIdle {
		t.Errorf("nohz=off was not seen (%v)", err)
	}
	if u := Usage(s, CPUSnapshot{AtNs: s.AtNs + 1e9, CPUs: s.CPUs}, nil); !strings.Contains(u.Quality(),
		"idle time is sampled by ticks (nohz or highres is off): busy is no more exact than the columns") {
		t.Errorf("quality %q", u.Quality())
	}
	if _, err := ReadCPU(FS{proc: "testdata", sys: "testdata"}); err == nil {
		t.Error("a folder without stat did not fail")
	}
}

func TestReadCPUHere(t *testing.T) {
	a, err := ReadCPU(FS{})
	if err != nil {
		t.Fatal(err)
	}
	online, err := OnlineCPUs(FS{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(online, union(a.CPUs, nil)); diff != "" {
		t.Errorf("CPUs (-online +read):\n%s", diff)
	}
}

func TestParseStatRefuses(t *testing.T) {
	for _, s := range []string{
		"cpu0 1 2 3\n", "cpux 1 2 3 4 5 6 7 8\n", "cpu0 1 2 3 4 5 6 7 -8\n",
		"cpu0 1 2 3 4 5 6 7 18446744073709551616\n", "cpu99999999 1 2 3 4 5 6 7 8\n",
	} {
		if got, err := parseStat([]byte(s), nil); err == nil {
			t.Errorf("%q gave %+v", s, got)
		}
	}
	if got, err := parseStat([]byte("cpu0 1 2 3 4 5 6 7 18446744073709551615 9 9\nintr 1"), nil); err != nil ||
		got[0].Steal != 1<<64-1 {
		t.Errorf("largest number: %+v %v", got, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n"))
	f.Add([]byte("cpu0 1 2 3"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, err := parseStat(b, nil)
		for _, c := range ts {
			if c.CPU < 0 {
				t.Errorf("CPU %d", c.CPU)
			}
		}
		if err == nil && len(ts) > len(b) {
			t.Error("more CPUs than bytes")
		}
	})
}

// What a hypervisor took of a busy CPU is in its busy time, and is nobody's work here: the figure
// is known no better than that.
func TestStolenTimeIsUncertain(t *testing.T) {
	for _, x := range []struct {
		steal uint64
		want  float64 // of ten seconds
	}{{0, .01 / 10 / math.Sqrt(3)}, {200, math.Hypot(.01/10, .2) / math.Sqrt(3)}} {
		before := CPUSnapshot{AtNs: 1e9, CPUs: []CPUTicks{{CPU: 0, User: 100, Idle: 1000}}}
		after := CPUSnapshot{AtNs: 11e9, CPUs: []CPUTicks{{CPU: 0, User: 700 - x.steal, Idle: 1400, Steal: x.steal}}}
		u := Usage(before, after, []int{0})
		value(t, "busy", u.BusyCores, .6)
		if got := u.StandardUncertainty(); !near(got, x.want) {
			t.Errorf("%d ticks stolen: known to %g cores, want %g", x.steal, got, x.want)
		}
	}
}
