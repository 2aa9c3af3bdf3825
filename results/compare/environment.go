// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// differs is a fact in which the hosts of two sources differ, or those of cells. No values are:
// it is not known.
type differs struct {
	Role ends.Role `json:"role"`
	Fact string    `json:"fact"`
	A    []string  `json:"a"`
	B    []string  `json:"b"`
}

// EnvFact is something that the environment in a record says, as reports name it.
type EnvFact struct {
	Name, Value string
	PerRun      bool   // follows from the cell, may change from run to run
	also        string // the fact of a snapshot that says the same
}

// EnvFacts lists all facts of an environment.
func EnvFacts(e measure.Env) []EnvFact {
	cpus := ""
	if e.CPUs != 0 {
		cpus = strconv.Itoa(e.CPUs)
	}
	return []EnvFact{
		{Name: "hostname", Value: e.Hostname},
		{Name: "boot id", Value: e.BootID, also: "boot/id"},
		{Name: "kernel", Value: e.Kernel, also: "kernel/release"},
		{Name: "interface", Value: e.Dev},
		{Name: "driver", Value: e.Driver, also: "nic/driver"},
		{Name: "firmware", Value: e.Firmware, also: "nic/firmware"},
		{Name: "CPU", Value: e.CPUModel, also: "cpu/model name"},
		{Name: "CPUs online", Value: cpus},
		{Name: "governor", Value: e.Governor, also: "cpufreq/governor"},
		{Name: "mitigations", Value: e.Mitigations},
		{Name: "CPUs measured", Value: e.CPUsMeasured, PerRun: true},
		{Name: "softirq on CPU", Value: e.IRQCPU, PerRun: true},
		{Name: "softirq placed", Value: e.Placement, PerRun: true},
		{Name: "application on CPU", Value: e.AppCPU, PerRun: true},
		{Name: "class of its CPUs", Value: e.CPUClass, PerRun: true},
		{Name: "congestion control", Value: e.Congestion, PerRun: true},
		{Name: "io_uring engine", Value: e.UringEngine, PerRun: true},
		{Name: "zcbench", Value: e.ToolVersion},
		{Name: "Go", Value: e.GoVersion},
	}
}

// surroundings are the values of facts of the hosts that had a role, over some runs.
type surroundings struct {
	order  []string            // names, those of records first
	values map[string][]string // distinct, sorted
	// Which of the two said anything: a fact that the other one lacks is then unknown there,
	// and no difference.
	records, snapshots bool
	problems           []string
}

func (s *surroundings) add(name string, values ...string) {
	if _, ok := s.values[name]; !ok {
		s.order = append(s.order, name)
	}
	s.values[name] = append(s.values[name], values...)
}

// sort makes the values distinct and sorted.
func (s *surroundings) sort() {
	for name, v := range s.values {
		slices.Sort(v)
		s.values[name] = slices.Compact(v)
	}
}

// around collects what runs say of the hosts that had a role.
func around(folder *environment.Folder, runs []*results.Record, role ends.Role) *surroundings {
	s := &surroundings{values: map[string][]string{}}
	said := map[string]bool{}
	var hashes []string
	named := map[string]bool{}
	seen := map[measure.Env]bool{}
	for _, r := range runs {
		e := r.Host(role).Env
		if seen[e] {
			continue
		}
		seen[e] = true
		for _, f := range EnvFacts(e) {
			if f.Value != "" {
				s.records = true
				s.add(f.Name, f.Value)
				said[f.also] = true
			}
		}
		if e.Environment != "" && !named[e.Environment] {
			named[e.Environment] = true
			hashes = append(hashes, e.Environment)
		}
	}
	if folder != nil {
		s.find(folder, hashes, role, said)
	}
	s.sort()
	return s
}

// find adds what the snapshots of a folder say, but for the facts that records have said.
func (s *surroundings) find(folder *environment.Folder, hashes []string, role ends.Role, said map[string]bool) {
	var all []survey.Found
	var bad unread
	for _, hash := range hashes {
		found, err := folder.Find(hash)
		if err != nil {
			bad.add(err)
			continue
		}
		s.snapshots = true
		all = append(all, found)
	}
	s.problems = append(s.problems, bad.lines(role)...)
	for _, v := range survey.Across(all) {
		if !said[v.Name] {
			s.add(v.Name, v.Values...)
		}
	}
}

// apart lists the facts in which two differ, and counts those that both have.
func apart(role ends.Role, a, b *surroundings) (out []differs, both int) {
	names := slices.Clone(a.order)
	for _, n := range b.order {
		if _, ok := a.values[n]; !ok {
			names = append(names, n)
		}
	}
	for _, n := range names {
		va, inA := a.values[n]
		vb, inB := b.values[n]
		if inA && inB {
			both++
		}
		// What one does not say at all, as a CSV file of boot parameters, is no difference.
		snapshot := strings.Contains(n, "/")
		silent := snapshot && (!a.snapshots || !b.snapshots) || !snapshot && (!a.records || !b.records)
		if !silent && !slices.Equal(va, vb) {
			out = append(out, differs{role, n, va, vb})
		}
	}
	return out, both
}

// Surroundings say in what the hosts of two sources differ.
type Surroundings struct {
	Differ   []differs `json:"differ,omitempty"`
	Facts    int       `json:"facts"` // that both have
	Problems []string  `json:"problems,omitempty"`
}

// surroundings compares the hosts of two sets.
func (s *Set) surroundings(o *Set) *Surroundings {
	out := &Surroundings{}
	for _, role := range ends.Roles {
		a, b := around(s.folder, s.runs(), role), around(o.folder, o.runs(), role)
		d, both := apart(role, a, b)
		out.Differ, out.Facts = append(out.Differ, d...), out.Facts+both
		out.Problems = append(append(out.Problems, a.problems...), b.problems...)
	}
	for _, x := range []*Set{s, o} {
		if x.Table && x.folder == nil && slices.ContainsFunc(x.runs(), snapshotted) {
			out.Problems = append(out.Problems,
				x.Name+" is a file without the snapshots of its hosts: name the results folder that it comes from")
		}
	}
	return out
}

// snapshotted reports whether a run names the snapshot of a host.
func snapshotted(r *results.Record) bool { return r.SUT.Env.Environment+r.TG.Env.Environment != "" }

// runs collects the set's own runs that count.
func (s *Set) runs() (out []*results.Record) {
	for i := range s.Cells {
		if s.Cells[i].Source == "" {
			out = append(out, s.Cells[i].Runs...)
		}
	}
	return out
}

// mostShown is how many differences of each role a table has.
const mostShown = 20

// Table writes the differences for a terminal.
func (s *Surroundings) Table(w io.Writer) error {
	if s == nil || s.Facts == 0 && len(s.Differ) == 0 && len(s.Problems) == 0 {
		return nil
	}
	if len(s.Differ) == 0 {
		fmt.Fprintln(w)
		screen.Line(w, "", "", fmt.Sprintf("the hosts of A and B do not differ in the %d facts recorded for both",
			s.Facts))
	} else {
		fmt.Fprintf(w, "\nthe hosts of A and B differ in %d of %d facts:\n", len(s.Differ), s.Facts)
	}
	for _, role := range ends.Roles {
		n := 0
		for _, d := range s.Differ {
			if d.Role != role {
				continue
			}
			if n++; n <= mostShown {
				screen.Line(w, "  "+role.Label()+"  ", "      ", plaintext.Line(d.String()))
			}
		}
		if n > mostShown {
			fmt.Fprintf(w, "  %s  and %d more (--json has all)\n", role.Label(), n-mostShown)
		}
	}
	for _, p := range s.Problems {
		screen.Line(w, "  ", "    ", plaintext.Line(p))
	}
	return nil
}

// String formats the difference as "FACT: VALUE in A, VALUE in B".
func (d *differs) String() string {
	return fmt.Sprintf("%s: %s in A, %s in B", d.Fact, joined(d.A), joined(d.B))
}

func joined(values []string) string {
	if len(values) == 0 {
		return "nothing"
	}
	s := []rune(strings.Join(values, " / "))
	const most = 100
	if len(s) > most {
		return string(s[:most-3]) + "..."
	}
	return string(s)
}
