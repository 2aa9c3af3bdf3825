// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// A log that is joined later is judged as readings beside the run are: idle power that changed by
// more than the limit flags the run, and makes it invalid where its plan names the limit.
func TestImportJudgesIdleDrift(t *testing.T) {
	const second, start = int64(1e9), 1_700_000_000 * int64(1e9)
	at := power.Times{Load: power.Window{FromNs: start, ToNs: start + 10*second},
		IdleBefore: power.Window{FromNs: start - 30*second, ToNs: start - 20*second},
		IdleAfter:  power.Window{FromNs: start + 30*second, ToNs: start + 40*second}, GuardNs: 10 * second}
	var log strings.Builder
	for s := int64(-45); s < 60; s++ {
		watts := 101
		switch {
		case s >= -12 && s < 22:
			watts = 303
		case s >= 22:
			watts = 106
		}
		fmt.Fprintf(&log, "%d,%d\n", start/second+s, watts)
	}
	meter := filepath.Join(t.TempDir(), "meter.csv")
	if err := os.WriteFile(meter, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	spec, err := power.ParseSpec("sut:csv=" + meter + "?name=wt&uncertainty=1%")
	if err != nil {
		t.Fatal(err)
	}
	joined := func(limit *float64, asked ...string) results.Record {
		dir := t.TempDir()
		w, err := results.Create(filepath.Join(dir, "raw"),
			results.Header{SessionID: "s", Plan: &plan.Origin{Gates: plan.Gates{IdleDrift: limit, Asked: asked}}})
		if err != nil {
			t.Fatal(err)
		}
		rec := results.Record{Schema: results.SchemaVersion, RunID: "r", SessionID: "s",
			Cell: plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, Verdict: results.OK, StartUTCNs: start}
		rec.SUT = results.Host{Name: "a", DurationS: new(10.), Bytes: new(uint64(20e9)), ThroughputGbps: new(16.),
			Metrics: at.Metrics(0)}
		rec.TG.Name = "b"
		if err := errors.Join(w.Append(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		if n, err := (PowerImport{Logs: []power.Spec{spec}}).Run(filepath.Join(dir, "raw"),
			filepath.Join(dir, "out")); err != nil || n.Joined != 1 {
			t.Fatal(n, err)
		}
		j, err := results.Read(filepath.Join(dir, "out", results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		return j.Records[0]
	}
	for _, x := range []struct {
		limit *float64
		asked []string
	}{{nil, nil}, {new(.1), nil}, {new(.02), nil}, {new(.1), []string{plan.IdleDriftGate}},
		{new(.02), []string{plan.IdleDriftGate}}} {
		limit, rec := x.limit, joined(x.limit, x.asked...)
		beyond := limit != nil && *limit < .04
		if rec.SUT.PowerIdleDrift == nil || *rec.SUT.PowerIdleDrift < .04 || *rec.SUT.PowerIdleDrift > .06 ||
			slices.Contains(rec.Flags, power.FlagIdleDrift) != (beyond && x.asked == nil) {
			t.Errorf("limit %v, asked %q: drift %v, flags %q", deref(limit), x.asked, deref(rec.SUT.PowerIdleDrift),
				rec.Flags)
		}
		marked := ""
		if beyond {
			marked = power.FlagIdleDrift
		}
		for _, m := range rec.SUT.Metrics {
			if m.Name == "power_csv_wt_net_w" && m.Quality != marked {
				t.Errorf("limit %v: %s is marked %q in metrics.csv, want %q", deref(limit), m.Name, m.Quality, marked)
			}
		}
		if !slices.ContainsFunc(rec.SUT.Metrics,
			func(m measure.Metric) bool { return m.Name == "power_csv_wt_net_w" }) {
			t.Errorf("no net power: %+v", rec.SUT.Metrics)
		}
		invalid := beyond && x.asked != nil
		if (rec.Verdict == results.Invalid) != invalid || invalid &&
			!strings.Contains(rec.Reason, "SUT: idle power before and after the run differs by 4.8 % (limit 2 %)") {
			t.Errorf("limit %v: %s %q", deref(limit), rec.Verdict, rec.Reason)
		}
		// 303 W with a limit of 1 % and steps of 1 W, in energy, and in what is left above idle.
		if u := rec.SUT.JoulePerGBU(); u == nil || *u < .88 || *u > .89 || *rec.SUT.NetJoulePerGBU() < *u {
			t.Errorf("J/GB +- %v, net +- %v", deref(u), deref(rec.SUT.NetJoulePerGBU()))
		}
	}
}

// The limit of a file's gate goes with its runs, to whoever measures their power.
func TestDriftGateGoesWithRuns(t *testing.T) {
	for _, limit := range []*float64{nil, new(.05)} {
		if got := options(&matrix.Spec{Gates: plan.Gates{IdleDrift: limit}}).IdleDrift; got != limit {
			t.Errorf("limit %v: runs have %v", deref(limit), deref(got))
		}
	}
}

// What was marked because of a slow meter is not said of a log that takes its place, but stays
// where an end has the meter's figure still, or the log is as slow.
func TestImportForgetsSlowMeters(t *testing.T) {
	log := &power.Spec{}
	for name, x := range map[string]struct {
		led  map[ends.Role]*power.Spec
		told []string
		want int
	}{
		"both ends": {map[ends.Role]*power.Spec{ends.SUT: log, ends.TG: log}, nil, 1},
		"one end":   {map[ends.Role]*power.Spec{ends.SUT: log}, nil, 3},
		"as slow":   {map[ends.Role]*power.Spec{ends.SUT: log, ends.TG: log}, []string{power.FlagSlow}, 2},
	} {
		rec := results.Record{Flags: []string{power.FlagSlow, power.FlagResponse, power.FlagShortGuard}}
		rec.SUT.PowerSource, rec.TG.PowerSource = "a", "b"
		if forgetSlow(&rec, x.led, x.told); len(rec.Flags) != x.want {
			t.Errorf("%s: %q", name, rec.Flags)
		}
	}
}
