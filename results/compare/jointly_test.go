// SPDX-License-Identifier: MIT

package compare

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// folders are a base and some others with the same cell, in one boot, each of 10
// replays that vary by 1 %.
func folders(rng *rand.Rand, others int, effect float64) (base Set, all []Set) {
	for k := range others + 1 {
		var j results.Journal
		for i := range 10 {
			r := results.Record{Cell: tcp, Verdict: results.OK, Rep: i, SessionID: fmt.Sprint("s", k, "-", i),
				Schema: results.SchemaVersion}
			gbps := 100 * (1 + .01*rng.NormFloat64())
			if k == 1 {
				gbps *= effect
			}
			r.SUT.Env.BootID, r.TG.Env.BootID, r.SUT.ThroughputGbps = "sut", "tg", &gbps
			j.Records = append(j.Records, r)
		}
		all = append(all, NewSet(fmt.Sprint("folder", k), j))
	}
	return all[0], all[1:]
}

// Who compares a folder with eight that are equal to it is told of a difference by chance in 5 % of
// all cases, and not with each of the eight; a true difference of 4 % among them is found.
func TestJointly(t *testing.T) {
	const rounds, others = 200, 8
	play := func(effect float64, joint bool) (any, first int) {
		rng := rand.New(rand.NewPCG(18, 8))
		for range rounds {
			base, sets := folders(rng, others, effect)
			var all []*Result
			for i := range sets {
				r, err := Compare(&base, &sets[i], metrics(t, "throughput_gbps"))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			if joint {
				Jointly(all)
			}
			called := func(r *Result) bool { return r.Rows[0].Verdict != Unsure }
			if slices.ContainsFunc(all, called) {
				any++
			}
			if all[0].Rows[0].Verdict == Faster {
				first++
			}
		}
		return any, first
	}
	apart, _ := play(1, false)
	together, _ := play(1, true)
	_, found := play(1.04, true)
	t.Logf("equal folders are called different in %d of %d, each by itself in %d; 4 %% are found in %d", together,
		rounds, apart, found)
	if most := rounds * (.05 + 2*math.Sqrt(.05*.95/rounds)); float64(together) > most ||
		float64(apart) < 1.5*most || found < rounds*80/100 {
		t.Errorf("equal folders are called different in %d of %d, each by itself in %d; 4 %% are found in %d", together,
			rounds, apart, found)
	}
}

// What is corrected together says so, is asked together whether it is the same, and one result by
// itself stays as it is.
func TestJointlySays(t *testing.T) {
	base, sets := folders(rand.New(rand.NewPCG(1, 1)), 3, 2)
	var all []*Result
	for i := range sets {
		r, err := Compare(&base, &sets[i], metrics(t, "throughput_gbps"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	one := all[0].Rows[0].Diff.Adjusted
	if Jointly(all[:1]); all[0].Rows[0].Diff.Adjusted != one || all[0].With != 0 {
		t.Errorf("alone: %+v", all[0].Rows[0].Diff)
	}
	Jointly(all)
	if d := all[0].Rows[0].Diff; math.Abs(d.Adjusted/(3*d.P)-1) > 1e-9 || all[0].Rows[0].Reach.Tests != 3 ||
		all[0].Rows[0].Verdict != Faster {
		t.Errorf("of three: %+v, %+v", d, all[0].Rows[0].Reach)
	}
	var b bytes.Buffer
	if err := all[2].Table(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "),
		"over all cells and figures together and all 3 sources that A is compared with.") {
		t.Errorf("%v\n%s", err, &b)
	}
	WithinAll(all, .05)
	for _, r := range all[1:] {
		if e := r.Rows[0].Equal; e == nil || e.Adjusted <= e.P {
			t.Errorf("%+v", e)
		}
	}
}
