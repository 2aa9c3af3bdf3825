// SPDX-License-Identifier: MIT

package bench

import (
	"os/exec"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// limited plays a cell a few times and counts the limits of the runs that are ok, and that others
// did not disturb.
func (r *rig) limited(t *testing.T, c plan.Cell) (n map[plan.LimitedBy]int, ok []results.Record) {
	t.Helper()
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 400*time.Millisecond, 100*time.Millisecond
	r.Gates = plan.DefaultGates()
	recs, err := r.Play(t.Context(), interleaved(long.Rounds(3, 11), c))
	if err != nil {
		t.Fatal(err)
	}
	n = map[plan.LimitedBy]int{}
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Logf("%s: %s: %s", c.ID, rec.Verdict, rec.Reason)
			continue
		}
		f, g := rec.SUT.Flows[0], rec.TG.Flows[0]
		t.Logf("%s: %.2f Gbit/s, limit %q; the receiver's softirq on CPUs %v, the sender's on %v", c.ID,
			*rec.SUT.ThroughputGbps, rec.Limit, f.SoftirqCPUs, g.SoftirqCPUs)
		n[rec.Limit]++
		ok = append(ok, rec)
	}
	return n, ok
}

// A veth has the receiver's softirq on the sender's CPU. Behind a receiver that drops the payload,
// that CPU is full with the work of both ends, and the limit of neither. Where a layout puts each
// end's softirq on its own CPU, no CPU works for both.
func TestIntegrationOneCPUForBothEnds(t *testing.T) {
	kind.Timed(t)
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if len(r.sut.Info.OnlineCPUs) < 2 {
		t.Skip("needs 2 CPUs")
	}
	c := plan.Cell{ID: "as found", RX: "tcp-trunc", TX: "tcp", MessageBytes: 64 << 10, Touch: "none"}
	n, ok := r.limited(t, c)
	if 2*n[plan.ByOneCPU] <= len(ok) {
		t.Errorf("as found: %v of %d", n, len(ok))
	}
	c.ID, c.CPULayout = "apart", "1cpu"
	if n, ok = r.limited(t, c); n[plan.ByOneCPU] > 0 || len(ok) == 0 {
		t.Errorf("apart: %v of %d", n, len(ok))
	}
	for _, rec := range ok {
		if f, g := rec.SUT.Flows[0], rec.TG.Flows[0]; f.SoftirqCPU == nil || g.SoftirqCPU == nil ||
			*f.SoftirqCPU != *f.CPU || *g.SoftirqCPU != *g.CPU || *f.CPU == *g.CPU {
			t.Errorf("apart: threads on %v and %v, softirqs on %v and %v", f.CPU, g.CPU, f.SoftirqCPUs, g.SoftirqCPUs)
		}
	}
}

// Behind a queue that lets 3 Gbit/s pass both ends have time left, and TCP has data to send all the
// time: the path is the limit.
func TestIntegrationPathLimit(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	if err := r.pair.TG.Netns.Do(func() error {
		out, err := exec.Command("tc", "qdisc", "add", "dev", r.pair.TG.Dev, "root", "tbf", "rate", "3gbit", "burst",
			"1mb",
			"latency", "10ms").CombinedOutput()
		if err != nil {
			t.Skipf("no tbf here: %v: %s", err, out)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, tx := range []string{"tcp", "sendfile"} {
		n, ok := r.limited(t, plan.Cell{ID: "tcp/" + tx, RX: "tcp", TX: tx, MessageBytes: 64 << 10, Touch: "none"})
		if 2*n[plan.ByPath] <= len(ok) {
			t.Errorf("%s: %v of %d", tx, n, len(ok))
		}
	}
}
