// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
	"github.com/zcbench/zcbench/results/stat"
)

// Set is the runs of one source, by cell.
type Set struct {
	Name  string
	Cells []Cell
	// Chosen are the factors that the selector names: they are not compared when
	// cells of two sets are matched, so that cells of one folder can be.
	Chosen []string
	Base   *plan.Cell // the baseline of the experiment; nil: none
	// Primary are the ids of the cells whose comparisons count. None: all do.
	Primary []string
	// Against are the options by which the plan declares what primary cells are compared with.
	Against []map[string]string
	// About are the factors that comparisons within the set are about. None: all.
	About []string
	// Between is the spread between boots and starts that the plan declares.
	Between stat.Between
	Skipped []results.Problem
	Dir     string // the results folder; "": none is known
	Table   bool   // of a CSV file, which has figures alone

	folder *environment.Folder // nil: there are no snapshots
	place  string              // the absolute path of the folder that they are from; "": not known
}

// Cell is one cell and its runs that count: ok, and no warm-up.
type Cell struct {
	Cell   plan.Cell
	Runs   []*results.Record
	Source string // where its figures were published; empty for own runs
	Other  int    // runs that do not count: invalid, failed or unsupported

	// All are Runs, and those that gates left out for their environment or outcome. Made is
	// how many repetitions were made, whatever became of them.
	All  []*results.Record
	Made int
	// Unsupported is why the cell cannot run, where that is on record.
	Unsupported string
	// Starved are the runs that ended because the NIC found no buffer.
	Starved []*results.Record
	// Refused is the last run that does not count; nil: all do.
	Refused *results.Record

	session string // that the journal began with
	tried   map[try]bool

	frequency *float64 // how far the CPUs' frequencies may be apart, fraction; nil: nobody asks
}

// NewSet sorts a journal's records by cell, in the order of its plan, if it has
// one, and then in that of the records.
func NewSet(name string, j results.Journal) Set {
	s := Set{Name: name, Skipped: j.Skipped}
	if j.Header.Plan != nil {
		p := j.Header.Plan
		s.Base, s.Primary, s.About, s.Between = p.Baseline, p.Primary, p.About, betweenOf(p)
		s.Against = p.Against
	}
	at := map[plan.CellKey]int{}
	var keys plan.Keys
	find := func(c *plan.Cell, source string) int {
		k := keys.Of(c)
		n, ok := at[k]
		if !ok {
			n = len(s.Cells)
			at[k] = n
			s.Cells = append(s.Cells, Cell{Cell: *c, Source: source, session: j.Header.SessionID,
				frequency: clockLimit(j.Header.Plan)})
		}
		return n
	}
	for i := range j.Header.Cells {
		find(&j.Header.Cells[i], "")
	}
	tried := make(map[int][]*results.Record)
	for i := range j.Records {
		r := &j.Records[i]
		if r.Warmup {
			continue
		}
		n := find(&r.Cell, r.Source)
		if r.Verdict == results.OK {
			s.Cells[n].Runs = append(s.Cells[n].Runs, r)
		} else {
			s.Cells[n].Other++
			s.Cells[n].Refused = r
		}
		if r.Starved() {
			s.Cells[n].Starved = append(s.Cells[n].Starved, r)
		}
		if r.Verdict == results.Unsupported && s.Cells[n].Unsupported == "" {
			s.Cells[n].Unsupported = cmp.Or(r.Reason, "no reason given")
		}
		if r.Verdict == results.OK || r.LeftOut() {
			s.Cells[n].addTry(r)
		}
		if r.Verdict != results.Unsupported {
			tried[n] = append(tried[n], r)
		}
	}
	for n, runs := range tried {
		s.Cells[n].Made = made(runs)
	}
	return s
}

// betweenOf returns the spreads that a plan declares; of nil, none. One of which the plan does not
// say of how many boots it was measured is taken to be of two, the least that have one.
func betweenOf(p *plan.Origin) (b stat.Between) {
	if p == nil {
		return b
	}
	of := func(d plan.Declared) stat.Spread {
		if d.SD <= 0 {
			return stat.Spread{}
		}
		return stat.Spread{SD: d.SD, Of: max(d.Of, 2) - 1}
	}
	return stat.Between{Boots: of(p.Boots()), Starts: of(p.BetweenStarts)}
}

// AskAbout lets comparisons within the set be about these factors alone.
func (s *Set) AskAbout(factors []string) error {
	for _, name := range factors {
		if !slices.Contains(factorNames(), name) {
			return fmt.Errorf("unknown factor %q%s", name, near.Instead(name, "factors", factorNames()))
		}
	}
	s.About = factors
	return nil
}

// Load reads a source: a results folder, a runs.csv, or either with a selector behind an @ that
// chooses cells by their factors: out/quick@rx=tcp,tx=sendfile. The journal is read by read, which
// decides which of its runs count.
func Load(source string, read func(*results.Folder) (results.Journal, error)) (Set, error) {
	path, selector, chosen := source, "", false
	if _, err := os.Stat(source); err != nil {
		if i := strings.LastIndexByte(source, '@'); i >= 0 {
			path, selector, chosen = source[:i], source[i+1:], true
		}
	}
	if filepath.Base(path) == results.JournalFile { // a folder has one
		path = filepath.Dir(path)
	}
	j, in, err := load(path, read)
	if err != nil {
		return Set{}, err
	}
	s := NewSet(source, j)
	if s.place = placeOf(path); in != nil {
		s.Dir, s.folder = path, environment.Of(in)
	} else {
		s.folder = snapshotsBeside(path)
	}
	s.Table = j.Header.Kind == "" // a journal says what it is
	if len(s.Cells) == 0 {
		return s, fmt.Errorf("%s has no runs", path)
	}
	if !chosen {
		return s, nil
	}
	return s, s.choose(selector)
}

// placeOf resolves the absolute path of a results folder, also where its table was named; "": not
// known.
func placeOf(path string) string {
	if filepath.Base(path) == results.RunsFile {
		path = filepath.Dir(path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// snapshotsBeside opens the host snapshots beside a file of a results folder; nil: there are none.
func snapshotsBeside(path string) *environment.Folder {
	in, err := results.OpenFolder(filepath.Dir(path))
	if err != nil || !in.Has(environment.Dir) {
		return nil
	}
	return environment.Of(in)
}

// load reads a results folder, which stays open, or a file of figures, which is in none.
func load(path string, read func(*results.Folder) (results.Journal, error)) (j results.Journal, in *results.Folder,
	err error) {
	in, err = results.OpenFolder(path)
	switch {
	case errors.Is(err, unix.ENOTDIR):
		j, err = loadCSV(openTable(path))
		return j, nil, err
	case errors.Is(err, fs.ErrNotExist):
		return j, nil, fmt.Errorf("%w: name a results folder, or its runs.csv", err)
	case err != nil:
		return j, nil, err
	}
	if j, err = read(in); errors.Is(err, fs.ErrNotExist) { // a folder of CSVs alone
		j, err = loadCSV(in.Open(results.RunsFile))
	}
	if err == nil {
		err = environment.Check(in)
	}
	return j, in, err
}

// openTable opens a file of figures that the user named: a regular file, or the pipe of a command,
// as <(zstdcat runs.csv.zst) is one. A FIFO of the file system would be waited for, and a device
// may have no end.
func openTable(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	var in unix.Statfs_t
	if err == nil {
		err = unix.Fstatfs(int(f.Fd()), &in)
	}
	if mode := st.Mode(); err == nil && !mode.IsRegular() && (mode.Type() != fs.ModeNamedPipe ||
		in.Type != unix.PIPEFS_MAGIC) {
		err = &fault.Error{Op: "read " + path, Err: fmt.Errorf("it is %s, not a regular file", kindOf(mode)),
			How: "name a results folder, or its runs.csv"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// kindOf names what is no regular file.
func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

func loadCSV(f *os.File, err error) (results.Journal, error) {
	var j results.Journal
	if err != nil {
		return j, err
	}
	defer f.Close()
	if j.Records, err = results.ReadRuns(f); err != nil {
		err = fmt.Errorf("%s: %w", f.Name(), err)
	}
	return j, err
}

// published reports whether the set contains published figures.
func (s *Set) published() bool {
	return slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Source != "" })
}

// choose keeps the cells that have the factors of a selector.
func (s *Set) choose(selector string) error {
	want := map[string]string{}
	for _, kv := range strings.Split(selector, ",") {
		name, v, ok := strings.Cut(kv, "=")
		if !ok || !slices.Contains(factorNames(), name) {
			return fmt.Errorf("selector %q: %q is not FACTOR=VALUE with one of the factors of docs/options.md; "+
				"these cells differ by %s", selector, kv, s.factors())
		}
		want[name] = v
		s.Chosen = append(s.Chosen, name)
	}
	has := idsOf(s)
	s.Cells = slices.DeleteFunc(s.Cells, func(c Cell) bool {
		for name, v := range want {
			if factorOf(&c.Cell, name) != v {
				return true
			}
		}
		return false
	})
	if len(s.Cells) == 0 {
		return fmt.Errorf("selector %q matches no cell; there are %s", selector, has)
	}
	return nil
}

// factors names what tells the cells of a set from each other, rx and tx first.
func (s *Set) factors() string {
	names := []string{"rx", "tx"}
	for _, name := range factorNames() {
		first := factorOf(&s.Cells[0].Cell, name)
		if !slices.Contains(names, name) &&
			slices.ContainsFunc(s.Cells, func(c Cell) bool { return factorOf(&c.Cell, name) != first }) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func factorNames() (names []string) {
	for _, o := range plan.Options {
		names = append(names, o.Name)
	}
	return names
}

func factorOf(c *plan.Cell, name string) string {
	if o := plan.LookupOption(name); o != nil {
		return o.Value(c)
	}
	return ""
}
