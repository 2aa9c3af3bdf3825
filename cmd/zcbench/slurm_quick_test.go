// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// quickPlan is experiments/quick.yaml with a layout, so that there is something to be restored.
func (s *inSlurm) quickPlan(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../experiments/quick.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const last = "  message: [1M]\n"
	if strings.Count(string(text), last) != 1 {
		t.Fatalf("quick.yaml has no line %q", last)
	}
	path := filepath.Join(s.Dir, "quick.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), last, last+"  cpu_layout: 1cpu\n", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// untouched holds that nothing of ours is left on the nodes, which had the settings found.
func (s *inSlurm) untouched(t *testing.T, found string) {
	t.Helper()
	mustEnd(t, s.processes("agent"))
	mustEnd(t, s.processes("matrix"))
	if now := (&twoHosts{pair: s.pair}).settings(t); now != found {
		t.Errorf("the nodes have RPS %s, had %s\n%s", now, found, s.said())
	}
	for _, e := range []veth.End{s.pair.SUT, s.pair.TG} {
		if left := inNetns(t, e.Netns, "zcbench restore --dry-run"); !strings.Contains(left, "nothing to restore") {
			t.Errorf("left: %s", left)
		}
	}
}

// quickPairs are the pairs of these tests.
var quickPairs = [][2]string{{"n1", "n2"}, {"n2", "n1"}}

// All of experiments/quick.yaml, as it is, for two pairs by one sbatch.
func TestIntegrationSlurmQuick(t *testing.T) {
	long.Test(t)
	s := newInSlurm(t)
	found := (&twoHosts{pair: s.pair}).settings(t)
	plan, err := filepath.Abs("../../experiments/quick.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	s.submitPlan(t, "n1 n2\nn2 n1\n", plan, out)
	s.AwaitNone(15 * time.Minute)
	for _, x := range quickPairs {
		dir := filepath.Join(out, x[0]+"-"+x[1])
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("%v\n%s%s", err, s.said(), s.Logs())
		}
		j, cells := journal(t, dir), map[string]int{}
		for _, r := range j.Records {
			if r.SUT.Name != "exec:srun -w "+x[0]+" -N1 -n1 --overlap -u" {
				t.Errorf("%s: SUT %s", dir, r.SUT.Name)
			}
			if r.Verdict == "ok" {
				cells[r.Cell.ID]++
			}
		}
		t.Logf("%s: %d runs, ok: %v", filepath.Base(dir), len(j.Records), cells)
		if len(cells) != 6 || len(j.Records) < 36 || !onlyGood(t, dir) {
			t.Errorf("%s: %d runs of 6 cells, ok: %v\n%s", dir, len(j.Records), cells, s.said())
		}
	}
	s.untouched(t, found)
}

// The same with a layout, cancelled after some runs of the first pair, and once of the second: each
// time all is restored, and the runs until then are kept.
func TestIntegrationSlurmQuickCancelled(t *testing.T) {
	long.Test(t)
	s := newInSlurm(t)
	plan := s.quickPlan(t)
	const rounds = 6
	for i := range rounds {
		second := i == rounds-1 // once, since all of the first pair's runs come before
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			found := (&twoHosts{pair: s.pair}).settings(t)
			out := filepath.Join(t.TempDir(), "out")
			job := s.submitPlan(t, "n1 n2\nn2 n1\n", plan, out)
			x := quickPairs[0]
			if second {
				x = quickPairs[1]
			}
			file := filepath.Join(out, x[0]+"-"+x[1], results.JournalFile)
			// All runs of the first pair may come before: that is minutes, and no hang.
			for end := time.Now().Add(15 * time.Minute); ; await.Pause("the CPUs are the runs'", 50*time.Millisecond) {
				if j, err := results.Read(file); err == nil && len(j.Records) > i%5 &&
					(&twoHosts{pair: s.pair}).settings(t) != found {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s does not come: %s%s", file, s.said(), s.Logs())
				}
			}
			s.Run("scancel", job)
			s.AwaitNone(90 * time.Second)
			s.untouched(t, found)
			t.Logf("with %d runs of %s-%s", len(journal(t, filepath.Dir(file)).Records), x[0], x[1])
		})
	}
}
