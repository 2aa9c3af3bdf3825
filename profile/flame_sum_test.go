// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
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
		if err := s.Add(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	d, err := s.Draw(&b, 100)
	if err != nil || s.Empty() {
		t.Fatal(err, s.Empty())
	}
	got := boxesOf(t, b.String())
	for name, want := range map[string]float64{"all": 1, "app7": 3500. / 4000, "main": 3500. / 4000,
		"copy": 2500. / 4000, "work": 1000. / 4000, "[softirq]": 500. / 4000, "tcp_v4_rcv": 500. / 4000} {
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
	if err := s.Add(t.Context(), kept(t, built(clock, "7 100 | [ended] [ended] [ended]", "7 100 | again again main"),
		0)); err != nil {
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
	if err := s.Add(t.Context(), kept(t, built(clock, stacks...), 0)); err != nil {
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
	if math.Abs(d.Folded-(1-five/all)) > 1e-9 ||
		!strings.Contains(d.String(), fmt.Sprintf("190 others, together %.1f %%", 100*d.Folded)) {
		t.Errorf("%g folded, want %g: %s", d.Folded, 1-five/all, d)
	}
}

// What a profile of a stranger says is bounded and escaped.
func TestSumOfStranger(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	deep := strings.Repeat("f ", deepest+50)
	p := built(clock, "7 100 | "+evil+" main", "7 100 | "+strings.Repeat("x", 5000)+" main")
	s := NewSum()
	if err := s.Add(t.Context(), kept(t, p, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), kept(t, built(clock, "7 200 | "+deep+" main"), 0)); err != nil {
		t.Fatal(err)
	}
	odd := kept(t, p, 0)
	odd.Sample[0].Label = map[string][]string{"class": {"<class>"}}
	odd.Location[0].Line[0].Function = nil
	odd.Sample[1].Value[1] = -5
	if err := s.Add(t.Context(), odd); err != nil {
		t.Fatal(err)
	}
	odd.SampleType = odd.SampleType[:1]
	if err := s.Add(t.Context(), odd); err == nil {
		t.Error("a profile without nanoseconds is added")
	}
	var b strings.Builder
	d, err := s.Draw(&b, 1000)
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<class>") ||
		!strings.Contains(page, "&lt;script&gt;") {
		t.Error("a text got through unescaped")
	}
	if strings.Contains(page, strings.Repeat("x", longestName)) ||
		!strings.Contains(page, strings.Repeat("x", longestName-1)+"…") {
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

// nameless is a profile of a few kB whose stacks have more functions than anybody could look at: so
// many samples of one place, in which a function without a name is inlined over and over, and in it
// one that has a name.
func nameless(lines, samples int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	ended, work := &profile.Function{ID: 1, Name: "[ended]"}, &profile.Function{ID: 2, Name: "work"}
	l := &profile.Location{ID: 1, Line: make([]profile.Line, 1+lines)}
	l.Line[0].Function = work
	for i := range lines {
		l.Line[1+i].Function = ended
	}
	p.Function, p.Location = []*profile.Function{ended, work}, []*profile.Location{l}
	for range samples {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{1}})
	}
	return p
}

// What is passed over is counted, too: whatever stands in a stack, a graph looks at so many of its
// functions. What is below counts as the last one's.
func TestSumPassesOverNoMore(t *testing.T) {
	for _, x := range []struct {
		lines int
		deep  bool
	}{{longest - 1, true}, {longest, false}, {400_000, false}} {
		s := NewSum()
		if err := s.Add(t.Context(), nameless(x.lines, 3)); err != nil {
			t.Fatal(err)
		}
		at := s.tree.known(top, "[ended]")
		if deep := s.tree.known(at, "work") != none; deep != x.deep || s.cut[at] != map[bool]float64{false: 3}[deep] {
			t.Errorf("%d functions without a name: what is below them is drawn: %v, and %g is cut", x.lines, deep,
				s.cut[at])
		}
	}
	odd := nameless(400_000, 1)
	for i := range odd.Location[0].Line[1:] {
		odd.Location[0].Line[1+i].Function = nil
	}
	s := NewSum()
	if err := s.Add(t.Context(), odd); err != nil || s.tree.known(top, "work") != none || s.cut[top] != 1 {
		t.Errorf("%v: lines without functions have no end", err)
	}
}

// A profile that is short and has stacks without end is refused before anybody follows them: in a
// folder, and by who gets it from an agent.
func TestStepsAreBounded(t *testing.T) {
	if n := Steps(nameless(9, 7)); n != 7*(1+1+10) {
		t.Errorf("%d steps", n)
	}
	for samples, ok := range map[int]bool{mostSteps / longest: true, mostSteps/longest + 1: false} {
		var b bytes.Buffer
		if err := nameless(100_000, samples).Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(b.Bytes()); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "functions in all") {
			t.Errorf("%d samples in %d bytes: %v", samples, b.Len(), err)
		}
	}
}

// Whoever waits for a graph may leave.
func TestSumEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	s := NewSum()
	if err := s.Add(ctx, nameless(1, 10)); err == nil || !strings.Contains(err.Error(), "enough") || !s.Empty() {
		t.Errorf("%v, empty %v", err, s.Empty())
	}
}

// manyPlaces is a profile of few functions that call each other in as many ways as are asked for.
func manyPlaces(ways int) *profile.Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	for i := range 100 {
		f := &profile.Function{ID: uint64(i + 1), Name: "f" + strconv.Itoa(i)}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}})
	}
	for i := range ways {
		s := &profile.Sample{Value: []int64{1}}
		for range 4 {
			s.Location, i = append(s.Location, p.Location[i%100]), i/100
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// A graph takes no more memory than it may, whatever a profile asks for: here some 100 MB, in which
// is all that was thrown away meanwhile.
func TestSumTakesLittleMemory(t *testing.T) {
	p := manyPlaces(600_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := NewSum()
	if err := s.Add(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	d, err := s.Draw(io.Discard, 1000)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 160 {
		t.Errorf("%d MiB", mb)
	}
	if n := len(s.tree.nodes); n != mostNodes || d.Functions+d.Hidden != n-1 {
		t.Errorf("%d places, %+v", n, d)
	}
	long := manyPlaces(1)
	for i := range long.Function[:2] {
		long.Function[i].Name = strings.Repeat("x", mostNames-100*i)
	}
	s = NewSum()
	if err := s.Add(t.Context(), long); err != nil || s.tree.length > mostNames {
		t.Errorf("%v: %d bytes of names", err, s.tree.length)
	}
}
