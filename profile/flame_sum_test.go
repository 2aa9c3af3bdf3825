// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// kept is a profile as it is read from a results folder.
func kept(t *testing.T, p *Profile, busyNs float64) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Pprof(busyNs, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type drawnBox struct{ x, w float64 }

// boxesOf reads a graph: each function's boxes.
func boxesOf(t *testing.T, page string) map[string][]drawnBox {
	t.Helper()
	out := map[string][]drawnBox{}
	for _, m := range flameBox.FindAllStringSubmatch(page, -1) {
		x, err1 := strconv.ParseFloat(m[1], 64)
		w, err2 := strconv.ParseFloat(m[2], 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		out[m[3]] = append(out[m[3]], drawnBox{x, w})
	}
	return out
}

// The runs of a cell are one graph: by their busy time, without idle samples.
func TestSum(t *testing.T) {
	s := NewSum()
	if !s.Empty() {
		t.Error("nothing is something")
	}
	for _, p := range []*profile.Profile{
		kept(t, built(clock, "7 100 | copy main", "7 100 | work main", "0 900 default_idle do_idle"), 2000),
		kept(t, built(clock, "7 300 | copy main", "8 100 tcp_v4_rcv handle_softirqs | main"), 2000),
	} {
		if err := s.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	d, err := s.Draw(&b, 100)
	if err != nil || s.Empty() {
		t.Fatal(err, s.Empty())
	}
	got := boxesOf(t, b.String())
	for name, want := range map[string]float64{"all": 1, "app7": 3500. / 4000, "main": 3500. / 4000, "copy": 2500. / 4000, "work": 1000. / 4000, "[softirq]": 500. / 4000, "tcp_v4_rcv": 500. / 4000} {
		if len(got[name]) != 1 || math.Abs(got[name][0].w-want) > 1e-6 {
			t.Errorf("%s: %+v, want %g", name, got[name], want)
		}
	}
	if len(got) != 8 || d.Functions != 7 || d.Hidden != 0 || d.Folded != 0 || !strings.Contains(d.String(), "All 7 ") {
		t.Errorf("%d boxes, %+v: %s", len(got), d, d)
	}
	if !strings.Contains(b.String(), `class="find"`) || strings.Contains(b.String(), "<script") {
		t.Error("a part of a page has its field, and no script of its own")
	}
}

// Functions without names are one box, however deep they call each other; those with names are not.
func TestSumJoinsNameless(t *testing.T) {
	s := NewSum()
	if err := s.Add(kept(t, built(clock, "7 100 | [ended] [ended] [ended]", "7 100 | again again main"), 0)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := s.Draw(&b, 100); err != nil {
		t.Fatal(err)
	}
	if got := boxesOf(t, b.String()); len(got["[ended]"]) != 1 || len(got["again"]) != 2 {
		t.Errorf("%+v", got)
	}
}

// A graph has no more boxes than it may: those with the most time, each on its caller's, and it is
// said how much the others are.
func TestSumFolds(t *testing.T) {
	var stacks []string
	for i := range 100 {
		stacks = append(stacks, fmt.Sprintf("7 %d | leaf%d mid%d main", 100+i, i, i))
	}
	s := NewSum()
	if err := s.Add(kept(t, built(clock, stacks...), 0)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	d, err := s.Draw(&b, 13) // all, app7, main; then mid99, leaf99, mid98, leaf98, ... mid95, leaf95
	if err != nil {
		t.Fatal(err)
	}
	got := boxesOf(t, b.String())
	if len(got) != 13 || d.Functions != 12 || d.Hidden != 203-13 {
		t.Fatalf("%d boxes, %+v", len(got), d)
	}
	all, five := 0., 0.
	for i := range 100 {
		all += 100 + float64(i)
		if i >= 95 {
			five += 100 + float64(i)
			leaf, mid := got[fmt.Sprint("leaf", i)], got[fmt.Sprint("mid", i)]
			if len(leaf) != 1 || len(mid) != 1 || leaf[0] != mid[0] {
				t.Errorf("leaf%d %+v, mid%d %+v", i, leaf, i, mid)
			}
		}
	}
	if math.Abs(d.Folded-(1-five/all)) > 1e-9 || !strings.Contains(d.String(), fmt.Sprintf("190 others, together %.1f %%", 100*d.Folded)) {
		t.Errorf("%g folded, want %g: %s", d.Folded, 1-five/all, d)
	}
}

// What a profile of a stranger says is bounded and escaped.
func TestSumOfStranger(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	deep := strings.Repeat("f ", deepest+50)
	p := built(clock, "7 100 | "+evil+" main", "7 100 | "+strings.Repeat("x", 5000)+" main")
	s := NewSum()
	if err := s.Add(kept(t, p, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(kept(t, built(clock, "7 200 | "+deep+" main"), 0)); err != nil {
		t.Fatal(err)
	}
	odd := kept(t, p, 0)
	odd.Sample[0].Label = map[string][]string{"class": {"<class>"}}
	odd.Location[0].Line[0].Function = nil
	odd.Sample[1].Value[1] = -5
	if err := s.Add(odd); err != nil {
		t.Fatal(err)
	}
	odd.SampleType = odd.SampleType[:1]
	if err := s.Add(odd); err == nil {
		t.Error("a profile without nanoseconds is added")
	}
	var b strings.Builder
	d, err := s.Draw(&b, 1000)
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<class>") || !strings.Contains(page, "&lt;script&gt;") {
		t.Error("a text got through unescaped")
	}
	if strings.Contains(page, strings.Repeat("x", longestName)) || !strings.Contains(page, strings.Repeat("x", longestName-1)+"…") {
		t.Error("a name without end is drawn in full")
	}
	if d.Functions > deepest+10 || d.Folded <= 0 {
		t.Errorf("a stack without end: %+v", d)
	}
	if d, err := s.Draw(&b, 1); err != nil || math.Abs(d.Folded-1) > 1e-9 {
		t.Errorf("a stack that is cut below what is folded counts once: %+v, %v", d, err)
	}
	for _, c := range []int{0, 1} {
		if d, err := s.Draw(&b, c); err != nil || d.Functions != 0 {
			t.Errorf("at most %d: %+v, %v", c, d, err)
		}
	}
}
