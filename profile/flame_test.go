// SPDX-License-Identifier: MIT

package profile

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/csp/csptest"
)

var flameBox = regexp.MustCompile(`<g data-x="([0-9.]+)" data-w="([0-9.]+)" data-n="([^"]*)">`)

// A function is as wide as its share with all that it called, and lies within its caller.
func TestFlame(t *testing.T) {
	var b strings.Builder
	p := built(clock, "7 300 | copy read main", "7 100 | work main", "8 100 tcp_v4_rcv handle_softirqs | main",
		"0 900 default_idle do_idle", `7 100 | a<b>&"c main`)
	if err := p.Flame(&b, "<title>"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, wrong := range csptest.Check(page) {
		t.Error(wrong)
	}
	type box struct{ x, w float64 }
	got := map[string]box{}
	for _, m := range flameBox.FindAllStringSubmatch(page, -1) {
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		w, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		got[m[3]] = box{x, w}
	}
	want := map[string]float64{"all": 1, "app7": 5. / 6, "main": 5. / 6, "read": .5, "copy": .5, "work": 1. / 6,
		"[softirq]": 1. / 6, "handle_softirqs": 1. / 6, "tcp_v4_rcv": 1. / 6, "a&lt;b&gt;&amp;&#34;c": 1. / 6}
	for name, w := range want {
		if g, ok := got[name]; !ok || g.w < w-1e-6 || g.w > w+1e-6 {
			t.Errorf("%s is %v wide (%v), want %v", name, g.w, ok, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d boxes, want %d", len(got), len(want))
	}
	if in, out := got["read"], got["main"]; in.x < out.x-1e-6 || in.x+in.w > out.x+out.w+1e-6 {
		t.Errorf("read %+v is not within main %+v", in, out)
	}
	if strings.Contains(page, "<title>&lt;title&gt;</title>") == false || strings.Contains(page, "a<b") ||
		strings.Contains(page, "http://") || strings.Contains(page, "src=") {
		t.Error("names are not escaped, or the page wants something of elsewhere")
	}
	if !strings.Contains(page, "copy: 50.00 %, application") {
		t.Error("no share is told")
	}
	b.Reset()
	if err := (&Profile{}).Flame(&b, "nothing"); err != nil || strings.Contains(b.String(), "<g ") {
		t.Errorf("%v: a graph of nothing", err)
	}
}
