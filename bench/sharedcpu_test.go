// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// Before anything runs it is known that both ends have one CPU, and what follows; nothing comes of
// ends that have their own.
func TestForetellShared(t *testing.T) {
	on := func(boot string, own ...int) *host.Host {
		return &host.Host{Info: wire.HelloResult{Env: measure.Env{BootID: boot}, OwnCPUs: own}}
	}
	for name, x := range map[string]struct {
		tg       string
		own      []int
		sut, tgs int
		want     string // "": nothing
	}{
		"the only CPU": {"m", []int{0}, 0, 0,
			"both ends share CPU 0, the only one that they may use; rates count, but as those of one CPU"},
		"one that both were given": {"m", []int{0, 1, 2}, 2, 2,
			"both ends share CPU 2; give each its own (--sut-cpu, --tg-cpu"},
		"not pinned": {"m", []int{0, 1}, 1, -1,
			"a thread of theirs is not pinned; leave out the CPU -1 (--sut-cpu, --tg-cpu)"},
		"their own":         {"m", []int{0, 1}, 1, 0, ""},
		"their own machine": {"n", []int{0}, 0, 0, ""},
	} {
		st := &stage{hosts: &hosts{SUT: on("m", x.own...), TG: on(x.tg, x.own...)},
			spec: &matrix.Spec{Cells: []plan.Cell{{RX: "tcp", TX: "tcp"}}},
			opt:  Options{SUTFlows: []place.CPUs{{App: x.sut}}, TGFlows: []place.CPUs{{App: x.tgs}}}}
		var lines []string
		st.foretellShared(able, func(l string) { lines = append(lines, l) })
		if x.want == "" && len(lines) == 0 {
			continue
		}
		if len(lines) != 1 || x.want == "" ||
			!strings.HasPrefix(lines[0], warns+"the runs will have no CPU figures: ") ||
			!strings.Contains(lines[0], x.want) {
			t.Errorf("%s: %q, want %q", name, lines, x.want)
		}
	}
}

// What is told of a plan keeps to the width of a terminal.
func TestParagraph(t *testing.T) {
	var b strings.Builder
	say := paragraph(&b, "what the comparisons can show")
	for range 2 {
		say(strings.Repeat("1 comparison by rx, 6 runs of each cell; ", 6))
	}
	out := b.String()
	if strings.Count(out, "what the comparisons can show\n  1 comparison") != 1 ||
		strings.Count(out, "\n  1 comparison") != 2 {
		t.Error(out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
