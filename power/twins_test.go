// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power/powertest"
)

// Counters of RAPL that are one, that are two, and those of which it is not known yet.

const dieRange = 65532610987 // of a Threadripper 1950X, uJ

// dies makes a tree with package zones of these names.
func dies(t testing.TB, names ...string) (root string, put func(i int, uj int64)) {
	root = t.TempDir()
	put = func(i int, uj int64) {
		write(t, filepath.Join(root, fmt.Sprintf("intel-rapl:%d", i), "energy_uj"),
			strconv.FormatInt(uj%dieRange, 10)+"\n")
	}
	for i, n := range names {
		dir := filepath.Join(root, fmt.Sprintf("intel-rapl:%d", i))
		write(t, filepath.Join(dir, "name"), n+"\n")
		write(t, filepath.Join(dir, "max_energy_range_uj"), strconv.Itoa(dieRange)+"\n")
		put(i, 0)
	}
	return root, put
}

// play reads counters that grow as at says, microjoules at a time, ten times a second.
func play(t testing.TB, root string, put func(int, int64), zones int, seconds int,
	at func(i int, ns int64) int64) (Trace, *rapl) {
	t.Helper()
	for i := range zones {
		put(i, at(i, 0))
	}
	r, err := openRAPL(root, raplUncertainty, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	now := int64(0)
	r.now = func() int64 { return now }
	tr := Trace{Interval: 100e6}
	for ; now <= int64(seconds)*second; now += 100e6 {
		for i := range zones {
			put(i, at(i, now))
		}
		v := make([]int64, len(r.info.Channels))
		if err := r.Read(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		tr.Samples = append(tr.Samples, sample{AtNs: now, V: v})
	}
	tr.Info = r.Info()
	return tr, r
}

func TestRAPLDies(t *testing.T) {
	const w = 68.0
	uj := func(watts float64, ns int64) int64 { return int64(watts * float64(ns) / 1e3) }
	jitter := func(ns int64) int64 { return ns/100e6*7919%3000*1000 - 1500e3 } // up to 1.5 ms either way
	oneDie, twoSockets := []string{"package-0-die-0", "package-0-die-1"}, []string{"package-0-die-0", "package-0-die-1",
		"package-1-die-0", "package-1-die-1"}
	for name, c := range map[string]struct {
		zones   []string
		seconds int
		at      func(i int, ns int64) int64
		want    float64 // NaN: no figure
		say     string
	}{
		"both show the socket": {oneDie, 5, func(i int, ns int64) int64 { return 4e9 + uj(w, ns) }, w,
			"package_0_die_1 shows the counter of package_0_die_0"},
		"read a moment apart": {oneDie, 5, func(i int, ns int64) int64 {
			if i == 1 {
				ns += jitter(ns)
			}
			return 4e9 + uj(w, ns)
		}, w, "again"},
		"and wrap": {oneDie, 5, func(i int, ns int64) int64 { return dieRange - 100e6 + uj(w, ns) }, w, "again"},
		"a die each": {oneDie, 5, func(i int, ns int64) int64 {
			return []int64{4e9, 7e9}[i] + uj([]float64{40, 28}[i],
				ns)
		}, 68, ""},
		"a die each, that began alike": {oneDie, 20, func(i int, ns int64) int64 {
			return 4e9 + uj([]float64{40, 39}[i], ns)
		}, 79, ""},
		"like growth, not for long": {oneDie, 20, func(i int, ns int64) int64 { return int64(4+i)*1e9 + uj(w, ns) },
			math.NaN(), "may be one counter or two"},
		"like growth, for long": {oneDie, 65, func(i int, ns int64) int64 { return int64(4+i)*1e9 + uj(w, ns) },
			w, "again"},
		"they stand still": {oneDie, 5, func(i int, ns int64) int64 { return 4e9 }, math.NaN(),
			"have not moved"},
		"two sockets of two": {twoSockets, 5, func(i int, ns int64) int64 {
			return []int64{4e9, 8e9}[i/2] + uj([]float64{68, 60}[i/2], ns)
		}, 128, "again"},
		"four dies": {twoSockets, 5, func(i int, ns int64) int64 {
			return int64(i+1)*1e9 +
				uj([]float64{31, 37, 44, 53}[i], ns)
		}, 165, ""},
		"two sockets, one counter": {[]string{"package-0", "package-1"}, 5,
			func(i int, ns int64) int64 { return 4e9 + uj(w, ns) }, w, "package_1 shows the counter of package_0"},
		"two sockets alike": {[]string{"package-0", "package-1"}, 20,
			func(i int, ns int64) int64 { return int64(1+i)*4e9 + uj(w, ns) }, 2 * w, ""},
		"two zones of one name": {[]string{"package-0", "package-0"}, 5,
			func(i int, ns int64) int64 { return 4e9 + uj(w, ns) }, w, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			root, put := dies(t, c.zones...)
			tr, _ := play(t, root, put, len(c.zones), c.seconds, c.at)
			m, err := tr.Sum(0, int64(c.seconds)*second)
			if math.IsNaN(c.want) {
				if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), "rapl?zone=") {
					t.Errorf("%v W, %v; want no figure, and %q", m.Watts, err, c.say)
				}
				return
			}
			if err != nil || math.Abs(m.Watts-c.want) > .1 {
				t.Errorf("%v W, %v; want %v", m.Watts, err, c.want)
			}
			if d := tr.Info.Device; !strings.Contains(d, c.say) || c.say == "" && strings.Contains(d, "again") {
				t.Errorf("device %q; want %q", d, c.say)
			}
		})
	}
}

// Of dies that show one counter, as of a Threadripper 1950X, the sampler counts one.
func TestRAPLDiesSampled(t *testing.T) {
	const w = 68
	s := Start([]Source{mustOpen(t, "rapl?root="+powertest.Mirrored(t, w, "package-0-die-0", "package-0-die-1"))},
		LeastInterval)
	t.Cleanup(func() { s.Close() })
	await.Until(t, "there is a figure", func() bool {
		now := counter.Monotonic()
		tr := s.Traces(now-2*second, now)[0]
		if len(tr.Samples) < 50 {
			return false
		}
		m, err := tr.Sum(tr.Samples[0].AtNs, tr.Samples[len(tr.Samples)-1].AtNs)
		if err == nil && (m.Watts < w/2 || m.Watts > w*3/2) {
			t.Fatalf("%v W, want %v", m.Watts, w)
		}
		return err == nil
	})
}

// A counter that does not count has no figure, and one that cannot be is refused.
func TestRAPLImplausible(t *testing.T) {
	root, put := dies(t, "package-0")
	tr, _ := play(t, root, put, 1, 5, func(int, int64) int64 { return 7e9 })
	if m, err := tr.Sum(0, 5*second); err == nil || !strings.Contains(err.Error(), "package_0 did not move in 5s") {
		t.Errorf("it stands still: %v W, %v", m.Watts, err)
	}
	memory := meter(7000, 7000, 7000)
	memory.Info.Channels[0] = channel{Name: "package_0_dram", Kind: energy, Scope: scopeMemory}
	if m, err := memory.Sum(0, 2*second); err == nil || !strings.Contains(err.Error(), "rapl?scope=package") {
		t.Errorf("memory that is not counted: %v W, %v", m.Watts, err)
	}
	write(t, filepath.Join(root, "intel-rapl:0", "max_energy_range_uj"), "65536\n")
	if _, err := open(t, "rapl?root="+root); err == nil || !strings.Contains(err.Error(), "no counter has so little") {
		t.Errorf("a range of 65 mJ: %v", err)
	}
	z := raplZone{max: dieRange}
	if err := z.add(5e9, 0); err != nil {
		t.Error(err)
	}
	if err := z.add(dieRange+5, second); err == nil || !strings.Contains(err.Error(), "more than its range") {
		t.Errorf("beyond its range: %v", err)
	}
}

// A whole machine does not draw milliwatts: firmware that has another unit than it says.
func TestWholeMachineOfMilliwatts(t *testing.T) {
	x := meter(.2, .21, .19)
	for i := range x.Samples { // what a meter of 200 W reads in thousandths
		x.Samples[i].V[0] /= 10
	}
	x.Info.Scope = scopeBoard
	if m, err := x.Sum(0, 2*second); err == nil ||
		!strings.Contains(err.Error(), "no machine that runs draws so little") {
		t.Errorf("%v W, %v", m.Watts, err)
	}
	if x.Info.Scope = scopeDevice; true {
		if m, err := x.Sum(0, 2*second); err != nil || m.Watts <= 0 {
			t.Errorf("a device: %v W, %v", m.Watts, err)
		}
	}
}

// Two sensors that are summed and always read the same are one meter.
func TestTwinsAreNotAdded(t *testing.T) {
	tr := Trace{Info: info{Channels: []channel{{Name: "psu1", Kind: power}, {Name: "psu2", Kind: power}}},
		Interval: time.Second}
	add := func(same bool) {
		tr.Samples = nil
		for i := range int64(30) {
			w := 200e6 + i%7*1e6
			other := w
			if !same && i == 20 {
				other += 1e6
			}
			tr.Samples = append(tr.Samples, sample{AtNs: i * second, V: []int64{w, other}})
		}
	}
	add(true)
	if m, err := tr.Sum(0, 29*second); err == nil ||
		!strings.Contains(err.Error(), "psu1 and psu2 always read the same") {
		t.Errorf("%v, %v", m.Watts, err)
	}
	add(false)
	if m, err := tr.Sum(0, 29*second); err != nil || m.Watts < 400 {
		t.Errorf("%v, %v", m.Watts, err)
	}
}
