// SPDX-License-Identifier: MIT

package bpf_test

import (
	"os"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/veth"
)

// Every program of the probe is timed beside a flow in bulk, what stamps too, with an empty
// one and the common design. How they compare is BenchmarkCost's: it is a matter of the
// machine's caches and of who else uses them.
func TestIntegrationCost(t *testing.T) {
	kind.Timed(t) // it has the kernel time eBPF programs
	hostOnly(t)
	p := newPair(t)
	// On a busy machine some program may have nothing to do in so short a time.
	var untimed []string
	for window := 1200 * time.Millisecond; window < time.Minute; window *= 4 {
		var both map[string][2]float64
		if both, untimed = compareCost(t, p, window); len(both) > 0 && len(untimed) == 0 {
			return
		}
	}
	t.Errorf("no program was compared with the common design, or no run was timed of those at %q", untimed)
}

// BenchmarkCost is what a run of our programs takes, beside the common design's: a
// hash map that is asked at each stage.
func BenchmarkCost(b *testing.B) {
	hostOnly(b)
	p := newPair(b)
	var mine, reference float64
	for b.Loop() {
		both, untimed := compareCost(b, p, 1200*time.Millisecond)
		if len(untimed) > 0 {
			b.Errorf("no run was timed of the programs at %q", untimed)
		}
		for _, ns := range both {
			mine, reference = mine+ns[0], reference+ns[1]
		}
	}
	b.ReportMetric(mine/reference, "of-hash-design")
}

// compareCost is what a run of each program costs that both designs have, ns, and which programs
// did not run.
func compareCost(t testing.TB, p *veth.Pair, window time.Duration) (both map[string][2]float64, untimed []string) {
	stop := bulk(t, p)
	defer stop()
	path := in(t, p.SUT.Netns, func() (*bpf.Path, error) { return bpf.OpenPath(0, 0) })
	defer path.Close()
	calls, err := bpf.OpenSyscalls(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	l := openLatency(t, p.SUT.Netns, bpf.Filter{})
	probes := bpf.Probes{Latency: l, Path: path, Syscalls: calls}
	costs := in(t, p.SUT.Netns, func() ([]bpf.Cost, error) { return probes.MeasureCost(t.Context(), window) })
	both = map[string][2]float64{}
	timed := map[string]bool{}
	for _, c := range costs {
		t.Logf("%-13s %-24s runs %7d, %5.0f ns, floor %5.0f, reference %5.0f, %8.0f Hz, %.3f cores", c.Hook.Stage,
			c.Hook.Function, c.Runs, c.Ns, c.FloorNs, c.Reference, c.Hz, c.Core)
		timed[c.Hook.Function] = c.Runs > 0
		if c.Runs > 1000 && (c.FloorNs == 0 || c.Hz == 0) {
			t.Errorf("%s: no floor", c.Hook.Function)
		}
		if c.Reference > 0 && c.Runs > 100 {
			both[c.Hook.Function] = [2]float64{c.Ns, c.Reference}
		}
	}
	for _, f := range []string{"ingress of lo, " + p.SUT.Dev, "tcp_probe", "softirq_raise", "napi_poll", "sys_enter",
		"sys_exit"} {
		if !timed[f] {
			untimed = append(untimed, f)
		}
	}
	return both, untimed
}
