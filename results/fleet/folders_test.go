// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

const _ = kind.Pure

// madeFolders are results folders as sessions leave them, through the journal's own writer.
type madeFolders struct {
	pairs, cells, reps int
	metrics            int // of each end of a run, beside 100 readings: most of a journal's bytes
	facts              int // of each host's snapshot
	slow               func(pair, cell int) float64
	fail               func(pair int) string // reason of all its runs; "" runs
	stop               map[int]int           // pairs of which only so many runs are made
}

// cells are those of every pair.
func planOf(n int) (out []plan.Cell) {
	modes := [][2]string{{"tcp", "tcp"}, {"tcp", "sendfile"}, {"zcrx", "sendfile"}, {"uring", "uring"},
		{"tcp-mmap", "sendfile"}, {"devmem", "sendfile"}}
	for i := range n {
		m := modes[i%len(modes)]
		c := plan.Cell{ID: m[0] + "/" + m[1], RX: m[0], TX: m[1], Touch: "read"}
		if k := i / len(modes); k > 0 {
			c.MessageBytes = 4096 << k
			c.ID += fmt.Sprint(" message=", c.MessageBytes)
		}
		out = append(out, c)
	}
	return out
}

// write makes the folders below dir.
func (m madeFolders) write(t testing.TB, dir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2026, 23))
	planned := planOf(m.cells)
	for i := range m.pairs {
		out := filepath.Join(dir, fmt.Sprintf("pair%04d", i))
		w, err := results.Create(out, results.Header{ToolVersion: "v0.0.0-made", SessionID: fmt.Sprint("s", i),
			CreatedUTCNs: 1_790_000_000_000_000_000 + int64(i)*1e9, Cells: planned,
			Plan: &plan.Origin{Name: "made", Hash: "0", Repetitions: m.reps,
				SUT: measure.Env{Hostname: fmt.Sprint("r", i)}, TG: measure.Env{Hostname: fmt.Sprint("s", i)}}})
		if err != nil {
			t.Fatal(err)
		}
		envs := [2]measure.Env{m.host(t, out, i, "r"), m.host(t, out, i, "s")}
		n := 0
		for rep := range m.reps {
			for c := range planned {
				if most, ok := m.stop[i]; ok && n >= most {
					continue
				}
				r := m.run(rng, planned[c], i, c, envs)
				r.RunID, r.SessionID, r.Seq, r.Rep, r.Block = fmt.Sprintf("s%d-%05d", i, n), fmt.Sprint("s", i), n, rep,
					rep
				r.StartUTCNs = 1_790_000_000_000_000_000 + int64(i)*1e9 + int64(n)*12e9
				if err := w.Append(r); err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// host is one as its records say it, with its snapshot in the folder.
func (m madeFolders) host(t testing.TB, out string, i int, kind string) measure.Env {
	t.Helper()
	e := measure.Env{Hostname: fmt.Sprint(kind, i), BootID: fmt.Sprint("boot", i), Kernel: "6.18.5",
		Driver: "mlx5_core", Firmware: "22.36.1010", Dev: "eth0",
		CPUModel: "Example CPU", CPUs: 64, Governor: "performance", ToolVersion: "v0.0.0-made"}
	if i%10 == 3 {
		e.Firmware = "22.31.1014"
	}
	if m.facts == 0 {
		return e
	}
	facts := []survey.Fact{{Name: "boot/id", Value: e.BootID},
		{Name: "dmi/bios_version", Value: map[bool]string{true: "1.4", false: "1.7"}[i%7 == 1]}}
	for k := range m.facts {
		facts = append(facts, survey.Fact{Name: fmt.Sprintf("config/CONFIG_EXAMPLE_OPTION_%d", k), Value: "y"})
	}
	in, err := results.OpenFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	hash, err := environment.Write(in, survey.New(facts))
	if err != nil {
		t.Fatal(err)
	}
	e.Environment = hash
	return e
}

func (m madeFolders) run(rng *rand.Rand, cell plan.Cell, pair, c int, envs [2]measure.Env) results.Record {
	r := results.Record{Cell: cell, Verdict: results.OK}
	r.SUT.Name, r.TG.Name = "ssh:root@"+envs[0].Hostname, "ssh:root@"+envs[1].Hostname
	r.SUT.Env, r.TG.Env = envs[0], envs[1]
	if m.fail != nil && m.fail(pair) != "" {
		r.Verdict, r.Reason, r.Fix = results.Failed, m.fail(pair), "look at the cable"
		return r
	}
	gbps := 40 * float64(c+2) * math.Exp(.01*rng.NormFloat64())
	if m.slow != nil {
		gbps *= 1 - m.slow(pair, c)
	}
	for _, h := range []*results.Host{&r.SUT, &r.TG} {
		h.ThroughputGbps, h.DurationS, h.Bytes = new(gbps), new(10.0), new(uint64(gbps*10e9/8))
		h.CPUBusyCores = new(1.5 * math.Exp(.01*rng.NormFloat64()))
		h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores = new(.1), new(.9), new(.5)
		if m.metrics == 0 {
			continue
		}
		for k := range m.metrics {
			h.Metrics = append(h.Metrics, measure.Metric{Name: fmt.Sprintf("ethtool_rx_example_counter_%d", k),
				Unit: "packets", Value: float64(rng.IntN(1e6)), Source: "ethtool -S"})
		}
		s := measure.Series{Name: "throughput_gbps", Unit: "Gbit/s"}
		for k := range 100 {
			s.T, s.V = append(s.T, int64(k)*100_123_457), append(s.V, gbps+rng.NormFloat64())
		}
		h.Series = []measure.Series{s}
	}
	return r
}

// BenchmarkFleet sums up 1,000 folders of 36 runs each, as they are: some 15 kB of metrics and
// readings a run, and a snapshot of 4,000 facts for each host. They are in the page cache. `make
// bench-fleet` holds time and memory.
func BenchmarkFleet(b *testing.B) {
	dir := os.Getenv("ZCBENCH_FLEET_DIR") // of a bench before, so that they need not be made again
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(filepath.Join(dir, "pair0999")); err != nil {
		madeFolders{pairs: 1000, cells: 6, reps: 6, metrics: 80, facts: 4000, slow: func(pair, _ int) float64 {
			if pair == 700 {
				return .05
			}
			return 0
		}}.write(b, dir)
	}
	from := usage(b)
	defer func() {
		to := usage(b)
		b.ReportMetric(float64(to.Utime.Nano()+to.Stime.Nano()-from.Utime.Nano()-from.Stime.Nano())/1e9/float64(b.N),
			"cpu-s/op")
		b.ReportMetric(float64(to.Maxrss), "peak-kB")
	}()
	for b.Loop() {
		began := time.Now()
		dirs, err := Find([]string{dir})
		if err != nil || len(dirs) != 1000 {
			b.Fatal(len(dirs), err)
		}
		f := Read(dirs, throughput(b), noGates)
		b.Logf("%.1f s: %s", time.Since(began).Seconds(), f.Summary())
		if f.Pairs[700].worst() != Worse || f.Pairs[0].Runs.OK != 36 || len(f.Pairs[1].Differs) == 0 {
			b.Fatal(f.Summary())
		}
	}
}

func usage(b *testing.B) (u unix.Rusage) {
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}
