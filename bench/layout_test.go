package bench

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/lease"
	"github.com/zcbench/zcbench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/veth"
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
	r.Runner.Opt.RampDown = 200 * time.Millisecond
	for layout, soft := range map[string]int{"1cpu": opt.SUTCPU, "2cpu": opt.SUTSoftirqCPU} {
		rec := r.inPeace(t, func() results.Record { return r.oneFlow(t, layout) })
		if rec.Verdict != results.OK {
			t.Errorf("%s: %s: %s", layout, rec.Verdict, rec.Reason)
			continue
		}
		if !slices.Contains(rec.Flags, "softirq-by-rps") || !strings.Contains(rec.SUT.Env.Placement, "RPS") || !slices.ContainsFunc(rec.Warnings, func(w string) bool { return strings.Contains(w, "RPS sends") }) {
			t.Errorf("%s: flags %v, placement %q, warnings %v", layout, rec.Flags, rec.SUT.Env.Placement, rec.Warnings)
		}
		found := 0
		for _, m := range rec.SUT.Metrics {
			if m.Name == "placement_flow_share" && m.Value >= 0.95 {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s, CPU %d: no share of the flow's softirq", layout, soft)
		}
		if now := rps(t, r.pair.SUT, ""); now != before {
			t.Errorf("%s: RPS is %s afterwards, was %s", layout, now, before)
		}
	}
}

func (r *rig) oneFlow(t *testing.T, layout string) results.Record {
	return r.Runner.Run(t.Context(), matrix.Run{Cell: results.Cell{ID: layout, RX: "tcp", TX: "tcp", MessageBytes: 1 << 17, CPULayout: layout}})
}

// inPeace repeats a run that other work on this machine spoiled: its edges came
// late, so that the window, or the flow, had passed.
func (r *rig) inPeace(t *testing.T, run func() results.Record) (rec results.Record) {
	t.Helper()
	for range 5 {
		rec = run()
		if !strings.Contains(rec.Reason, "the window of ") && !strings.Contains(rec.Reason, "too few packets") {
			break
		}
		t.Logf("again: %s", rec.Reason)
	}
	return rec
}

// A layout that somebody undoes in the middle of a run is no measurement.
func TestIntegrationLayoutNotKept(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if n := len(r.sut.Info.OnlineCPUs); n < 2 {
		t.Skipf("needs 2 CPUs, this machine has %d", n)
	}
	r.Runner.Opt.Duration, r.Runner.Opt.RampDown = 800*time.Millisecond, 200*time.Millisecond
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
			rec := r.inPeace(t, func() results.Record {
				rps(t, r.pair.SUT, "0") // what the attempt before has left
				done := make(chan results.Record)
				go func() { done <- r.oneFlow(t, "1cpu") }()
				time.Sleep(300 * time.Millisecond)
				ours := rps(t, r.pair.SUT, "1") // CPU 0, the TG's
				if x.back {
					time.Sleep(300 * time.Millisecond)
					rps(t, r.pair.SUT, ours)
				}
				return <-done
			})
			if rec.Verdict != x.verdict || !strings.Contains(rec.Reason, x.want) || rec.Fix == "" {
				t.Errorf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
			}
			t.Logf("%s: %s; fix %q", rec.Verdict, rec.Reason, rec.Fix)
		})
	}
}
