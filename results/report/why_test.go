// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
	"github.com/zcbench/zcbench/results/why"
)

// whyRuns are ten blocks of two cells, the second of which copies nothing.
func whyRuns(profiled bool) results.Journal {
	cells := []plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp", Touch: "read"}, {ID: "tcp-trunc/tcp", RX: "tcp-trunc",
		TX: "tcp", Touch: "read"}}
	j := results.Journal{Header: results.Header{SessionID: "s1", Cells: cells}}
	part := func(name, class string, ns float64) results.ProfiledPart {
		return results.ProfiledPart{Name: name, Where: "thread", Class: class, SelfPerKB: &ns}
	}
	for rep := range 10 {
		for k, c := range cells {
			copied, tcp := (1-float64(k))*(60+float64(rep*7%5)), 40+float64(rep*3%7)-float64(k*rep%2)
			r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprint(k, "-", rep), SessionID: "s1", Cell: c,
				Rep: rep, Block: rep, Seq: 2*rep + k, Verdict: results.OK}
			r.SUT.Name, r.TG.Name = "netns:a", "netns:b"
			r.SUT.ThroughputGbps, r.SUT.DurationS, r.SUT.Bytes = new(8.0), new(1.0), new(uint64(1e9))
			r.SUT.CPUBusyCores = new((copied + tcp) / 1000)
			if profiled {
				p := &results.Profiled{Event: "cpu-clock", Busy: part("", "", copied+tcp),
					Classes:   []results.ProfiledPart{part("tcp", "", tcp)},
					Functions: []results.ProfiledPart{part("tcp_v4_<rcv>", "tcp", tcp)}}
				if k == 0 {
					p.Classes, p.Functions = append(p.Classes, part("copy", "", copied)),
						append(p.Functions, part("_copy_to_iter", "copy", copied))
				}
				r.SUT.Probes = &results.Probes{Profile: p}
			}
			j.Records = append(j.Records, r)
		}
	}
	return j
}

// A page has 40 comparisons, and says how many more there are.
func TestWhyMore(t *testing.T) {
	j := whyRuns(true)
	for _, r := range slices.Clone(j.Records) {
		for k := 0; k < mostWhys+2 && r.Cell.RX == "tcp"; k++ {
			x := r
			x.Cell.MTU, x.Cell.ID, x.RunID = 2000+k, fmt.Sprint("tcp/tcp mtu=", 2000+k), fmt.Sprint(r.RunID, "-", k)
			j.Records = append(j.Records, x)
		}
	}
	s := Summarize(j)
	if len(s.Why) != mostWhys || s.WhyMore != 3 {
		t.Fatalf("%d comparisons and %d more", len(s.Why), s.WhyMore)
	}
	if page := render(t, func(b *bytes.Buffer) error { return writePage(b, s) }); !bytes.Contains(page,
		[]byte("<p>3 more: zcbench compare --why</p>")) {
		t.Error("what is left out is not said")
	}
}

// The method is said once, below all comparisons, and is that of all: also of those without common
// blocks, where the last one has them.
func TestWhyMethods(t *testing.T) {
	of := func(pairs int) *why.Result {
		return &why.Result{Ends: []why.End{{CPU: why.Line{Shift: stat.Shift{Pairs: pairs}}}}}
	}
	views := whyViews([]*why.Result{of(0), of(10)})
	text := strings.Join(views[1].Method, " ")
	if len(views) != 2 || views[0].Method != nil || !strings.Contains(text, "Mann-Whitney") ||
		!strings.Contains(text, "permuted within pairs of blocks") {
		t.Errorf("%+v", views)
	}
}

// Where a report compares cells that were profiled, it says what makes the difference, in the page
// and in the summary; else there is no word of it.
func TestWhy(t *testing.T) {
	s := Summarize(whyRuns(true))
	if len(s.Why) != 1 || len(s.Why[0].Ends) != 1 || s.Why[0].Ends[0].Classes[0].Name != "copy" ||
		!s.Why[0].Ends[0].Classes[0].Differs {
		t.Fatalf("%+v", s.Why)
	}
	page := string(render(t, func(b *bytes.Buffer) error { return writePage(b, s) }))
	for _, want := range []string{"<h2>What makes the difference</h2>", "tcp-trunc/tcp (B) beside tcp/tcp (A), SUT",
		"10+10 runs, profiled by cpu-clock", `<td class="mode good">copy</td>`, "unexplained",
		"_copy_to_iter", "TG: neither cell has a profile", "docs/why.md"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(page, "<rcv>") {
		t.Error("names are not escaped")
	}
	var json bytes.Buffer
	if err := JSON(&json, s); err != nil || !strings.Contains(json.String(), `"why": [`) ||
		!strings.Contains(json.String(), `"unexplained": {`) {
		t.Errorf("%v: %s", err, json.String())
	}
	without := Summarize(whyRuns(false))
	if page := render(t, func(b *bytes.Buffer) error { return writePage(b, without) }); without.Why != nil ||
		bytes.Contains(page, []byte("What makes the difference")) {
		t.Error("a report of runs without profiles says why")
	}
}
