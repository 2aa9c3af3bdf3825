// SPDX-License-Identifier: MIT

package end

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// A layout that was not kept, or not obtained, is others' doing; how it was made is flagged.
func TestKeptLayout(t *testing.T) {
	for _, x := range []struct {
		layout    Layout
		want, fix string
		warnings  int
	}{
		{Layout{By: "irq", Words: "w"}, "", "", 0}, {Layout{By: "rps", Words: "w"}, "", "", 1},
		{Layout{By: "irq", Words: "w", Broken: &fault.Error{Op: "moved", How: "pin it"}},
			"the CPU layout was not kept: moved", "pin it", 0},
		{Layout{By: "rps", Words: "w", Misplaced: "on CPU 3"}, "the CPU layout was not obtained: on CPU 3 (w)",
			"something else steers packets", 1},
		{Layout{By: "irq", Dev: "eth0", Words: "w", Misplaced: "on CPU 3"},
			"the CPU layout was not obtained: on CPU 3 (w)", "something else moves the work", 0},
	} {
		v := (&Evidence{Layout: &x.layout}).Judge()
		flags := []string{"softirq-by-" + x.layout.By}
		if x.want != "" {
			flags = append(flags, results.FlagDisturbed)
		}
		if v.Reason != x.want || !strings.HasPrefix(v.Fix, x.fix) || len(v.Warnings) != x.warnings ||
			!slices.Equal(v.Flags, flags) {
			t.Errorf("%+v: %+v", x.layout, v)
		}
	}
}

// NAPI that somebody else has set meanwhile disturbs.
func TestKeptPoll(t *testing.T) {
	v := (&Evidence{Unpolled: &fault.Error{Op: "napi 3 is off", How: "find out"}}).Judge()
	if v.Verdict != results.Invalid || v.Reason != "who polls did not stay as it was set: napi 3 is off" ||
		v.Fix != "find out" || !slices.Equal(v.Flags, []string{results.FlagDisturbed}) {
		t.Errorf("%+v", v)
	}
}

// A kernel that times eBPF programs disturbs.
func TestUntimed(t *testing.T) {
	if v := (&Evidence{TimedBPF: true}).Judge(); v.Verdict != results.Invalid || !slices.Equal(v.Flags,
		[]string{results.FlagDisturbed}) || !strings.HasPrefix(v.Reason, "bpf_stats was on") {
		t.Errorf("%+v", v)
	}
	if v := (&Evidence{}).Judge(); v.Verdict != results.OK || len(v.Flags) > 0 {
		t.Errorf("%+v", v)
	}
}
