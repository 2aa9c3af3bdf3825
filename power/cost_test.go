// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
)

// mostYards is what no sampling of these sources uses, all at once, in yards: what a reading
// of the yardstick costs beside theirs, ten times a second. They take .5 to 3 beside other work;
// one that spins takes 300, and 60 and more with the race detector, which swells both.
const mostYards = 30

// A child's CPU time is in the cost while it lives, as much as it used.
func TestSamplerCostOfChild(t *testing.T) {
	kind.Timed(t)
	for name, text := range map[string]string{
		"itself":          meterCommand(t, "burns"),
		"of a pipe":       "(" + meterCommand(t, "burns") + ") | cat",
		"of a loop's end": "echo 1; " + meterCommand(t, "burns") + " & wait",
	} {
		src := mustOpen(t, "command="+text+"?name=burner")
		src.(*command).info.MinInterval = 100 * time.Millisecond
		s := Start([]Source{src}, 100*time.Millisecond)
		begun := s.started
		newest := func() (w int64) {
			if tr := s.Traces(begun, counter.Monotonic())[0]; len(tr.Samples) > 0 {
				w = tr.Samples[len(tr.Samples)-1].V[0]
			}
			return w
		}
		await.Until(t, name+": it says that it is done", func() bool { return newest() == 2e6 })
		used := func() time.Duration { return time.Duration(s.Cost()[0].Cores * float64(counter.Monotonic()-begun)) }
		living := used()
		t.Logf("%s: %v", name, living)
		if living < burnt-50*time.Millisecond || living > burnt+200*time.Millisecond {
			t.Errorf("%s: it used %v and the sampler accounts for %v", name, burnt, living)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if after := src.(spender).SpentNs(); after < int64(living)/2 {
			t.Errorf("%s: of %v there are %v left when it is gone", name, living, time.Duration(after))
		}
	}
}

// yardstick is a source whose reading is work of a known size: what it costs tells
// how much everything costs just now, beside whatever else the machine has to do.
type yardstick struct{ fake }

const yardFiles = 40 // that are read for one reading

func (y *yardstick) Info() info {
	i := y.fake.Info()
	i.Name = "yardstick"
	return i
}

func (y *yardstick) Read(_ context.Context, v []int64) error {
	for range yardFiles {
		if _, err := os.ReadFile("/proc/self/stat"); err != nil {
			return err
		}
	}
	v[0] = 1e6
	return nil
}

// Sources that are read at 10 Hz, or as fast as each goes, do not spin, and what each costs is
// known. BenchmarkSampler tells how much it is.
func TestSamplerCost(t *testing.T) {
	kind.Timed(t)
	s := startAll(t)
	last := spent(s)
	time.Sleep(3 * time.Second)
	yards := spent(s).since(last)
	for _, c := range s.Cost() {
		t.Logf("%.40s: %.4f %% of a core, %d reads", c.Name, 100*c.Cores, c.Reads)
		if c.Reads == 0 || c.Cores <= 0 {
			t.Errorf("%s: %d reads cost %v cores", c.Name, c.Reads, c.Cores)
		}
	}
	if t.Logf("%.2f yards", yards); !(yards <= mostYards) {
		t.Errorf("sampling costs %.2f yards: does a source spin?", yards)
	}
}

// BenchmarkSampler is what sampling all sources for a second costs.
func BenchmarkSampler(b *testing.B) {
	s := startAll(b)
	last := spent(s)
	for b.Loop() {
		time.Sleep(time.Second)
	}
	now := spent(s)
	b.ReportMetric(now.since(last), "yards")
	b.ReportMetric((now.sources-last.sources)/1e9/float64(b.N)*100, "%core")
}

// startAll samples every kind of source at once, and the yardstick.
func startAll(t testing.TB) *Sampler {
	dir := t.TempDir()
	write(t, dir+"/hwmon0/name", "power_meter\n")
	write(t, dir+"/hwmon0/power1_average", "143500000\n")
	cap := powercap(t, 262143328850)
	var rl atomic.Value
	rl.Store("Last 1 samples\r\n" + fmt.Sprintf(ptdLine, "22.97"))
	daemon := ptd(t, &rl, nil)
	meter := serveLines(t, "\n", func(string) string { return "1.2345E+02" })
	bmc := redfishServer(t)
	t.Setenv("ZCBENCH_REDFISH_USER", "admin")
	t.Setenv("ZCBENCH_REDFISH_PASSWORD", "s3cret")
	t.Setenv("ZCBENCH_SNMP_COMMUNITY", "s3cretcomm")
	specs := []string{"rapl?root=" + cap, "hwmon?root=" + dir, "ptdaemon=" + daemon.addr, "scpi=" + meter.addr,
		"redfish=" + bmc.URL + "?ca=" + bmc.ca,
		"command=while :; do echo 100; sleep 1; done", "snmp=apc@" + startSNMPD(t).addr + "?outlet=3"}
	gpus := filepath.Join(dir, "zcnvml")
	write(t, gpus, "#!/bin/sh\n[ \"$1\" = --list ] && echo GPU && exit\n"+meterCommand(t, "ticks")+"\n")
	if err := os.Chmod(gpus, 0o755); err != nil {
		t.Fatal(err)
	}
	specs = append(specs, "nvml?helper="+gpus)
	var sources []Source
	for _, s := range specs {
		src, err := open(t, s)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	dcmi, err := newIPMI(Spec{Name: "ipmi"}, &frames{answer: dcmiFrame})
	if err != nil {
		t.Fatal(err)
	}
	s := Start(append(sources, dcmi, &yardstick{}), 100*time.Millisecond)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sampling is CPU time, in nanoseconds.
type sampling struct{ sources, yard float64 }

// since is what the sources have used since then, in yards.
func (n sampling) since(then sampling) float64 {
	return (n.sources - then.sources) / (n.yard - then.yard)
}

// spent is what a sampler has used whose last source is the yardstick.
func spent(s *Sampler) (n sampling) {
	costs := s.Cost()
	ns := float64(counter.Monotonic() - s.started)
	for _, c := range costs[:len(costs)-1] {
		n.sources += c.Cores * ns
	}
	n.yard = costs[len(costs)-1].Cores * ns
	return n
}
