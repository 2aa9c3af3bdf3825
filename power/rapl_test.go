// SPDX-License-Identifier: MIT

package power

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// powercap makes a tree as drivers/powercap makes it: two packages with
// sub-zones, the platform's zone, and the packages again through MMIO.
func powercap(t testing.TB, limit int64) string {
	t.Helper()
	root := t.TempDir()
	zones := map[string]string{
		"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram",
		"intel-rapl:1": "package-1", "intel-rapl:1:0": "core", "intel-rapl:1:1": "dram",
		"intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0",
	}
	for _, dir := range []string{"intel-rapl", "intel-rapl-mmio"} {
		write(t, filepath.Join(root, dir, "enabled"), "1\n")
	}
	for z, name := range zones {
		write(t, filepath.Join(root, z, "name"), name+"\n")
		write(t, filepath.Join(root, z, "max_energy_range_uj"), strconv.FormatInt(limit, 10)+"\n")
		energy := "0\n"
		if name == "dram" {
			energy = "5\n"
		}
		write(t, filepath.Join(root, z, "energy_uj"), energy)
	}
	return root
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// energy over two wraps is exact, each zone has its own, and nothing is counted
// twice.
func TestRAPLWraps(t *testing.T) {
	const limit = 262143328850 // of real machines, uJ
	root := powercap(t, limit)
	r, err := openRAPL(root, raplUncertainty, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := strings.Join(channelNames(r.info.Channels),
		" "); got != "package_0 package_0_core package_0_dram package_1 package_1_core package_1_dram psys" {
		t.Errorf("channels %q", got)
	}
	now := int64(0)
	r.now = func() int64 { return now }
	tr := Trace{Info: r.Info(), Interval: 100e6}
	const step = 20_000_000_123 // uJ a step: 2 kW for 10 s
	const steps = 30            // 6e11 uJ: two wraps of the range
	wraps := 0
	for k := range int64(steps + 1) {
		for i, zone := range []string{"intel-rapl:0", "intel-rapl:1"} {
			e := k*step/int64(i+1) + 7
			if i == 0 && k > 0 && e%limit < (e-step)%limit {
				wraps++
			}
			write(t, filepath.Join(root, zone, "energy_uj"), strconv.FormatInt(e%limit, 10)+"\n")
			write(t, filepath.Join(root, zone+":0", "energy_uj"), strconv.FormatInt(k*step/4%limit, 10)+"\n")
			write(t, filepath.Join(root, zone+":1", "energy_uj"), strconv.FormatInt((5+k*step/8)%limit, 10)+"\n")
		}
		write(t, filepath.Join(root, "intel-rapl:2", "energy_uj"), strconv.FormatInt(k*step*3/2%limit, 10)+"\n")
		v := make([]int64, len(tr.Info.Channels))
		if err := r.Read(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		tr.Samples = append(tr.Samples, sample{AtNs: now, V: v})
		now += 10 * second
	}
	if wraps != 2 {
		t.Fatalf("the trace has %d wraps", wraps)
	}
	last := (steps) * 10 * second
	for c, want := range map[int]int64{0: steps * step, 3: steps * step / 2, 1: steps * step / 4} {
		uj, over, err := tr.energy(c, 0, last)
		if err != nil || uj != want || int64(over) != last {
			t.Errorf("%s: %d uJ over %v, %v; want exactly %d", tr.Info.Channels[c].Name, uj, over, err, want)
		}
	}
	sum, err := tr.Sum(0, last)
	if want := float64(steps*step+steps*step/2+2*(steps*step/8)) / 1e6 / 300; err != nil ||
		math.Abs(sum.Watts-want) > 1e-9 || tr.Info.Scope != scopeMemory {
		t.Errorf("sum %v W of %s, %v; want %v: the packages, their memory, and nothing else", sum.Watts, tr.Info.Scope,
			err, want)
	}
}

// Memory is in the sum, and the scope says so, where each package counts it; else in
// none. Who compares with a host that does not count it asks for the packages alone.
func TestRAPLMemory(t *testing.T) {
	const limit = 262143328850
	for name, c := range map[string]struct {
		spoil  func(root string)
		option string
		scope  Scope
		summed string
		say    string
	}{
		"each package counts it": {nil, "", scopeMemory, "package_0 package_0_dram package_1 package_1_dram", ""},
		"the packages are asked": {nil, "&scope=package", ScopePackage, "package_0 package_1", ""},
		"both are asked": {nil, "&scope=package-dram", scopeMemory,
			"package_0 package_0_dram package_1 package_1_dram", ""},
		"one package lacks it": {func(root string) { os.RemoveAll(filepath.Join(root, "intel-rapl:1:1")) }, "",
			ScopePackage, "package_0 package_1", ""},
		"one lacks it, and must not": {func(root string) { os.RemoveAll(filepath.Join(root, "intel-rapl:1:1")) },
			"&scope=package-dram", "", "", "package_1 has no memory zone"},
		"one has never counted": {func(root string) {
			os.WriteFile(filepath.Join(root, "intel-rapl:0:1", "energy_uj"), []byte("0\n"), 0o644)
		}, "", ScopePackage, "package_0 package_1", ""},
		"never, and must": {func(root string) {
			os.WriteFile(filepath.Join(root, "intel-rapl:0:1", "energy_uj"), []byte("0\n"), 0o644)
		}, "&scope=package-dram", "", "", "the memory of package 0 is not counted"},
	} {
		t.Run(name, func(t *testing.T) {
			root := powercap(t, limit)
			if c.spoil != nil {
				c.spoil(root)
			}
			spec, err := ParseSpec("rapl?root=" + root + c.option)
			if err != nil {
				t.Fatal(err)
			}
			src, err := Open(spec)
			if c.say != "" {
				if u := (*unavailable)(nil); !errors.As(err, &u) || !strings.Contains(err.Error(), c.say) ||
					!strings.Contains(u.Fix(), "scope=package") {
					t.Errorf("%v; want %q", err, c.say)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			var summed []string
			for _, ch := range src.Info().Channels {
				if !ch.Part {
					summed = append(summed, ch.Name)
				}
			}
			if got := strings.Join(summed, " "); got != c.summed || src.Info().Scope != c.scope {
				t.Errorf("the sum of %s is that of %q; want %s, %q", src.Info().Scope, got, c.scope, c.summed)
			}
		})
	}
	if _, err := ParseSpec("rapl?scope=wall"); err == nil ||
		!strings.Contains(err.Error(), `scope "wall": want package or package-dram`) {
		t.Errorf("%v", err)
	}
}

func TestRAPLFaults(t *testing.T) {
	const limit = 65712999613
	for name, tt := range map[string]struct {
		second int64 // value
		after  int64 // ns
		say    string
	}{
		"set back to nothing":  {5, second / 10, "jumped"},
		"jumps ahead":          {60e9, second, "jumped"},
		"read too late":        {1000e6 + 500, 100 * second, "s: a wrap-around may have been missed"},
		"within what it can":   {1100e6, second, ""},
		"late but cannot wrap": {1100e6, 15 * second, ""},
	} {
		z := raplZone{max: limit}
		if err := z.add(1000e6, 0); err != nil {
			t.Fatal(err)
		}
		err := z.add(tt.second, tt.after)
		if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
			t.Errorf("%s: %v, want %q", name, err, tt.say)
		}
	}
	root := powercap(t, limit)
	r, err := openRAPL(root, raplUncertainty, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	write(t, filepath.Join(root, "intel-rapl:1", "energy_uj"), "garbage\n")
	if err := r.Read(t.Context(), make([]int64, 7)); err == nil || !strings.Contains(err.Error(), "package_1") {
		t.Errorf("garbage: %v", err)
	}
}

// energy that one zone lost in a reading that another spoils is lost all the
// same: no window spans it.
func TestRAPLGapInFailedReading(t *testing.T) {
	root := powercap(t, 65712999613)
	energy := func(zone, text string) { write(t, filepath.Join(root, zone, "energy_uj"), text+"\n") }
	src := mustOpen(t, "rapl?root="+root)
	r := &reader{src: src, limit: readTime, most: mostSamples, trace: Trace{Info: src.Info()}}
	energy("intel-rapl:0", "5000000000")
	r.read(t.Context())
	energy("intel-rapl:0", "7") // its driver was loaded anew
	energy("intel-rapl:1", "x")
	r.read(t.Context())
	energy("intel-rapl:0", "1000")
	energy("intel-rapl:1", "0")
	r.read(t.Context())
	r.read(t.Context())
	tr := r.between(0, math.MaxInt64-1)
	if len(tr.Samples) != 3 || tr.Samples[0].Gap || !tr.Samples[1].Gap || tr.Samples[2].Gap {
		t.Fatalf("%+v", tr.Samples)
	}
	if tr.Failed != 2 || !strings.Contains(tr.Failures[0].Why, "package_1") || !strings.Contains(tr.Failures[1].Why,
		"package_0: the counter jumped") {
		t.Errorf("%+v", tr.Failures)
	}
	if _, _, err := tr.energy(0, tr.Samples[0].AtNs, tr.Samples[1].AtNs); err == nil {
		t.Error("a window spans the gap")
	}
}

func TestNoRAPL(t *testing.T) {
	for _, root := range []string{"/nonexistent", t.TempDir()} {
		_, err := openRAPL(root, 0, "")
		if u := (*unavailable)(nil); !errors.As(err, &u) || u.Fix() == "" {
			t.Errorf("%s: %v", root, err)
		}
	}
}
