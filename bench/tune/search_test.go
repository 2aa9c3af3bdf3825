// SPDX-License-Identifier: MIT

package tune

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// The best setting is found and frozen in a file, which says the cells that are confirmed; the
// report is of other runs than the search.
func TestFindsWhatIsBestTogether(t *testing.T) {
	w := &world{truth: together}
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all, text, spec := frozenOf(t, s)
	for _, f := range all {
		if got := strings.Join(f.words(f.arm), " "); got != "message=64Ki read=1Mi" {
			t.Errorf("%s: the best is %q", f.Name, got)
		}
	}
	if spec.Base == nil || spec.Base.ID != "tcp/tcp message=64Ki read=1Mi" || spec.Repetitions != 12 ||
		spec.Duration != time.Second || spec.Cells[0].Touch != "read" || spec.SUT.Dev != "eth1" ||
		len(spec.Cells) != 4 {
		t.Errorf("%+v\n%s", spec, text)
	}
	if strings.Count(text, "seed:") != 1 || !strings.Contains(text, "# what is measured") {
		t.Errorf("%s", text)
	}
	r := s.report(all, spec.Cells, w.confirm(spec, 5000))
	if len(r.Modes) != 2 || len(r.Between) != 1 || r.Between[0].Verdict != Better || r.Starts != 12 {
		t.Errorf("%+v", r)
	}
	for _, m := range r.Modes {
		if m.Gain == nil || m.Gain.Verdict != Better || m.Gain.Low > 1.06 || m.Gain.High < 1.06 || m.Gain.Pairs != 12 {
			t.Errorf("%s: %+v, want 1.06", m.Mode, m.Gain)
		}
	}
	found := w.found()
	found.Driver.Name = "virtio_net"
	_, untold := rings(found, nil)
	r.Cannot = []Cannot{{"zcrx/tcp", "", "this kernel has no ring", "Linux 6.15"},
		{"tcp/tcp", "rx_ring", untold, ""}, {"uring/tcp", "rx_ring", untold, ""}}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.txt", b.Bytes())
	golden(t, "testdata/best.yaml", []byte(text))
}

// Where nothing differs, no setting is told to be better.
func TestFlat(t *testing.T) {
	w := &world{truth: func(*plan.Cell) float64 { return 20 }}
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all, _, spec := frozenOf(t, s)
	for _, m := range s.report(all, spec.Cells, w.confirm(spec, 5000)).Modes {
		if m.Gain != nil && m.Gain.Verdict != Equal && m.Gain.Verdict != Open || len(m.Search.Mattered) > 0 {
			t.Errorf("%s: %+v, %v mattered", m.Mode, m.Gain, m.Search.Mattered)
		}
	}
}

// What goes on from a journal is asked for the same, and ends with the same, wherever it stopped.
func TestGoesOn(t *testing.T) {
	w := &world{truth: together, refuses: func(c *plan.Cell) string {
		return map[bool]string{true: "no long messages"}[c.MessageBytes == 1<<20 && c.RX == "uring"]
	}, disturbs: func(_ *plan.Cell, rep int) bool { return rep%7 == 3 }}
	s, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
	all := w.play(t, s, 10_000, nil)
	want := s.freeze()
	for _, stopped := range []int{1, 2, 5, len(all) / 2, len(all) - 1} {
		first, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
		have := w.play(t, first, stopped, nil)
		again, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
		if got := w.play(t, again, 10_000, have); !reflect.DeepEqual(got, all) {
			t.Errorf("stopped after %d of %d starts, it had others", stopped, len(all))
		}
		for i, f := range again.freeze() {
			if f.best.Key() != want[i].best.Key() {
				t.Errorf("stopped after %d starts: %s, want %s", stopped, f.best.ID, want[i].best.ID)
			}
		}
	}
}

// What says what is measured is nothing to be tuned, and time that is too short is told.
func TestWrongInput(t *testing.T) {
	spec, err := matrix.Parse("x", []byte(strings.Replace(sizes, "touch: read", "", 1)+
		"include: [{rx: tcp, tx: tcp, touch: read}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Spaces(spec); err == nil || !strings.Contains(err.Error(), "touch differs") {
		t.Errorf("touch: %v", err)
	}
	for name, values := range map[string]string{"then": "none, splice", "tls": "none, user", "both": "false, true",
		"object": "64K, 1M", "every": "1ms, 10ms"} {
		rest := "factors: {rx: [tcp], tx: [tcp], " + name + ": [" + values + "]}\n"
		switch name {
		case "object":
			rest += "every: 10ms\n"
		case "every":
			rest += "object: 64K\n"
		}
		spec, err := matrix.Parse("x", []byte("name: x\n"+rest))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Spaces(spec); err == nil || !strings.Contains(err.Error(), name+" differs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, _ := searchOf(t, "throughput", sizes, 20*time.Second)
	err = s.Begin((&world{}).found())
	if in := (*InputError)(nil); !errors.As(err, &in) || !strings.Contains(err.Error(), "the time is too short") {
		t.Errorf("20 s: %v", err)
	}
	for _, name := range []string{"", "speed"} {
		if _, err := GoalOf(name); err == nil {
			t.Errorf("goal %q", name)
		}
	}
}
