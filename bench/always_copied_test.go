// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

func pairsOf(rx, tx []string) (cells []plan.Cell) {
	for _, r := range rx {
		for _, t := range tx {
			cells = append(cells, plan.Cell{ID: r + "/" + t, RX: r, TX: t})
		}
	}
	return cells
}

func idsOf(cells []plan.Cell) (ids []string) {
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	return ids
}

// Of each mode that cannot but copy on veth one cell is left, with another end that copies by
// design; where there is none, one all the same.
func TestFoldCopied(t *testing.T) {
	for _, x := range []struct{ rx, tx, want []string }{
		{[]string{"tcp-mmap", "tcp", "uring"}, []string{"msg-zerocopy", "tcp", "uring-zc"},
			[]string{"tcp/tcp", "uring/tcp", "tcp-mmap/tcp", "tcp/msg-zerocopy", "tcp/uring-zc"}},
		{[]string{"tcp-mmap"}, []string{"msg-zerocopy"}, []string{"tcp-mmap/msg-zerocopy"}},
		{[]string{"tcp-mmap"}, []string{"msg-zerocopy", "uring-zc"}, []string{"tcp-mmap/msg-zerocopy",
			"tcp-mmap/uring-zc"}},
		{[]string{"tcp"}, []string{"tcp"}, []string{"tcp/tcp"}},
	} {
		got := foldCopied(pairsOf(x.rx, x.tx))
		for name := range map[string]bool{"tcp-mmap": true, "msg-zerocopy": true, "uring-zc": true} {
			if (slices.Contains(x.rx, name) || slices.Contains(x.tx, name)) &&
				!slices.ContainsFunc(got, func(c plan.Cell) bool { return c.RX == name || c.TX == name }) {
				t.Errorf("%v x %v: %s is gone", x.rx, x.tx, name)
			}
		}
		slices.Sort(x.want)
		ids := idsOf(got)
		slices.Sort(ids)
		if d := cmp.Diff(x.want, ids); d != "" {
			t.Errorf("%v x %v (-want +got):\n%s", x.rx, x.tx, d)
		}
		if d := cmp.Diff(got, foldCopied(got)); d != "" {
			t.Errorf("folding again changes something:\n%s", d)
		}
	}
}

// What is left out is named.
func TestLeftOut(t *testing.T) {
	all := pairsOf([]string{"tcp", "uring"}, []string{"tcp", "msg-zerocopy"})
	if got := leftOut(all, foldCopied(all)); !strings.HasSuffix(got, ": uring/msg-zerocopy") {
		t.Errorf("%q", got)
	}
	if got := leftOut(all, all); got != "" {
		t.Errorf("nothing was left out: %q", got)
	}
}

// They are run once, without a warm-up, where they are folded and the path copies; elsewhere as
// often as all others.
func TestTriedOnce(t *testing.T) {
	cells := pairsOf([]string{"tcp"}, []string{"tcp", "msg-zerocopy"})
	for _, x := range []struct {
		name string
		fold bool
		most *float64 // that may be copied
		st   *stage
		want int // runs of msg-zerocopy, warm-up included
	}{
		{"own link", true, nil, &stage{hosts: &hosts{pair: &veth.Pair{}}, opt: Options{SUTDev: "sut0"}}, 1},
		{"loopback", true, nil, &stage{hosts: &hosts{}}, 1},
		{"somebody's link", true, nil, &stage{hosts: &hosts{}, opt: Options{SUTDev: "eth0"}}, 5},
		{"not folded", false, nil, &stage{hosts: &hosts{pair: &veth.Pair{}}}, 5},
		{"copies may be some", true, new(.5), &stage{hosts: &hosts{pair: &veth.Pair{}}}, 1},
		{"copies count", true, new(1.), &stage{hosts: &hosts{pair: &veth.Pair{}}}, 5},
	} {
		once := (&Experiment{Policy: Policy{Shape: matrix.Shape{FoldCopied: x.fold}},
			Spec: &matrix.Spec{Gates: plan.Gates{Copied: x.most}}}).triedOnce(x.st)
		n := map[string]int{}
		for _, p := range planTried(matrix.Interleave(cells, 4, true, 1), once) {
			if n[p.Cell.TX]++; p.Warmup && p.Cell.TX != "tcp" && x.want == 1 {
				t.Errorf("%s: a warm-up of %s", x.name, p.Cell.ID)
			}
		}
		if n["tcp"] != 5 || n["msg-zerocopy"] != x.want {
			t.Errorf("%s: runs %v, want %d of msg-zerocopy", x.name, n, x.want)
		}
	}
}

// Among cells that take turns such a run is by itself, and no part of what is made again.
func TestTriedOnceInTurns(t *testing.T) {
	s := matrix.New()
	s.Cells = []plan.Cell{{ID: "a", RX: "tcp", TX: "tcp"}, {ID: "b", RX: "tcp", TX: "msg-zerocopy"},
		{ID: "c", RX: "uring", TX: "tcp"}}
	s.Repetitions = 3
	if c := s.ChooseOrder(""); c.Why != "" {
		t.Fatal(c.Why)
	}
	runs := planTried(s.Runs(), func(c plan.Cell) bool { return c.TX == "msg-zerocopy" })
	a := &again{Plan: runs}
	if p := runs[0]; len(runs) != 9 || p.Cell.ID != "b" || !p.Once || p.Group != 0 || p.Warmup || a.ofBlock(p) {
		t.Errorf("%d runs, the first %+v", len(runs), p.Cell.ID)
	}
	for left := runs[1:]; len(left) > 0; left = left[2:] {
		if n := len(matrix.Start(left)); n != 2 {
			t.Errorf("a start of %d", n)
		}
	}
	if o := (Options{Duration: time.Second}); o.window(runs[0]) != onceWindow || o.window(runs[8]) != time.Second {
		t.Errorf("windows of %v and %v", o.window(runs[0]), o.window(runs[8]))
	}
}
