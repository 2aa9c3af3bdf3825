// SPDX-License-Identifier: MIT

package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/environment"
)

// Every run names the snapshots of its hosts, which are in the folder: with what its cell had
// set, and of what is found before and after nothing else.
func TestIntegrationEnvironment(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	text := strings.Replace(small, "rx: [tcp, uring, devmem], tx: tcp, message: 1M",
		"rx: [tcp, uring, devmem], tx: tcp, gro: [\"on\", \"off\"]", 1)
	e := experiment(t, text)
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, e.Dir)
	folder := environment.Open(e.Dir)
	found, err := folder.Get(j.Header.Plan.SUT.Environment)
	if err != nil {
		t.Fatal(err)
	}
	if boot, _ := found.Value("boot/id"); boot == "" || boot != j.Header.Plan.SUT.BootID {
		t.Errorf("boot %q, the plan says %q", boot, j.Header.Plan.SUT.BootID)
	}
	if driver, _ := found.Value("nic/driver"); driver != "veth" {
		t.Errorf("driver %q: it is not the interface of the flow", driver)
	}
	seen := map[string]int{}
	for _, r := range j.Records {
		for _, role := range ends.Roles {
			s, err := folder.Get(r.Host(role).Env.Environment)
			if err != nil {
				t.Fatalf("run %s, %s: %v", r.RunID, role, err)
			}
			if gro, _ := s.Value("nic/feature rx-gro"); r.Verdict != results.Unsupported && role == ends.SUT {
				seen[plan.LookupOption("gro").Value(&r.Cell)+" found "+gro]++
			}
		}
		if r.Verdict == results.Unsupported && r.SUT.Env.Environment != j.Header.Plan.SUT.Environment {
			t.Error("a cell that never ran has a snapshot of its own")
		}
	}
	if len(seen) != 2 || seen["on found on"] == 0 || seen["off found off"] == 0 {
		t.Errorf("%v", seen)
	}
	mustKnowNodes(t, j)
	lines := strings.Join(compare.AcrossCells(folderOf(t, e.Dir), &j), "\n")
	if !strings.Contains(lines, "SUT nic/feature rx-gro: ") {
		t.Errorf("%s", lines)
	}
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, "nic/feature ") { // features follow others; nothing else was set
			t.Errorf("the cells differ in %s", line)
		}
	}
	if t.Failed() {
		for _, r := range j.Records {
			t.Logf("%s %s: %s", r.Cell.ID, r.Verdict, r.Reason)
		}
	}
}

// A cell whose look at the hosts fails says so and names no snapshot: that of the session is not
// what it found. Its next run looks again.
func TestIntegrationEnvironmentNotKnown(t *testing.T) {
	r := newRig(t)
	ctx := t.Context()
	found, err := r.Runner.Opt.surveys(ctx, r.sut, r.tg, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &hostSnapshots{found: found, names: map[ends.Role]string{},
		cells: map[plan.CellKey]map[ends.Role]string{}}
	for role, was := range found {
		s.names[role] = was.Hash()
	}
	r.Runner.env = s
	c := cell("tcp", "tcp")
	if s.hash(c, ends.SUT) != s.names[ends.SUT] {
		t.Error("a cell that never ran has a snapshot of its own")
	}
	r.restartBad(t, `"error":{"verdict":"failed","message":"no sysfs here"}`, wire.OpSurvey)
	if err := r.Runner.replaceLostAgents(ctx); err != nil {
		t.Fatal(err)
	}
	got := s.look(ctx, &r.Runner.Opt, r.sut, r.tg, c)
	if len(got) != 1 || !strings.Contains(got[0], "no snapshot of the hosts") ||
		!strings.Contains(got[0], "no sysfs here") {
		t.Errorf("warnings %q", got)
	}
	for _, role := range ends.Roles {
		if h := s.hash(c, role); h != "" {
			t.Errorf("%s: %q is not what the cell found: nobody looked", role, h)
		}
	}
	if got := s.look(ctx, &r.Runner.Opt, r.sut, r.tg, c); len(got) != 0 || s.hash(c, ends.SUT) == "" ||
		s.hash(c, ends.TG) == "" {
		t.Errorf("the next look: warnings %q, hashes %v", got, s.cells[c.Key()])
	}
}

// mustKnowNodes: of every run that flowed it is on record on which NUMA nodes the memory of both
// ends is, all of it.
func mustKnowNodes(t *testing.T, j results.Journal) {
	t.Helper()
	for _, r := range j.Records {
		if r.Verdict != results.OK {
			continue
		}
		for _, role := range ends.Roles {
			sum := 0.0
			for _, m := range r.Host(role).Metrics {
				if m.Name == "memory_nodeN_share" {
					sum += m.Value
				}
			}
			if sum < .999 || sum > 1.001 {
				t.Errorf("run %s, %s of %s: %v of the payload's pages are somewhere", r.RunID, role, r.Cell.ID, sum)
			}
		}
	}
}
