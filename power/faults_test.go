// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// mishap is something that happens to an instrument while it is read.
type mishap struct {
	name       string
	set, reset func()
	say        string // in the error
}

// survive checks that a source has a reading of want, none in every fault, and
// the right one again after it.
func survive(t *testing.T, src Source, want int64, faults []mishap) {
	t.Helper()
	read := func(limit time.Duration) (int64, error) {
		ctx := await.Ending(t, limit)
		v := make([]int64, len(src.Info().Channels))
		for i := range v {
			v[i] = none
		}
		err := src.Read(ctx, v)
		return v[0], err
	}
	if v, err := read(enough); err != nil || v != want {
		t.Fatalf("before all: %v, %v; want %v", v, err, want)
	}
	for _, f := range faults {
		f.set()
		var v int64
		var err error
		await.Return(t, f.name+": the reading ends", func() { v, err = read(patience(f.say)) })
		if err == nil || !strings.Contains(err.Error(), f.say) {
			t.Errorf("%s: reads %v, %v; want %q", f.name, v, err, f.say)
		}
		f.reset()
		if !await.So(func() bool { // what is run anew needs a moment
			v, err = read(enough)
			return err == nil && v == want
		}) {
			t.Errorf("after %s: %v, %v; want %v", f.name, v, err, want)
		}
	}
}

func TestFaultsOfFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/hwmon0/name", "power_meter\n")
	meter := dir + "/hwmon0/power1_average"
	write(t, meter, "143500000\n")
	put := func(text string) func() { return func() { write(t, meter, text) } }
	back := put("143500000\n")
	survive(t, mustOpen(t, "hwmon?root="+dir), 143_500_000, []mishap{
		{"garbage", put("on fire\n"), back, "is not a count"},
		{"nothing", put(""), back, "read "},
		{"negative", put("-1\n"), back, "is not a count"},
		{"a jump", put("900000000000000\n"), back, "implausible"},
	})

	root := powercap(t, 262143328850)
	energy := filepath.Join(root, "intel-rapl:0", "energy_uj")
	set := func(text string) func() { return func() { write(t, energy, text) } }
	survive(t, mustOpen(t, "rapl?root="+root), 0, []mishap{
		{"garbage", set("x\n"), set("0\n"), "package_0"},
		{"nothing", set(""), set("0\n"), "package_0"},
	})
}

func TestFaultsOfBMC(t *testing.T) {
	bmc := &frames{answer: dcmiFrame}
	d, err := newIPMI(Spec{Name: "ipmi"}, bmc)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(frame string) func() { return func() { bmc.answer = frame } }
	back := answer(dcmiFrame)
	survive(t, d, 220e6, []mishap{
		{"busy", answer("c0"), back, "busy"},
		{"hang", answer(""), back, "in time"},
		{"another's answer", answer("00 dd"), back, "not a DCMI"},
		{"cut off", answer(strings.TrimSuffix(dcmiFrame, " 00 40")), back, "not a DCMI"},
		{"switched off", answer("00 dc 00 00 00 00 00 00 00 00 40 2a 9f 65 88 13 00 00 00"), back, "does not measure"},
		{"nothing drawn", answer("00 dc 00 00 00 00 00 00 00 00 40 2a 9f 65 88 13 00 00 40"), back, "0 W"},
	})
}

// The helper that reads GPUs, as a script whose output a file is.
func TestFaultsOfNVML(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	helper, out := dir+"/zcnvml", dir+"/out"
	put := func(text string) {
		write(t, out+".new", text)
		if err := os.Rename(out+".new", out); err != nil {
			t.Fatal(err)
		}
	}
	put("65000 70500\n")
	write(t, helper, fmt.Sprintf(`#!/bin/sh
if [ "$1" = --list ]; then echo "NVIDIA H200"; echo "NVIDIA L4"; exit; fi
while :; do
	read line <%[1]s
	case $line in
	die) echo "GPU is lost" >&2; exit 1;;
	hang) echo hangs; sleep 60;;
	*) echo "$line";;
	esac
	sleep 0.02
done
`, out))
	if err := os.Chmod(helper, 0o755); err != nil {
		t.Fatal(err)
	}
	src := mustOpen(t, "nvml?helper="+helper)
	if i := src.Info(); i.Device != "NVIDIA H200, NVIDIA L4" || len(i.Channels) != 2 || i.Scope != scopeGPU {
		t.Errorf("%+v", i)
	}
	// become waits until all lines from before are read: what comes next is of what it is now.
	become := func(text string) func() {
		return func() {
			put(text + "\n")
			if c := src.(*command); c.child != nil {
				awaitLine(t, c.child.lines, strings.Replace(text, "hang", "hangs", 1))
			}
		}
	}
	back := become("65000 70500")
	survive(t, src, 65e6, []mishap{
		{"one GPU is silent", become("65000 -"), back, "no reading"},
		{"a GPU is gone", become("65000"), back, "for 2 GPUs"},
		{"garbage", become("watt watt"), back, "prints"},
		{"a jump", become("65000 4294967295"), back, "implausible"},
		{"it hangs", become("hang"), back, "in time"},
		{"it dies", become("die"), back, "GPU is lost"},
	})
	write(t, helper, "#!/bin/sh\necho 'dlopen libnvidia-ml.so.1: cannot open shared object file' >&2\nexit 1\n")
	if _, err := open(t, "nvml?helper="+helper); err == nil || !strings.Contains(err.Error(), "libnvidia-ml") ||
		!strings.Contains(fixOf(err), "driver") {
		t.Errorf("without a driver: %v", err)
	}
}

// awaitLine takes lines until the one that says text, or the last.
func awaitLine(t *testing.T, lines <-chan stamped, text string) {
	t.Helper()
	for end := await.Timeout(); ; {
		select {
		case l, ok := <-lines:
			if !ok || l.text == text {
				return
			}
		case <-end:
			t.Fatalf("it does not print %q", text)
		}
	}
}

// What is wrong with readings that came is said of the figure.
func TestDoubts(t *testing.T) {
	steady := make([]float64, 12)
	for i := range steady {
		steady[i] = 100
	}
	jumps := append([]float64(nil), steady...)
	for i := range jumps {
		jumps[i] += float64(i % 3)
	}
	jumps[6] = 2000
	at := Times{Load: Window{0, 11 * second}, GuardNs: 10 * second}
	slow := meter(jumps...)
	slow.Info.Averages, slow.Info.Uncertainty = 12*time.Second, 0.05
	for _, c := range []struct {
		t   Trace
		say []string
	}{
		{meter(steady...), []string{"all 12 readings are equal"}},
		{meter(jumps...), []string{"a reading jumped to 2000.0 W"}},
		{slow, []string{"averages over 12s, more than the guard of 10s", "its uncertainty of 5 % is above 1 %"}},
	} {
		f := Measure(c.t, at)
		for _, want := range c.say {
			if f.GrossW == nil || !strings.Contains(f.Quality, want) {
				t.Errorf("quality %q lacks %q", f.Quality, want)
			}
		}
	}
}
