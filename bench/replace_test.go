// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// A block of which something else spoilt a run is made again in its place, whole, twice at most. A
// warm-up is not.
func TestIntegrationReplacedInPlace(t *testing.T) {
	r := newRig(t)
	r.bounded(32 << 20)
	never := -1.0 // less than nothing: all are spoilt
	r.Gates, r.Again = plan.Gates{ForeignCores: &never}, &again{}
	a, b := cell("tcp", "tcp"), cell("tcp-trunc", "tcp")
	p := interleaved(2, a, b)
	warm := p[0]
	warm.Warmup = true
	recs, err := r.Play(t.Context(), append(slices.Clone(p[:2]), warm))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for i, rec := range recs {
		got = append(got, fmt.Sprint(rec.Cell.ID, " #", rec.Rep, " block ", rec.Block))
		if spoilt := rec.Verdict == results.Invalid && rec.Gate == plan.ByEnvironment &&
			rec.Spoilt(); rec.Seq != i || spoilt == rec.Warmup || rec.Try != min(i/2+1, 4)%4 {
			t.Errorf("run %d: seq %d: %s by %s: %s", i, rec.Seq, rec.Verdict, rec.Gate, rec.Reason)
		}
	}
	for range 3 {
		for _, run := range p[:2] {
			want = append(want, fmt.Sprint(run.Cell.ID, " #", run.Rep, " block ", run.Block))
		}
	}
	want = append(want, fmt.Sprint(warm.Cell.ID, " #", warm.Rep, " block ", warm.Block))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the order (-want +got):\n%s", d)
	}
	j := results.Journal{Records: r.journal(t)}
	judge.Apply(&j)
	if o := OutcomeOf(j); o.Spoilt != 2 || o.Invalid != 2 {
		t.Errorf("%+v", o)
	}
}

// Where a plan is to end in time, nothing is made again after that.
func TestIntegrationReplacedInTime(t *testing.T) {
	r := newRig(t)
	r.bounded(32 << 20)
	never := -1.0
	r.Gates, r.Again = plan.Gates{ForeignCores: &never}, &again{For: time.Nanosecond}
	recs, err := r.Play(t.Context(), interleaved(1, cell("tcp", "tcp")))
	if err != nil || len(recs) != 1 || !recs[0].Spoilt() {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

// Of cells in turns a start is made again once, and the last one as often as the others left.
func TestStartsAgainOnce(t *testing.T) {
	for _, x := range []struct {
		spoilt []int // repetitions
		want   []int // tries of each
	}{{[]int{0, 1, 2}, []int{2, 2, 1}}, {[]int{2}, []int{1, 1, 3}}, {[]int{0, 2}, []int{2, 1, 2}}} {
		p := interleaved(3, cell("tcp", "tcp"), cell("tcp-trunc", "tcp"))
		a := &again{Plan: p, Most: 4, Once: true}
		a.begin()
		var got []int
		for left := p; len(left) > 0; {
			block := a.block(left)
			left = left[len(block):]
			tries := 0
			turn := func(runs []matrix.Run) (made []results.Record, again bool, err error) {
				for _, r := range runs {
					rec := results.Record{Cell: r.Cell, Rep: r.Rep, Try: r.Try, Verdict: results.OK}
					if tries = r.Try; slices.Contains(x.spoilt, r.Rep) {
						rec.Fail(plan.ByEnvironment, "foreign load", "end it")
					}
					made = append(made, rec)
				}
				return made, false, nil
			}
			if _, err := a.play(block, 2, func(matrix.Run) {}, turn); err != nil {
				t.Fatal(err)
			}
			got = append(got, tries)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("spoilt %v: tries %v, want %v", x.spoilt, got, x.want)
		}
	}
}
