// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

func able(plan.Cell) *Missing { return nil }

// measured are as many runs of each cell as the plan has at the least; no two cells'
// figures overlap.
func measured(s *matrix.Spec) (recs []results.Record) {
	for i, c := range s.Cells {
		for k := range leastRuns(s) {
			r := results.Record{Cell: c, Verdict: results.OK, Schema: results.SchemaVersion, SessionID: "s", Rep: k}
			r.SUT = results.Host{ThroughputGbps: new(100 + float64(i) + float64(k)/1000), CPUBusyCores: new(1.0),
				DurationS: new(1.0), Bytes: new(uint64(1e9))}
			recs = append(recs, r)
		}
	}
	return recs
}

// Whatever file comes with zcbench: figures that do not overlap get a verdict in every
// comparison that counts, and what the dry run says of them is so.
func TestShippedExperimentsGiveVerdicts(t *testing.T) {
	files, err := filepath.Glob("../experiments/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q, %v", files, err)
	}
	metrics, err := compare.Lookup(compare.DefaultMetrics[:1])
	if err != nil {
		t.Fatal(err)
	}
	var all []*matrix.Spec
	for _, f := range files {
		s, err := matrix.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, s); s.Short {
			whole, err := matrix.ReadWhole(f)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, whole)
		}
	}
	for _, s := range all {
		f := s.Name
		if s.Short {
			f += ", short"
		}
		if s.Purpose == matrix.Check {
			if s.Name != "lab" {
				t.Errorf("%s asks for no verdicts: a new file that is a check belongs in this test", f)
			}
			continue
		}
		mustForetell(t, s)
		all, unmatched, uncounted := reaches(s, able)
		if len(all) == 0 || len(unmatched)+len(uncounted) > 0 {
			t.Errorf("%s: %v, without a partner %q, nor one that counts %q", f, all, unmatched, uncounted)
			continue
		}
		plan := plan.Origin{Baseline: s.Base, Primary: s.Primary, Against: s.Against, About: s.About,
			BetweenBoots: s.BetweenBoots}
		set := compare.NewSet(f, results.Journal{Header: results.Header{Plan: &plan}, Records: measured(s)})
		r, err := compare.Within(&set, *s.Base, metrics)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for i := range r.Rows {
			row := &r.Rows[i]
			of := slices.IndexFunc(all, func(c comparisons) bool {
				return slices.Contains(strings.Split(c.factor, ", "), row.Factor) &&
					(c.name == "exploratory") == row.Exploratory
			})
			if of < 0 || row.Reach == nil || math.Abs(row.Reach.LeastP/all[of].LeastP-1) > 1e-9 ||
				row.Reach.Tests != all[of].Tests {
				t.Errorf("%s: %s by %s: foretold were %+v, and there are %+v", f, row.Label(), row.Factor, all,
					row.Reach)
				continue
			}
			n[all[of].called()]++
			if !row.Exploratory && (!all[of].Attainable() || row.Verdict == compare.Unsure) {
				t.Errorf("%s: %s: %s", f, row.Label(), row.VerdictText())
			}
		}
		for _, c := range all {
			if n[c.called()] != c.Tests {
				t.Errorf("%s: %d comparisons, foretold were %s", f, n[c.called()], c.called())
			}
		}
	}
}

// mustForetell checks that the dry run says of each family of comparisons that counts which
// difference it finds, with what chance, and warns of none, also where verdicts are required.
func mustForetell(t *testing.T, s *matrix.Spec) {
	t.Helper()
	finds := 0
	e := &Experiment{Spec: s, Policy: Policy{RequireVerdict: true}}
	err := e.foretell(able, func(l string) {
		if strings.Contains(l, "warning") {
			t.Errorf("%s: %s", s.Name, l)
		}
		if strings.Contains(l, "a difference of ") &&
			strings.Contains(l, " % is found with a chance of 80 % if runs vary by 1 % (CV)") {
			finds++
		}
	})
	if err != nil || finds == 0 {
		t.Errorf("%s: %v, %d lines say what is found", s.Name, err, finds)
	}
}

// A plan that no data could give a verdict says so, what would do, and is refused where
// verdicts are required: before anything is begun.
func TestForetell(t *testing.T) {
	planned := func(reps int, more string) *matrix.Spec {
		s, err := matrix.Parse("x", fmt.Appendf(nil, "name: x\nfactors: {rx: [tcp, tcp-trunc, uring], tx: [tcp, "+
			"sendfile, uring], mtu: [1500, 4148, 9000]}\nbaseline: {rx: tcp, tx: tcp, mtu: 1500}\nrepetitions: %d\n%s",
			reps, more))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const primary = "compare: {primary: [{tx: tcp, mtu: 1500}]}\n"
	for name, c := range map[string]struct {
		spec    *matrix.Spec
		missing func(plan.Cell) *Missing
		lines   []string
		refused bool
	}{
		"too few": {planned(6, ""), able, []string{"warning: 18 comparisons by rx, 6 runs of each cell: no data can " +
			"give a verdict: the smallest possible corrected p is 0.417, and a verdict needs less than 0.05. " +
			"repetitions: 10 makes verdicts possible, 14 finds 2 % if runs vary by 1 %; or declare at most 5 " +
			"comparisons as primary: compare: {primary: [...]}",
			"warning: 36 comparisons by tx, mtu"}, true},
		"one question": {planned(8, "compare: {about: [tx]}\n"), able,
			[]string{"18 comparisons by tx, 8 runs of each cell: the smallest possible corrected p is 0.035; a " +
				"difference of"}, false},
		"below six": {planned(5, primary), able, []string{"warning: 2 primary comparisons by rx, 5 runs",
			"52 exploratory comparisons by rx, tx, mtu, 5 runs of each cell: no data"}, true},
		"declared": {planned(8, primary), able, []string{"2 primary comparisons by rx, 8 runs of each cell: the " +
			"smallest possible corrected p is 0.0039; a difference of", "52 exploratory"}, false},
		"fewer can run": {planned(10, ""), func(c plan.Cell) *Missing {
			if c.RX == "uring" {
				return &Missing{Reason: "no", Fix: "yes"}
			}
			return nil
		}, []string{"9 comparisons by rx, 10 runs", "24 comparisons by tx, mtu, 10 runs"}, false},
		", cells without a counterpart": {planned(8, "compare: {about: [rx]}\n"), func(c plan.Cell) *Missing {
			if c.RX == "tcp" && c.TX != "tcp" {
				return &Missing{Reason: "no", Fix: "yes"}
			}
			return nil
		}, []string{"warning: 6 cells without any comparison: no cell that can run differs in just one factor: " +
			"uring/sendfile mtu=1500, ", "6 comparisons by rx"}, false},
		"no baseline": {planned(8, "compare: {about: [rx]}\n"), func(c plan.Cell) *Missing {
			if c.RX == "tcp" {
				return &Missing{Reason: "no", Fix: "yes"}
			}
			return nil
		}, nil, true},
		"a check": {planned(1, "purpose: check\n"), able, nil, false},
	} {
		e := &Experiment{Spec: c.spec}
		var lines []string
		if err := e.foretell(c.missing, func(l string) { lines = append(lines, l) }); err != nil ||
			len(lines) != len(c.lines) {
			t.Errorf("%s: %v, %q", name, err, lines)
			continue
		}
		for i := range lines {
			if !strings.HasPrefix(lines[i], c.lines[i]) {
				t.Errorf("%s: %q, want %q", name, lines[i], c.lines[i])
			}
		}
		e.RequireVerdict = true
		err := e.foretell(c.missing, func(string) {})
		if wrong := (*inputError)(nil); errors.As(err, &wrong) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s, required: %v", name, err)
		}
	}
	var out bytes.Buffer
	e := &Experiment{Spec: planned(6, ""), Policy: Policy{RequireVerdict: true}, Dir: filepath.Join(t.TempDir(), "x")}
	e.Spec.SUT.Host, e.Spec.TG.Host = "netns:zcbench-none", "netns:zcbench-none"
	if err := e.DryRun(context.Background(), &out); err == nil ||
		!strings.Contains(err.Error(), "no data can give a verdict: the smallest possible corrected p is") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Where a NIC does not split headers for tcp, zero copy has nothing to be held against: that is
// said, and no other comparison takes the place of those that were to count.
func TestPartnersThatCannotRun(t *testing.T) {
	s, err := matrix.ReadFile("../experiments/battle-of-the-zcs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	noSplit := func(c plan.Cell) *Missing {
		if c.HeaderSplit != nil && *c.HeaderSplit {
			return &Missing{Reason: "no", Fix: "yes"}
		}
		return nil
	}
	var lines []string
	e := &Experiment{Spec: s}
	if err := e.foretell(noSplit, func(l string) { lines = append(lines, l) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"warning: 4 primary cells without a comparison that counts: nothing that can run is " +
			"what the plan declares as its partner: devmem/tcp hw_gro=off", "4 primary comparisons by tx",
		"exploratory comparisons by rx"} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
			t.Errorf("no %q in %q", want, lines)
		}
	}
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, " primary comparisons by rx") }) {
		t.Errorf("others count: %q", lines)
	}
}
