// SPDX-License-Identifier: MIT

package fleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/environment"
	"github.com/zcbench/zcbench/results/stat"
)

// read makes a pair of a results folder, that of this number. What cannot be read is a pair too.
func (f *Fleet) read(number int, at Place, judge func(*results.Journal)) *pair {
	p := &pair{Dir: at.Dir, Name: short(filepath.Base(filepath.Clean(at.Dir)), 80), State: complete}
	in, err := at.open()
	var j results.Journal
	live := false
	if err == nil {
		defer in.Close()
		live = in.Live() // asked before it is read: a run that ends meanwhile is whole
		j, err = in.ReadFiguresUpTo(maxRuns)
	}
	if err != nil {
		p.State, p.Problem, p.Fix = unreadable, short(err.Error(), 300), short(fault.Fix(err), 300)
		if errors.Is(err, fs.ErrNotExist) {
			p.Problem = "there is no journal: no run was begun, or it is elsewhere"
		}
		return p
	}
	judge(&j)
	p.StartUTCNs, p.ToolVersion = j.Header.CreatedUTCNs, short(j.Header.ToolVersion, 60)
	p.Skipped = len(j.Skipped)
	p.ends(&j)
	f.sumUp(p, number, &j)
	p.state(&j, live)
	f.facts(p, in, &j)
	return p
}

// ends names the hosts, by what they say of themselves, or else as they were asked for.
func (p *pair) ends(j *results.Journal) {
	var names [2]string // as they were asked for
	for i, role := range ends.Roles {
		e := [2]*end{&p.SUT, &p.TG}[i]
		take := func(env measure.Env, name string) {
			e.Host, e.Dev, names[i] = cmp.Or(e.Host, env.Hostname), cmp.Or(e.Dev, env.Dev), cmp.Or(names[i], name)
		}
		for k := range j.Records {
			h := j.Records[k].Host(role)
			take(h.Env, h.Name)
			if e.Host != "" && e.Dev != "" && names[i] != "" {
				break
			}
		}
		if pl := j.Header.Plan; pl != nil {
			take([2]measure.Env{pl.SUT, pl.TG}[i], "")
		}
	}
	same := p.SUT.Host == p.TG.Host // two namespaces of one machine
	for i, e := range []*end{&p.SUT, &p.TG} {
		switch {
		case e.Host == "":
			e.Host = names[i]
		case same && names[i] != "":
			e.Host += " " + names[i]
		}
		e.Host, e.Dev = short(e.Host, 80), short(e.Dev, 40)
	}
}

// leastFigure is what no figure is below, or its reciprocal above: of others shares would be
// infinite, which JSON cannot say.
const leastFigure = 1e-100

// sumUp makes figures of the runs of each cell.
func (f *Fleet) sumUp(p *pair, number int, j *results.Journal) {
	at := map[*shared]int{}
	values := [][]float64{}
	var keys plan.Keys
	find := func(c *plan.Cell) int {
		of := f.cells.find(c, &keys, place{number, len(p.Figures)})
		n, ok := at[of]
		if of == nil || !ok && !f.cells.room() {
			p.Problem = fmt.Sprintf(
				"some of its cells are left out: a fleet has at most %d different ones, and %d figures", maxCells,
				maxFigures)
			return -1
		}
		if !ok {
			n = len(p.Figures)
			at[of] = n
			p.Figures, values = append(p.Figures, Figure{of: of}), append(values, nil)
		}
		return n
	}
	for i := range j.Header.Cells {
		find(&j.Header.Cells[i])
	}
	for i := range j.Records {
		r := &j.Records[i]
		if r.Warmup {
			continue
		}
		p.Runs.add(r.Verdict)
		n := find(&r.Cell)
		if n < 0 {
			continue
		}
		c := &p.Figures[n]
		c.Runs.add(r.Verdict)
		if r.Verdict != results.OK {
			c.Reason, c.Fix = short(cmp.Or(r.Reason, "no reason given"), 300), short(r.Fix, 300)
		} else if v := f.metric.Of(r); v != nil && *v > leastFigure && *v < 1/leastFigure {
			values[n] = append(values[n], *v)
		}
	}
	for i := range p.Figures {
		p.Figures[i].take(values[i])
	}
	if p.Runs.OK == 0 && p.Problem == "" {
		for i := range p.Figures {
			if c := &p.Figures[i]; c.Reason != "" {
				p.Problem, p.Fix = c.Reason, c.Fix
			}
		}
	}
}

func (c *Figure) take(values []float64) {
	s := stat.Summarize(values)
	if s == nil {
		return
	}
	c.N, c.Median, c.Lo, c.Hi = s.N, &s.Median, s.Lo, s.Hi
	c.logs = make([]float64, len(values))
	for i, v := range values {
		c.logs[i] = math.Log(v)
	}
	slices.Sort(c.logs)
}

// played is what of a plan says how many runs there should be.
type played struct {
	Spec struct {
		Adaptive *struct{}
		Again    int
		Lengths  *struct{ Repetitions int }
	} `json:"spec"`
}

// reps returns how many repetitions of a cell were planned.
func (p *played) reps(j *results.Journal) func(*plan.Cell) int {
	replays, other := 1+max(0, min(p.Spec.Again, 1000)), plan.OtherTurns(j.Header.Cells)
	return func(c *plan.Cell) int {
		n := j.Header.Plan.Repetitions
		if l := p.Spec.Lengths; l != nil && other(c) {
			n = l.Repetitions
		}
		return max(0, min(n, 1_000_000)) * replays
	}
}

// state sets whether the journal reached the end of its plan.
func (p *pair) state(j *results.Journal, live bool) {
	torn := slices.ContainsFunc(j.Skipped, results.Problem.Torn)
	unfinished := p.plan(j)
	switch {
	case live:
		p.State = Live
	case torn:
		p.State = Torn
	case len(j.Records) == 0:
		p.State = noRuns
	case unfinished:
		p.State = killed
	}
	if p.State == noRuns && p.Problem == "" {
		p.Problem = "the journal has no run: it ended before the first one did"
	}
}

// plan counts the runs that were planned, and tells whether some are missing. A cell that cannot
// run is not tried again, and one of an adaptive plan may end early.
func (p *pair) plan(j *results.Journal) (unfinished bool) {
	if j.Header.Plan == nil || j.Header.Plan.Repetitions < 1 || len(j.Header.Cells) == 0 {
		return false
	}
	var more played
	if len(j.Header.Plan.Played) > 0 {
		_ = json.Unmarshal(j.Header.Plan.Played, &more) // of another form: then only what the header says counts
	}
	reps := more.reps(j)
	type tries struct {
		reps map[int]bool
		none bool // it cannot run
	}
	made := map[plan.CellKey]*tries{}
	var keys plan.Keys
	for i := range j.Records {
		r := &j.Records[i]
		if r.Warmup {
			continue
		}
		k := keys.Of(new(planned(r.Cell)))
		if made[k] == nil {
			made[k] = &tries{reps: map[int]bool{}}
		}
		made[k].reps[r.Rep], made[k].none = true, made[k].none || r.Verdict == results.Unsupported
	}
	for i := range j.Header.Cells {
		if more.Spec.Adaptive == nil {
			p.Planned += reps(&j.Header.Cells[i])
		}
	}
	for i := range j.Header.Cells {
		switch t := made[keys.Of(new(planned(j.Header.Cells[i])))]; {
		case t == nil:
			return true
		case more.Spec.Adaptive == nil && !t.none && len(t.reps) < reps(&j.Header.Cells[i]):
			unfinished = true
		}
	}
	return unfinished
}

// planned strips a cell of the rate that it came to on these hosts, where a share of a pace was
// asked for or the rate was searched for.
func planned(c plan.Cell) plan.Cell {
	if c.PacePercent > 0 || c.LossFree {
		c.PaceBitsPS = 0
	}
	return c
}

// said are the facts of snapshots that records say too, or that are each host's own.
var said = map[string]bool{"kernel/release": true, "nic/driver": true, "nic/firmware": true, "cpu/model name": true,
	"cpufreq/governor": true}

// facts collects what the journal says of the hosts.
func (f *Fleet) facts(p *pair, in *results.Folder, j *results.Journal) {
	folder := environment.Of(in)
	for i, role := range ends.Roles {
		values := map[string][]string{}
		seen := map[measure.Env]bool{}
		hash := ""
		for k := range j.Records {
			e := j.Records[k].Host(role).Env
			hash = cmp.Or(hash, e.Environment)
			e.Environment = ""
			if seen[e] {
				continue
			}
			seen[e] = true
			for _, x := range compare.EnvFacts(e) {
				if x.Value != "" && !x.PerRun && x.Name != "hostname" && x.Name != "boot id" &&
					!slices.Contains(values[x.Name], x.Value) {
					values[x.Name] = append(values[x.Name], x.Value)
				}
			}
		}
		var found survey.Found
		if hash != "" {
			var err error
			if found, err = folder.Find(hash); err != nil {
				p.Unread = append(p.Unread, short(role.Label()+": "+err.Error(), 200))
			}
		}
		p.facts[i] = f.known.take(values, found.Base)
	}
}

// short cuts a text to about n bytes.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n-3]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 {
		s = s[:len(s)-1]
	}
	return s + "..."
}
