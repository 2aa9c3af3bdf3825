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

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/veth"
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
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp, r.Runner.Opt.RampDown = 600*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	for layout, soft := range map[string]int{"1cpu": opt.SUTFlows[0].App, "2cpu": opt.SUTFlows[0].Softirq} {
		rec := r.oneFlow(t, layout)
		// A window that was read late shows where the softirq ran all the same.
		if rec.Verdict != results.OK && !late(t, rec) {
			t.Errorf("%s: %s: %s", layout, rec.Verdict, rec.Reason)
			continue
		}
		if !slices.Contains(rec.Flags, "softirq-by-rps") || !strings.Contains(rec.SUT.Env.Placement, "RPS") || !slices.ContainsFunc(rec.Warnings, func(w string) bool { return strings.Contains(w, "RPS sends") }) {
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

func (r *rig) oneFlow(t *testing.T, layout string) results.Record {
	return r.Runner.Run(t.Context(), matrix.Run{Cell: results.Cell{ID: layout, RX: "tcp", TX: "tcp", MessageBytes: 1 << 17, CPULayout: layout, PaceBitsPS: 1e9, SndBuf: 256 << 10}})
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
			rps(t, r.pair.SUT, "0") // what the run before has left
			before := received(t, r.pair.SUT)
			done := make(chan results.Record, 1)
			go func() { done <- r.oneFlow(t, "1cpu") }()
			for received(t, r.pair.SUT) < before+20<<20 { // it flows: 160 ms of its pace have passed, more than the ramp
				if time.Sleep(5 * time.Millisecond); len(done) > 0 {
					t.Fatalf("nothing flows: %+v", <-done)
				}
			}
			ours := rps(t, r.pair.SUT, "1") // CPU 0, the TG's
			if ours == "1" {
				t.Fatal("it was there already")
			}
			if x.back {
				for at := received(t, r.pair.SUT); received(t, r.pair.SUT) < at+40<<20 && len(done) == 0; { // a quarter of the window
					time.Sleep(5 * time.Millisecond)
				}
				rps(t, r.pair.SUT, ours)
			}
			rec := <-done
			reason := strings.Contains(rec.Reason, x.want)
			if x.back && late(t, rec) { // that comes first; what was seen is in the record
				share, ok := flowShare(rec)
				reason = ok && share < 0.95
			}
			if rec.Verdict != x.verdict || !reason || rec.Fix == "" {
				t.Errorf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
			}
			t.Logf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
		})
	}
}
