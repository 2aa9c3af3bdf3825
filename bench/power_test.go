// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/power/powertest"
	"github.com/zcbench/zcbench/results"
)

// withPower lets a rig measure power with the given sources.
func (r *rig) withPower(t *testing.T, sources ...string) *PowerMeter {
	t.Helper()
	specs, auto, err := power.ParseSpecs(sources)
	if err != nil {
		t.Fatal(err)
	}
	m, err := StartPower(t.Context(), PowerOptions{Sources: specs, Auto: auto, Interval: 20 * time.Millisecond,
		Idle: 500 * time.Millisecond, Guard: 300 * time.Millisecond}, r.Runner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r.Runner.Power, r.Runner.Opt.Duration = m, 500*time.Millisecond
	return m
}

func TestIntegrationPower(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "meter.csv")
	start := time.Now()
	if err := os.WriteFile(file, fmt.Appendf(nil, "%.3f,300\n", float64(start.UnixMilli()-1000)/1e3),
		0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.csv")
	if err := os.WriteFile(broken, []byte("time,watts\n1700000000,100\nnonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.withPower(t, "sut:rapl?root="+powertest.Powercap(t, 80), "tg:rapl?root="+powertest.Powercap(t, 50),
		"command=while :; do echo 120; sleep 0.05; done?uncertainty=1%", "sut:csv="+file, "tg:csv="+broken+"?name=log")
	recs, err := r.Play(t.Context(), matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 2, true, 1))
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, rec := range recs {
		if late(t, rec) { // its power is of the time between the moments at which its edges were read
			continue
		}
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
		}
		measured++
		if rec.Warmup {
			if rec.SUT.PowerW != nil || rec.SUT.PowerSource != "" {
				t.Error("a warm-up has power")
			}
			continue
		}
		for _, x := range []struct {
			h    results.Host
			want float64
		}{{rec.SUT, 80}, {rec.TG, 50}} {
			if x.h.PowerW == nil || x.h.PowerIdleW == nil || math.Abs(*x.h.PowerW-x.want) > x.want/4 ||
				math.Abs(*x.h.PowerIdleW-x.want) > x.want/4 || x.h.PowerSource != "rapl" ||
				x.h.PowerScope != string(power.ScopePackage) {
				t.Errorf("%s: power %v W, idle %v W, of %q; want about %v (warnings %q)", x.h.Name, deref(x.h.PowerW),
					deref(x.h.PowerIdleW), x.h.PowerSource, x.want, rec.Warnings)
				continue
			}
			if want := *x.h.PowerW * *x.h.DurationS / (float64(*x.h.Bytes) / 1e9); *x.h.JoulePerGB() != want {
				t.Errorf("%v J/GB, want %v", *x.h.JoulePerGB(), want)
			}
			if i := slices.IndexFunc(x.h.Series,
				func(s measure.Series) bool { return s.Name == "power_rapl_package_0_w" }); i < 0 ||
				x.h.Series[i].T[0] >= 0 {
				t.Errorf("%s: no series from before the window", x.h.Name)
			}
			for _, name := range []string{"power_rapl_w", "power_rapl_net_w", "power_rapl_sampler_cores",
				"power_sampler_cores", "power_command_while_sampler_cores"} {
				if !slices.ContainsFunc(x.h.Metrics, func(m measure.Metric) bool { return m.Name == name }) {
					t.Errorf("%s: no metric %s", x.h.Name, name)
				}
			}
		}
		if slices.Contains(rec.Flags, results.FlagSharedPower) {
			t.Error("the ends have an instrument each, but it is taken for one")
		}
		if !slices.Contains(rec.Flags, power.FlagShortGuard) {
			t.Errorf("flags %q", rec.Flags)
		}
		if !slices.ContainsFunc(rec.Warnings,
			func(w string) bool { return strings.HasPrefix(w, "SUT: power source csv=") }) {
			t.Errorf("nothing is said of the log without readings: %q", rec.Warnings)
		}
		if want := broken + ":3: "; !slices.ContainsFunc(rec.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "TG: power source csv=log: ") && strings.Contains(w, want)
		}) {
			t.Errorf("nothing says where the log is broken, %s...: %q", want, rec.Warnings)
		}
	}
	if measured == 0 {
		t.Errorf("none of %d windows was read in time", len(recs))
	}
}

// A source that stops in the middle of a session leaves the figure empty and
// says why; the runs go on.
func TestIntegrationPowerStops(t *testing.T) {
	long.Test(t)
	t.Parallel() // most of it is rest
	r := newRig(t)
	flag := filepath.Join(t.TempDir(), "stop")
	r.withPower(t, "sut:command=[ ! -e "+flag+" ] || exec sleep 60; echo 100")
	r.heard.onBegin = func(n int) {
		if n == 1 {
			if err := os.WriteFile(flag, nil, 0o644); err != nil {
				t.Error(err)
			}
			await.Pause("its last reading is over", 1500*time.Millisecond)
		}
	}
	recs, err := r.Play(t.Context(), matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 2, false, 1))
	if err != nil {
		t.Fatal(err)
	}
	last := recs[1]
	if last.SUT.PowerW != nil || last.SUT.PowerIdleW != nil || !slices.Contains(last.Flags, power.FlagMissing) {
		t.Errorf("%s, power %v, flags %q", last.Verdict, deref(last.SUT.PowerW), last.Flags)
	}
	if !slices.ContainsFunc(last.Warnings,
		func(w string) bool { return strings.Contains(w, "power source command=[: no reading") }) {
		t.Errorf("warnings %q", last.Warnings)
	}
	if last.TG.PowerSource != "" {
		t.Error("the sender has no source, but a figure")
	}
}

// Packages at one end and the wall at the other have no total, and the run says
// so.
func TestIntegrationMixedScopes(t *testing.T) {
	long.Test(t)
	t.Parallel() // most of it is rest
	r := newRig(t)
	r.withPower(t, "sut:rapl?root="+powertest.Powercap(t, 80), "tg:scpi="+powertest.Meter(t, 150).Addr)
	recs, err := r.Play(t.Context(), matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 1, false, 1))
	if err != nil {
		t.Fatal(err)
	}
	rec := recs[0]
	if rec.SUT.PowerW == nil || rec.TG.PowerW == nil || rec.SUT.ROIPower() == nil ||
		rec.ROI(results.Total, results.CostPower, 2, 1) != nil {
		t.Errorf("power %v and %v, total %v", deref(rec.SUT.PowerW), deref(rec.TG.PowerW),
			deref(rec.ROI(results.Total, results.CostPower, 2, 1)))
	}
	if !slices.Contains(rec.Flags, results.FlagMixedScopes) || !slices.ContainsFunc(rec.Warnings,
		func(w string) bool { return strings.Contains(w, "SUT rapl (package), TG scpi=") }) {
		t.Errorf("flags %q, warnings %q", rec.Flags, rec.Warnings)
	}
}

// One instrument for both ends is counted once.
func TestIntegrationSharedPower(t *testing.T) {
	t.Parallel() // most of it is rest
	r := newRig(t)
	r.withPower(t, "rapl?root="+powertest.Powercap(t, 80))
	rec := r.seen(t, matrix.Run{Cell: cell("tcp", "tcp")},
		func(rec *results.Record) bool { return rec.SUT.PowerW != nil })
	if !slices.Contains(rec.Flags, results.FlagSharedPower) || rec.SUT.PowerW == nil ||
		*rec.ROI(results.Total, results.CostPower, 2, 1) != *rec.SUT.ROIPower() {
		t.Errorf("flags %q, power %v, warnings %q", rec.Flags, deref(rec.SUT.PowerW), rec.Warnings)
	}
}

// apart makes the ends of a rig two machines, as far as anybody is told.
func (r *rig) apart() *rig {
	r.tg.Info.Env.BootID = "another"
	return r
}

// One meter that is named once sees both ends also where they are two machines:
// it is opened once, and its watts are counted once.
func TestIntegrationOneMeterTwoMachines(t *testing.T) {
	long.Test(t)
	t.Parallel()
	r := newRig(t).apart()
	meter := powertest.Meter(t, 150)
	m := r.withPower(t, "scpi="+meter.Addr)
	if n := meter.Connections(); n != 1 || len(m.Sources) != 1 || !strings.HasPrefix(m.Sources[0], "both: scpi=") {
		t.Errorf("opened %d times: %q", n, m.Sources)
	}
	recs, err := r.Play(t.Context(), matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 2, false, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		total := rec.ROI(results.Total, results.CostPower, 2, 1)
		if rec.SUT.PowerW == nil || rec.TG.PowerW == nil || *rec.SUT.PowerW != 150 || *rec.TG.PowerW != 150 ||
			total == nil || *total != *rec.SUT.ROIPower() {
			t.Errorf("power %v and %v, return on both %v (%q)", deref(rec.SUT.PowerW), deref(rec.TG.PowerW),
				deref(total), rec.Warnings)
		}
		if !slices.Contains(rec.Flags, results.FlagSharedPower) || !slices.ContainsFunc(rec.Warnings,
			func(w string) bool { return strings.Contains(w, "one instrument (scpi=") }) {
			t.Errorf("flags %q, warnings %q", rec.Flags, rec.Warnings)
		}
		if !slices.ContainsFunc(rec.TG.Metrics,
			func(m measure.Metric) bool { return m.Name == metricControllerCores && m.Value > 0 }) {
			t.Error("nothing is said of what reading it costs")
		}
	}
}

// Which instruments are one.
func TestOneInstrument(t *testing.T) {
	for _, c := range []struct {
		sut, tg    string
		oneMachine bool
		want       bool
	}{
		{"rapl", "rapl", true, true},
		{"rapl", "rapl", false, false}, // each agent's own
		{"rapl?root=/a", "rapl?root=/b", true, false},
		{"scpi=m", "scpi=m", false, true},
		{"csv=log", "csv=log", false, true},
		{"sut:scpi=m?name=a", "tg:scpi=m?name=b&uncertainty=1%", false, true},
		{"sut:scpi=m?item=3", "tg:scpi=m?item=13", false, false},
		{"sut:snmp=apc@pdu?outlet=3", "tg:snmp=apc@pdu?outlet=4", true, false},
		{"sut:redfish=enclosure", "tg:redfish=enclosure", false, true},
		{"rapl", "scpi=m", true, false},
	} {
		var specs [2]power.Spec
		for i, text := range []string{c.sut, c.tg} {
			var err error
			if specs[i], err = power.ParseSpec(text); err != nil {
				t.Fatal(err)
			}
		}
		if got := oneInstrument(specs[0], specs[1], c.oneMachine); got != c.want {
			t.Errorf("%s and %s, on one machine %v: %v", c.sut, c.tg, c.oneMachine, got)
		}
	}
	if auto := (power.Spec{}); !oneInstrument(auto, auto, true) || oneInstrument(auto, auto, false) {
		t.Error("what auto finds is each machine's own")
	}
}

// A BMC sees one machine: for two it must be said whose it is.
func TestOneBMCForTwoMachines(t *testing.T) {
	r := newRig(t).apart()
	bmc := []power.Spec{{Name: "redfish", Target: "https://127.0.0.1:1"}}
	if _, err := StartPower(t.Context(), PowerOptions{Sources: bmc}, r.Runner); !errors.Is(err, ErrOneMachine) ||
		!strings.Contains(err.Error(), "say whose it is: sut:redfish=") {
		t.Errorf("%v", err)
	}
}

func TestPowerSourceThatIsNotThere(t *testing.T) {
	r := newRig(t)
	_, err := StartPower(t.Context(),
		PowerOptions{Sources: []power.Spec{{Name: "rapl", Options: map[string][]string{"root": {"/nonexistent"}}}}},
		r.Runner)
	if err == nil || !strings.Contains(err.Error(), "host sut") || !strings.Contains(err.Error(), "no powercap") {
		t.Errorf("%v", err)
	}
}

func deref(v *float64) any {
	if v == nil {
		return "not measured"
	}
	return *v
}

// A run that rests for a log has no power and says nothing of it; the log gives
// it some. What a log does not cover has none, and says so.
func TestIntegrationPowerLater(t *testing.T) {
	long.Test(t)
	t.Parallel() // most of it is rest
	r := newRig(t)
	m, err := StartPower(t.Context(), PowerOptions{Later: true, Idle: 500 * time.Millisecond, Guard: time.Second},
		r.Runner)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r.Runner.Power, r.Runner.Opt.Duration = m, 500*time.Millisecond
	dir := t.TempDir()
	if r.Journal, err = results.Create(filepath.Join(dir, "raw"), results.Header{SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	recs, err := r.Play(t.Context(), matrix.Interleave([]plan.Cell{cell("tcp", "tcp")}, 2, true, 1))
	if err := errors.Join(err, r.Journal.Close()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if rec.SUT.PowerSource != "" || rec.SUT.PowerW != nil ||
			slices.ContainsFunc(rec.Flags, func(f string) bool { return strings.HasPrefix(f, "power-") }) {
			t.Errorf("power %v of %q, flags %q", deref(rec.SUT.PowerW), rec.SUT.PowerSource, rec.Flags)
		}
	}
	first := recs[1] // after the warm-up
	var log strings.Builder
	// long before: the rest ends when the machine has time
	for at := first.StartUTCNs - 10e9; at < first.StartUTCNs+3e9; at += 20e6 {
		watts := 100
		if at > first.StartUTCNs-900e6 && at < first.StartUTCNs+1400e6 { // within the guards
			watts = 260
		}
		fmt.Fprintf(&log, "%d.%09d,%d\n", at/1e9, at%1e9, watts)
	}
	file := filepath.Join(dir, "log")
	if err := os.WriteFile(file, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	spec, err := power.ParseSpec("csv=" + file + "?uncertainty=1%")
	if err != nil {
		t.Fatal(err)
	}
	done, err := PowerImport{Logs: []power.Spec{spec}}.Run(filepath.Join(dir, "raw"), filepath.Join(dir, "joined"))
	if err != nil || done.Joined == 0 {
		t.Fatalf("%d runs joined, %v", done.Joined, err)
	}
	j, err := results.Read(filepath.Join(dir, "joined", results.JournalFile))
	if err != nil || len(j.Records) != len(recs) {
		t.Fatalf("%d runs, %v", len(j.Records), err)
	}
	if j.Records[0].SUT.PowerSource != "" {
		t.Error("the warm-up has power")
	}
	for _, h := range []results.Host{j.Records[1].SUT, j.Records[1].TG} {
		if h.PowerW == nil || h.PowerIdleW == nil || math.Abs(*h.PowerW-260) > 1e-6 ||
			math.Abs(*h.PowerIdleW-100) > 1e-6 {
			t.Errorf("power %v, idle %v; want 260 and 100 (%q)", deref(h.PowerW), deref(h.PowerIdleW),
				j.Records[1].Warnings)
		}
	}
	if f := j.Records[1].Flags; !slices.Contains(f, results.FlagSharedPower) || slices.Contains(f, power.FlagMissing) {
		t.Errorf("flags %q: one meter saw both ends", f)
	}
	// Other logs that lead are other instruments.
	relead := func(name string, logs ...string) results.Record {
		t.Helper()
		p := PowerImport{Lead: true}
		for _, l := range logs {
			s, err := power.ParseSpec(l)
			if err != nil {
				t.Fatal(err)
			}
			p.Logs = append(p.Logs, s)
		}
		if _, err := p.Run(filepath.Join(dir, "joined"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		j, err := results.Read(filepath.Join(dir, name, results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		return j.Records[1]
	}
	two := relead("two", "sut:csv="+file+"?watts=2&name=a&scope=outlet", "tg:csv="+file+"?name=b&scope=outlet")
	if slices.Contains(two.Flags, results.FlagSharedPower) || two.SUT.PowerSource != "csv=a" ||
		two.SUT.PowerScope != "outlet" || two.ROI(results.Total, results.CostPower, 2, 1) == nil {
		t.Errorf("two logs of two instruments: %+v, flags %q", two.SUT.Instrument(), two.Flags)
	}
	one := relead("one", "sut:csv="+file+"?name=a&scope=board")
	if slices.Contains(one.Flags, results.FlagSharedPower) ||
		!slices.Contains(one.Flags, results.FlagMixedScopes) || one.ROI(results.Total, results.CostPower, 2, 1) != nil {
		t.Errorf("a board and a wall: flags %q", one.Flags)
	}
}

// Cells that take turns of a second have the power of their own turns: the package draws 10 W, and
// 8 nJ more for each byte that comes in, so that what each cell draws follows from its rate.
func TestIntegrationPowerInTurns(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	const idle, perByte = 10., 8e-9
	start, received := time.Now(), bytesReceived(t, r.pair.SUT)
	root := powertest.Counting(t, func() float64 {
		return idle*time.Since(start).Seconds() + perByte*float64(received())
	}, "package-0")
	a, b := cell("tcp", "tcp"), cell("uring", "tcp")
	a.PaceBitsPS, b.PaceBitsPS = 1e9, 4e9
	runs := r.inTurns(a, b)
	r.Runner.Opt.Turn = time.Second
	m := r.withPower(t, "sut:rapl?root="+root)
	r.Runner.Opt.Duration = 4 * time.Second
	if len(m.Sources) != 1 {
		t.Fatalf("%q", m.Sources)
	}
	for _, rec := range r.Runner.RunTogether(t.Context(), runs) {
		h := &rec.SUT
		if late(t, rec) {
			continue
		}
		if h.PowerW == nil || h.PowerIdleW == nil || rec.TG.PowerW != nil {
			t.Errorf("%s: %s %s: power %v, idle %v; %q", rec.Cell.ID, rec.Verdict, rec.Reason, deref(h.PowerW),
				deref(h.PowerIdleW), rec.Warnings)
			continue
		}
		want := idle + perByte*(*h.ThroughputGbps*1e9/8)
		t.Logf("%s: %s; %.3f W, want %.3f at %.2f Gbit/s; idle %.3f W, %.2f J/GB", rec.Cell.ID, rec.Verdict, *h.PowerW,
			want, *h.ThroughputGbps, *h.PowerIdleW, *h.JoulePerGB())
		if math.Abs(*h.PowerW-want) > want/20 || math.Abs(*h.PowerIdleW-idle) > idle/20 {
			t.Errorf("%s: %.3f W, want %.3f; idle %.3f W, want %v", rec.Cell.ID, *h.PowerW, want, *h.PowerIdleW, idle)
		}
	}
}

// Turns that are too short for power, or for a meter, are refused with those that do.
func TestPowerTurnsTooShort(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Turn = 60 * time.Millisecond
	start := func(source string) error {
		specs, _, err := power.ParseSpecs([]string{source})
		if err != nil {
			t.Fatal(err)
		}
		m, err := StartPower(t.Context(), PowerOptions{Sources: specs}, r.Runner)
		m.Close()
		return err
	}
	if err := start("sut:rapl"); err == nil || !strings.Contains(err.Error(), "turns of 1s and more") {
		t.Errorf("%v", err)
	}
	r.Runner.Opt.Turn = time.Second
	began := time.Now()
	slow := powertest.Counting(t, func() float64 {
		return 50 * time.Now().Sub(began).Truncate(200*time.Millisecond).Seconds()
	}, "package-0")
	err := start("sut:rapl?root=" + slow)
	if err == nil || !strings.Contains(err.Error(), "only in turns of 2") ||
		!strings.Contains(err.Error(), "use turn: 2s") {
		t.Errorf("a counter that counts every 200 ms: %v", err)
	}
	if err := start("sut:scpi=" + powertest.Meter(t, 150).Addr); err == nil ||
		!strings.Contains(err.Error(), "did not show how often it measures") {
		t.Errorf("a meter that always reads the same: %v", err)
	}
	if err := start("sut:csv=/nonexistent"); err == nil || !strings.Contains(err.Error(), "by a log") {
		t.Errorf("%v", err)
	}
}

// bytesReceived returns a function that reads what an end of a veth has received.
func bytesReceived(t *testing.T, e veth.End) func() uint64 {
	t.Helper()
	var stats *rtnl.StatsReader
	if err := e.Netns.Do(func() error {
		dev, err := net.InterfaceByName(e.Dev)
		if err == nil {
			stats, err = rtnl.OpenStats(dev.Index)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stats.Close() })
	var v []uint64
	return func() uint64 {
		var err error
		if v, err = stats.Read(v[:0]); err != nil {
			return 0
		}
		return rtnl.StatsOf(v).RxBytes
	}
}
