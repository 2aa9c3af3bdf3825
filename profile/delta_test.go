// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/zcbench/zcbench/internal/csp/csptest"
)

var deltaBoxes = regexp.MustCompile(`<g data-a="([0-9.]+)" data-b="([0-9.]+)" data-u="([0-9.]+)" ` +
	`data-n="([^"]*)"><rect x="([0-9.]+)" y="\d+" width="([0-9.]+)" height="\d+" ` +
	`fill="(#[0-9a-f]{6})"><title>([^<]*)</title>`)

// kept is a profile as a results folder keeps it, of so much busy time.
func keptOf(t *testing.T, busyNs float64, stacks ...string) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := built(clock, stacks...).Pprof(busyNs, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Two runs of A, of other payloads, took 40 ns per kB to copy and 60 to work; a run of B copied
// nothing and worked 80. Each run counts by its own payload.
func TestDelta(t *testing.T) {
	d := NewDelta()
	for _, x := range []struct {
		side   int
		busyNs float64
		kb     float64
		stacks []string
	}{
		{sideA, 1e6, 1e4, []string{"7 400 | copy read main", "7 600 | work main", "0 900 default_idle do_idle"}},
		{sideA, 4e6, 4e4, []string{"7 40 | copy read main", "7 60 | work main"}},
		{sideB, 8e5, 1e4, []string{"7 300 | work main"}},
	} {
		if err := d.Add(t.Context(), x.side, keptOf(t, x.busyNs, x.stacks...), x.kb); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := d.Flame(&b, "<B : A>", []string{"2+1 runs & more"}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, wrong := range csptest.Check(page) {
		t.Error(wrong)
	}
	got := map[string][3]float64{}
	fills, says := map[string]string{}, map[string]string{}
	for _, m := range deltaBoxes.FindAllStringSubmatch(page, -1) {
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		got[m[4]], fills[m[4]], says[m[4]] = v, m[7], m[8]
	}
	want := map[string][3]float64{"all": {100, 80, 120}, "app7": {100, 80, 120}, "main": {100, 80, 120},
		"read": {40, 0, 40}, "copy": {40, 0, 40}, "work": {60, 80, 80}}
	for name, w := range want {
		for i := range w {
			if math.Abs(got[name][i]-w[i]) > 1e-3 {
				t.Errorf("%s: %v, want %v", name, got[name], w)
				break
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d boxes, want %d: %v", len(got), len(want), got)
	}
	if fills["copy"] != deltaFill(-1) || fills["work"] != deltaFill(.5) || !strings.HasPrefix(says["work"],
		"work: A 60.00, B 80.00, B - A +20.00 ns/kB") {
		t.Errorf("%v, %v", fills, says)
	}
	for _, want := range []string{"<title>&lt;B : A&gt;</title>", "2+1 runs &amp; more",
		"A 100.00, B 80.00, B - A -20.00 ns of CPU per kB", `class="find"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "http://") || strings.Contains(page, "src=") || strings.Contains(page, "<B :") {
		t.Error("the page wants something of elsewhere, or its title is not escaped")
	}
}

// Of nothing there is a page without boxes, and what is no profile of busy time is refused.
func TestDeltaOfNothing(t *testing.T) {
	d := NewDelta()
	var b strings.Builder
	if err := d.Flame(&b, "nothing", nil); err != nil || strings.Contains(b.String(), "<g ") {
		t.Errorf("%v: a graph of nothing", err)
	}
	if err := d.Add(t.Context(), sideA, keptOf(t, 1e6, "7 1 | work main"), 0); err == nil {
		t.Error("a run without payload was added")
	}
	if err := d.Add(t.Context(), sideA,
		&profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}}, 1); err == nil {
		t.Error("a profile of memory was added")
	}
	deep := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	s := &profile.Sample{Value: []int64{10}}
	for i := range 10 * deepest {
		s.Location = append(s.Location,
			&profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: "f" + strconv.Itoa(i)}}}})
	}
	deep.Sample = []*profile.Sample{s}
	if err := d.Add(t.Context(), sideB, deep, 1); err != nil || len(d.sides[sideB].tree.nodes) > 1+deepest {
		t.Errorf("%v, %d functions of a stack without end", err, len(d.sides[sideB].tree.nodes))
	}
}

// Of a stranger's profile names are shortened wherever they stand, and classes that nobody knows
// are one.
func TestDeltaOfStranger(t *testing.T) {
	long := strings.Repeat("x", 5000)
	p := keptOf(t, 1e6, "7 100 | "+long+" main")
	for i := range 50 {
		s := *p.Sample[0]
		s.Label = map[string][]string{"class": {"<class " + strconv.Itoa(i) + ">"}}
		p.Sample = append(p.Sample, &s)
	}
	d := NewDelta()
	if err := d.Add(t.Context(), sideA, p, 1); err != nil {
		t.Fatal(err)
	}
	all := map[Class]float64{}
	for i, v := range d.sides[sideA].tree.nodes[top].classes {
		if v > 0 {
			all[Classes[i].Class] = v
		}
	}
	if len(all) != 2 || all[Other] == 0 || all[Application] == 0 {
		t.Errorf("%d classes: %v", len(all), all)
	}
	var b strings.Builder
	if err := d.Flame(&b, "long", nil); err != nil {
		t.Fatal(err)
	}
	short := strings.Repeat("x", longestName-1)
	if page := b.String(); strings.Contains(page, short+"x") || strings.Count(page, short+"…") < 2 {
		t.Error("a name without end is drawn in full, or not at all")
	}
}
