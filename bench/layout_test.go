// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// rps reads, or with a value sets, the RPS mask of an end's interface.
func rps(t *testing.T, e veth.End, set string) string {
	t.Helper()
	file := "/sys/class/net/" + e.Dev + "/queues/rx-0/rps_cpus"
	script := "mount -t sysfs sysfs /sys && cat " + file
	if set != "" {
		script += " && echo " + set + " >" + file
	}
	var out []byte
	err := e.Netns.Do(func() (err error) {
		out, err = exec.Command("unshare", "-m", "sh", "-c", script).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestIntegrationLayouts(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if n := len(r.sut.Info.OnlineCPUs); n < 2 {
		t.Skipf("needs 2 CPUs, this machine has %d", n)
	}
	before := rps(t, r.pair.SUT, "")
	opt := r.Runner.Opt
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp, r.Runner.Opt.RampDown = 600*time.Millisecond, 200*time.Millisecond,
		100*time.Millisecond
	for layout, soft := range map[string]int{"1cpu": opt.SUTFlows[0].App, "2cpu": opt.SUTFlows[0].Softirq} {
		rec := r.inTime(t, oneFlow(layout))
		if rec.Verdict != results.OK {
			t.Errorf("%s: %s: %s", layout, rec.Verdict, rec.Reason)
			continue
		}
		if !slices.Contains(rec.Flags, "softirq-by-rps") || !strings.Contains(rec.SUT.Env.Placement, "RPS") ||
			!slices.ContainsFunc(rec.Warnings, func(w string) bool { return strings.Contains(w, "RPS sends") }) {
			t.Errorf("%s: flags %v, placement %q, warnings %v", layout, rec.Flags, rec.SUT.Env.Placement, rec.Warnings)
		}
		if share, ok := flowShare(rec); !ok || share < 0.95 {
			t.Errorf("%s, CPU %d: %g of the flow's softirq, known: %v", layout, soft, share, ok)
		}
		if now := rps(t, r.pair.SUT, ""); now != before {
			t.Errorf("%s: RPS is %s afterwards, was %s", layout, now, before)
		}
	}
}

func oneFlow(layout string) matrix.Run {
	return matrix.Run{Cell: plan.Cell{ID: layout, RX: "tcp", TX: "tcp", MessageBytes: 1 << 17, CPULayout: layout,
		PaceBitsPS: 1e9, SndBuf: 256 << 10}}
}

// flowShare is how much of the flow's softirq ran where it should in the window.
func flowShare(rec results.Record) (share float64, ok bool) {
	for _, m := range rec.SUT.Metrics {
		if m.Name == "placement_flow_share" {
			return m.Value, true
		}
	}
	return 0, false
}

// received are the bytes that an end's interface has received.
func received(t *testing.T, e veth.End) (n uint64) {
	t.Helper()
	err := e.Netns.Do(func() error {
		table, err := os.ReadFile("/proc/thread-self/net/dev")
		_, line, found := strings.Cut(string(table), e.Dev+":")
		if err != nil || !found {
			return fmt.Errorf("%w: no %s in %s", err, e.Dev, table)
		}
		_, err = fmt.Sscan(line, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A layout that somebody undoes in the middle of a run is no measurement.
func TestIntegrationLayoutNotKept(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if n := len(r.sut.Info.OnlineCPUs); n < 2 {
		t.Skipf("needs 2 CPUs, this machine has %d", n)
	}
	r.Runner.Opt.Duration, r.Runner.Opt.RampDown = 1200*time.Millisecond, 200*time.Millisecond
	for _, x := range []struct {
		name, want string
		back       bool
		verdict    results.Verdict
	}{
		// What somebody else has changed is not restored, and that is said too.
		{"for good", "the CPU layout was not kept: restore: rps 0 of", false, results.Failed},
		{"for a while", "the CPU layout was not obtained: the flow's softirq ran on CPU", true, results.Invalid},
	} {
		t.Run(x.name, func(t *testing.T) {
			defer func(was Options) { r.Runner.Opt = was }(r.Runner.Opt)
			for try := 1; ; try++ {
				rec, over := r.undone(t, x.back)
				share, known := flowShare(rec)
				// On a busy machine a run may be over, or its window, before the layout is undone.
				if early := over || x.back && known && share >= 0.95; early && try < lateTries {
					t.Logf("it was undone too late: %s: %s; share %g", rec.Verdict, rec.Reason, share)
					r.longer()
					continue
				}
				reason := strings.Contains(rec.Reason, x.want)
				if x.back && late(t, rec) { // that comes first; what was seen is in the record
					reason = known && share < 0.95
				}
				if rec.Verdict != x.verdict || !reason || rec.Fix == "" {
					t.Errorf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
				}
				t.Logf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
				return
			}
		})
	}
}

// undone is a run in which somebody undoes the layout, and, with back, makes it again. It is over
// where it ended before that was done.
func (r *rig) undone(t *testing.T, back bool) (rec results.Record, over bool) {
	t.Helper()
	rps(t, r.pair.SUT, "0") // what the run before has left
	done := make(chan results.Record, 1)
	flows := func(bytes uint64) {
		from := received(t, r.pair.SUT)
		await.Until(t, "payload", func() bool { return received(t, r.pair.SUT) >= from+bytes || len(done) > 0 })
	}
	go func() { done <- r.Runner.Run(t.Context(), oneFlow("1cpu")) }()
	flows(20 << 20)                 // 160 ms of its pace have passed, more than the ramp
	ours := rps(t, r.pair.SUT, "1") // CPU 0, the TG's
	if over = len(done) > 0; !over && ours == "1" {
		t.Fatal("it was there already")
	}
	if back && !over {
		flows(40 << 20) // a quarter of the window
		rps(t, r.pair.SUT, ours)
		over = len(done) > 0
	}
	return <-done, over
}
