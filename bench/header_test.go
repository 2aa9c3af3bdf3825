// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
)

func TestPowerPlan(t *testing.T) {
	sources, auto, err := power.ParseSpecs([]string{"sut:command=meter --password hunter2?name=wall&scope=wall", "rapl",
		"auto"})
	if err != nil {
		t.Fatal(err)
	}
	on := PowerOptions{Sources: sources, Auto: auto, Interval: 200 * time.Millisecond, Idle: 2 * time.Second,
		Guard: time.Second}
	got := on.plan()
	if len(got.Sources) != 3 || !strings.HasPrefix(got.Sources[0], "sut:command=meter#") ||
		!strings.HasSuffix(got.Sources[0], "?name=wall&scope=wall") || strings.Contains(got.Sources[0], "hunter2") {
		t.Errorf("%q", got.Sources)
	}
	want := &plan.PowerPlan{Sources: []string{got.Sources[0], "rapl", "auto"}, IntervalS: .2, IdleS: 2, GuardS: 1}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Guard and rest of a session that measures no power change nothing.
	off := PowerOptions{Interval: time.Second, Idle: 10 * time.Second, Guard: 10 * time.Second}
	if d := cmp.Diff(&plan.PowerPlan{}, off.plan()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"later"}, PowerOptions{Later: true}.plan().Sources); d != "" {
		t.Error(d)
	}
}
