// SPDX-License-Identifier: MIT

package main

import "testing"

// A way that several comparisons have runs once, and counts in each.
func TestGrouped(t *testing.T) {
	cs := comparisons(tools(), Field{Layouts: layouts, Flows: []int{1}, Rivals: rivals})
	groups, outcomes := grouped(cs)
	if len(groups) != 4 || len(outcomes) != len(cs) {
		t.Fatalf("%d groups of %d comparisons, want 2 layouts x 2 sizes of %d", len(groups), len(outcomes), len(cs))
	}
	for _, g := range groups {
		// tcp, uring, sendfile, trunc, both ways; iperf3, -Z (for two), --bidir, neper, netperf
		if len(g.ways) != 10 {
			t.Errorf("%s: %d ways, want 10", g.name, len(g.ways))
		}
	}
	g := groups[0]
	got := map[int]Measured{}
	for n := range g.ways {
		got[n] = Measured{Gbps: float64(n + 1)}
	}
	g.add(got, false)
	delete(got, 1) // one was not there
	g.add(got, true)
	for _, o := range g.outcomes {
		want := 2
		if o.ours == 1 || o.theirs == 1 {
			want = 1
		}
		if len(o.Ours) != want || len(o.Theirs) != want || o.Disturbed != want-1 {
			t.Errorf("%s: %d and %d runs, %d disturbed; want %d pairs", o.Comparison.Name, len(o.Ours), len(o.Theirs),
				o.Disturbed, want)
		}
		if o.Ours[0].Gbps != float64(o.ours+1) || g.ways[o.theirs].Name != o.Comparison.Theirs.Name {
			t.Errorf("%s has the runs of another way", o.Comparison.Name)
		}
	}
}

// Two builds that do the same are two ways.
func TestGroupedBuilds(t *testing.T) {
	groups, _ := grouped(builds(tools(), tools(), Field{Layouts: []Layout{Apart}, Flows: []int{2}}))
	for _, g := range groups {
		if len(g.ways) != 2*4 {
			t.Errorf("%s: %d ways, want 4 of each build", g.name, len(g.ways))
		}
	}
}

func TestUnsupportedWay(t *testing.T) {
	_, outcomes := grouped(comparisons(tools(), Field{Layouts: []Layout{Apart}, Flows: []int{1},
		Rivals: []Rival{Iperf3}}))
	for _, o := range outcomes {
		if o.Comparison.Ours.Name == "zcbench tcp -> uring" {
			o.group.lost[o.ours] = "no io_uring"
		}
	}
	for _, o := range outcomes {
		want := ""
		if o.Comparison.Ours.Name == "zcbench tcp -> uring" {
			want = "no io_uring"
		}
		if got := o.summary().Unsupported; got != want {
			t.Errorf("%s: unsupported %q, want %q", o.Comparison.Name, got, want)
		}
	}
}
