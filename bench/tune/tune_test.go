// SPDX-License-Identifier: MIT

package tune

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "write the golden files anew")

// world is what hosts would make of runs.
type world struct {
	truth    func(c *plan.Cell) float64               // Gbit/s
	cores    func(c *plan.Cell) float64               // busy; nil: one
	refuses  func(c *plan.Cell) string                // why a run is unsupported; nil: none is
	disturbs func(c *plan.Cell, rep int) bool         // something else spoils it; nil: nothing does
	spoils   func(r *matrix.Run, rec *results.Record) // as the run itself may; nil: nothing
	window   func(c *plan.Cell) time.Duration         // of a start of such cells; nil: 3 s
	rough    bool                                     // starts drift, and one in 33 is off by 5 %
	took     map[string]float64                       // seconds of starts of races, by mode
	missing  func(c *plan.Cell) *bench.Missing
	facts    []survey.Fact
	driver   string
	queues   int // that cells can take; 0: any number
}

func (w *world) found() *bench.Found {
	h := &bench.Found{SUT: survey.New(w.facts), TG: survey.New(w.facts), Dev: "eth1", Driver: driver.Of(w.driver)}
	h.Missing = func(c plan.Cell) *bench.Missing {
		if w.missing == nil {
			return nil
		}
		return w.missing(&c)
	}
	h.Length = func(runs []matrix.Run) time.Duration {
		return 300*time.Millisecond + time.Duration(len(runs))*600*time.Millisecond
	}
	h.Parts = func(cells []plan.Cell) int {
		if w.queues == 0 {
			return 1
		}
		return (len(cells) + w.queues - 1) / w.queues
	}
	return h
}

// record makes the record of a run: what a start has in common varies by 2 %, what is a cell's own
// by 0.5 %.
func (w *world) record(r *matrix.Run) results.Record {
	noise := func(of string, sd float64) float64 {
		h := fnv.New64a()
		fmt.Fprint(h, of)
		return math.Exp(sd * rand.New(rand.NewPCG(h.Sum64(), 3)).NormFloat64())
	}
	c := r.Cell
	rec := results.Record{Cell: c, Rep: r.Rep, Block: r.Block, Try: r.Try, Warmup: r.Warmup, SessionID: "s",
		Start: r.Rep + 1, Verdict: results.OK}
	if why := ""; w.refuses != nil {
		if why = w.refuses(&c); why != "" {
			rec.Verdict, rec.Reason, rec.Fix = results.Unsupported, why, "another NIC"
			return rec
		}
	}
	v := w.truth(&c) * noise(fmt.Sprint("start", r.Rep), .02) * noise(fmt.Sprint(c.ID, r.Rep), .005)
	if x := noise(fmt.Sprint("off", c.ID, r.Rep), 1); w.rough && x > 6.5 {
		v *= math.Exp(-.05 * x / 6.5)
	}
	if c.PaceBitsPS > 0 && v > float64(c.PaceBitsPS)/1e9 {
		v = float64(c.PaceBitsPS) / 1e9
	} else if c.PaceBitsPS > 0 {
		rec.Flags = []string{results.FlagOffPace}
	}
	cores := 1.0
	if w.cores != nil {
		cores = w.cores(&c) * noise(fmt.Sprint("cpu", c.ID, r.Rep), .005)
	}
	rec.SUT.ThroughputGbps, rec.SUT.CPUBusyCores = &v, &cores
	if w.disturbs != nil && w.disturbs(&c, r.Rep) {
		rec.Fail(plan.ByEnvironment, "other work", "")
	}
	if w.spoils != nil {
		w.spoils(r, &rec)
	}
	return rec
}

// play plays a search to its end, or so many starts, and returns its records by repetition.
func (w *world) play(t *testing.T, s *Search, most int, have map[int][]results.Record) map[int][]results.Record {
	t.Helper()
	if err := s.Begin(w.found()); err != nil {
		t.Fatal(err)
	}
	made := map[int][]results.Record{}
	ended := int64(1e9)
	w.took = map[string]float64{}
	for n := 0; n < most; n++ {
		runs, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if runs == nil {
			return made
		}
		recs := have[runs[0].Rep]
		for i := 0; i < len(runs) && len(recs) < len(runs); i++ {
			rec := w.record(&runs[i])
			window := 3 * time.Second
			if w.window != nil {
				window = w.window(&rec.Cell)
			}
			if rec.Verdict != results.Unsupported {
				rec.StartUTCNs = ended + .3e9
				rec.Turns = &results.Turns{TurnNs: 2e7, Turns: 8, Cells: len(runs), WindowNs: window.Nanoseconds()}
			}
			recs = append(recs, rec)
		}
		if now := recs[0].EndUTCNs(); now > 0 && !runs[0].Warmup {
			w.took[runs[0].Cell.RX+"/"+runs[0].Cell.TX] += float64(now-ended) / 1e9
		}
		ended = max(ended, recs[0].EndUTCNs())
		for i := range recs {
			if recs[i].Cell.Key() != runs[i].Cell.Key() {
				t.Fatalf("start %d asks for %s, and the journal has %s", runs[0].Rep, runs[i].Cell.ID, recs[i].Cell.ID)
			}
		}
		made[runs[0].Rep] = recs
		if err := s.Tell(recs); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

func searchOf(t *testing.T, goal, file string, most time.Duration) (*Search, *[]string) {
	t.Helper()
	spec, err := matrix.Parse("file.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	g, err := GoalOf(goal)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	spec.TakeTurns()
	tuning := &Tuning{Goal: g, Spec: spec, Time: most,
		Note: func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }}
	s, _, err := tuning.prepare()
	if err != nil {
		t.Fatal(err)
	}
	return s, &notes
}

const sizes = `# two modes
name: sizes
sut: {host: "netns:a", dev: eth1}
tg: {host: "netns:b"}
touch: read   # what is measured
duration: 1s
repetitions: 12
factors:
  rx: [tcp, uring]
  tx: [tcp]
  message: [64K, 1M]
  read: [64K, 1M]
baseline: {rx: tcp, message: 64K, read: 64K}
`

// together is a landscape of which no level alone is the best: long reads cost a little, and with
// short messages they gain much.
func together(c *plan.Cell) float64 {
	v := 20.0
	if c.RX == "uring" {
		v = 30
	}
	switch {
	case c.ReadBytes == 1<<20 && c.MessageBytes == 64<<10:
		return v * 1.06
	case c.ReadBytes == 1<<20:
		return v * .96
	case c.MessageBytes == 1<<20:
		return v * 1.02
	}
	return v
}

// The best setting is found and frozen in a file, which says the cells that are confirmed; the
// report is of other runs than the search.
func TestFindsWhatIsBestTogether(t *testing.T) {
	w := &world{truth: together}
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all := s.freeze()
	for _, f := range all {
		if got := strings.Join(f.words(f.arm), " "); got != "message=64Ki read=1Mi" {
			t.Errorf("%s: the best is %q", f.Name, got)
		}
	}
	text, cells, err := s.write(all, "zcbench tune", "")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.parse("best.yaml", text, cells)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if spec.Base == nil || spec.Base.ID != "tcp/tcp message=64Ki read=1Mi" || spec.Repetitions != 12 ||
		spec.Duration != time.Second || spec.Cells[0].Touch != "read" || spec.SUT.Dev != "eth1" || len(cells) != 4 {
		t.Errorf("%+v\n%s", spec, text)
	}
	if strings.Count(text, "seed:") != 1 || !strings.Contains(text, "# what is measured") {
		t.Errorf("%s", text)
	}
	r := s.report(all, spec.Cells, w.confirm(spec, 5000))
	if len(r.Modes) != 2 || len(r.Between) != 1 || r.Between[0].Verdict != Better || r.Starts != 12 {
		t.Errorf("%+v", r)
	}
	for _, m := range r.Modes {
		if m.Gain == nil || m.Gain.Verdict != Better || m.Gain.Low > 1.06 || m.Gain.High < 1.06 || m.Gain.Pairs != 12 {
			t.Errorf("%s: %+v, want 1.06", m.Mode, m.Gain)
		}
	}
	found := w.found()
	found.Driver.Name = "virtio_net"
	_, untold := rings(found, nil)
	r.Cannot = []Cannot{{"zcrx/tcp", "", "this kernel has no ring", "Linux 6.15"},
		{"tcp/tcp", "rx_ring", untold, ""}, {"uring/tcp", "rx_ring", untold, ""}}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.txt", b.Bytes())
	golden(t, "testdata/best.yaml", []byte(text))
}

// confirm plays what was frozen, in other starts than the search's.
func (w *world) confirm(spec *matrix.Spec, from int) (recs []results.Record) {
	for _, r := range spec.Runs() {
		r.Rep += from
		recs = append(recs, w.record(&r))
	}
	return recs
}

// frozen writes what a search found, and reads it.
func frozenOf(t *testing.T, s *Search) ([]frozen, *matrix.Spec) {
	t.Helper()
	all := s.freeze()
	text, cells, err := s.write(all, "zcbench tune", "")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.parse("best.yaml", text, cells)
	if err != nil {
		t.Fatal(err)
	}
	return all, spec
}

// Each mode is charged its own starts, from end to end, however long those of others are.
func TestChargedItsOwn(t *testing.T) {
	w := &world{truth: func(*plan.Cell) float64 { return 20 }, window: func(c *plan.Cell) time.Duration {
		return map[bool]time.Duration{true: 2700 * time.Millisecond, false: 8 * time.Second}[c.RX == "tcp"]
	}, disturbs: func(_ *plan.Cell, rep int) bool { return rep%5 == 3 }}
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	for _, e := range s.entries {
		if got, want := e.race.Spent(), w.took[e.Name]; want < 10 || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s took %.3f s, and was charged %.3f s", e.Name, want, got)
		}
	}
}

// One bad run of the defaults is no reason to leave; defaults that never hold the pace are told,
// and what the search found is confirmed all the same.
func TestBadDefaults(t *testing.T) {
	bad := map[string]func(*results.Record){
		"off-pace":   func(r *results.Record) { r.Flags = []string{results.FlagOffPace} },
		"invalid":    func(r *results.Record) { r.Fail(plan.ByProof, "payload was copied", "") },
		"other work": func(r *results.Record) { r.Fail(plan.ByEnvironment, "other work", "") },
	}
	for name, spoil := range bad {
		for _, always := range []bool{false, true} {
			spoilt, tuned := map[string]bool{}, map[int]bool{64 << 10: true, 1 << 20: true}
			w := &world{truth: together, cores: func(c *plan.Cell) float64 { return 20 / together(c) },
				spoils: func(r *matrix.Run, rec *results.Record) {
					if k := r.Cell.RX; !r.Warmup && !tuned[r.Cell.ReadBytes] && !tuned[r.Cell.MessageBytes] &&
						(always || !spoilt[k]) {
						spoilt[k] = true
						spoil(rec)
					}
				}}
			s, _ := searchOf(t, "cpu", sizes, 5*time.Minute)
			w.play(t, s, 10_000, nil)
			for _, f := range s.freeze() {
				l, _ := f.race.Leaders()
				told := slices.ContainsFunc(f.Cannot, func(c Cannot) bool { return c.What == atDefaults })
				if f.isDefault() || (l.Gain == 0) != always || told != always {
					t.Errorf("%s, always %v: %s: the best is %v, gain %v; told %v", name, always, f.Name,
						f.words(f.arm), l.Gain, f.Cannot)
				}
			}
		}
	}
}

// At equal work, pairs of which a run missed the pace are none; and what pairs are of is told.
func TestPairs(t *testing.T) {
	w := &world{truth: together, cores: func(c *plan.Cell) float64 { return 20 / together(c) }}
	s, _ := searchOf(t, "cpu", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all, spec := frozenOf(t, s)
	recs := w.confirm(spec, 5000)
	for i := range recs {
		if recs[i].Rep < 5003 && recs[i].Cell.Key() == spec.Cells[0].Key() {
			recs[i].Flags = []string{results.FlagOffPace}
			recs[i].SUT.CPUBusyCores = new(99.)
		}
	}
	r := s.report(all, spec.Cells, recs)
	if g := r.Modes[0].Gain; g == nil || g.Pairs != 9 || g.Ratio > 1.1 || *r.Modes[0].DefaultV > 5e3 {
		t.Errorf("%+v", r.Modes[0])
	}
	if r.Level != AcrossStarts || r.Starts != 12 || r.standsOn() != "9 to 12 pairs, each of a start of its own" {
		t.Errorf("%s in %d: %s", r.Level, r.Starts, r.standsOn())
	}
	for i := range recs {
		recs[i].Start = 1
	}
	r = s.report(all, spec.Cells, recs)
	if want := "9 to 12 pairs in 1 start, within which the verdicts hold"; r.Level != WithinStarts ||
		r.standsOn() != want {
		t.Errorf("%s in %d: %s", r.Level, r.Starts, r.standsOn())
	}
}

// All intervals of a report hold the truth together in 95 of 100 reports, and equal settings are
// told apart in no more than 5.
func TestReportHolds(t *testing.T) {
	rounds := long.Rounds(200, 2000)
	for _, x := range []struct {
		name  string
		truth func(*plan.Cell) float64
		rough bool
	}{{"together", together, false}, {"the same, one in 33 off by 5 % or more", together, true},
		{"flat", func(*plan.Cell) float64 { return 20 }, true}} {
		w := &world{truth: together}
		s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
		w.play(t, s, 10_000, nil)
		all, spec := frozenOf(t, s)
		w.truth, w.rough = x.truth, x.rough
		holds, right := 0, 0
		for round := range rounds {
			r := s.report(all, spec.Cells, w.confirm(spec, 5000+100*round))
			ok, told := true, true
			for _, c := range r.comparisons() {
				at := func(id string) float64 {
					return x.truth(&spec.Cells[slices.IndexFunc(spec.Cells,
						func(c plan.Cell) bool { return c.ID == id })])
				}
				truth := at(c.Cell) / at(c.With)
				ok = ok && c.Low <= truth && truth <= c.High
				told = told && (c.Verdict == Open || c.Verdict == Equal && truth == 1 || c.Verdict == Better &&
					truth > 1)
			}
			if len(r.comparisons()) != 3 {
				t.Fatalf("%+v", r)
			}
			holds, right = holds+map[bool]int{true: 1}[ok], right+map[bool]int{true: 1}[told]
		}
		t.Logf("%s: of %d reports all intervals of %d hold, no verdict of %d is wrong", x.name, rounds, holds, right)
		if least := rounds * long.Rounds(92, 94) / 100; holds < least || right < least {
			t.Errorf("%s: of %d reports all intervals of %d hold, no verdict of %d is wrong", x.name, rounds, holds,
				right)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %v; it is now\n%s", name, err, got)
	}
}

// What a flag allowed holds for the confirmation, too, and the file says with which flags matrix
// repeats it.
func TestConfirmsWithFlags(t *testing.T) {
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	(&world{truth: together}).play(t, s, 10_000, nil)
	s.spec.SharedWithSSH = true
	text, cells, err := s.write(s.freeze(), "zcbench tune", "--power 'a\nseed: 9'")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.parse("best.yaml", text, cells)
	if err != nil || !spec.SharedWithSSH || spec.Seed == 9 ||
		!strings.Contains(text, "\n# these settings were chosen. zcbench matrix best.yaml --power 'a seed: 9' repeats") {
		t.Errorf("%v, %+v\n%s", err, spec, text)
	}
}

// Where nothing differs, no setting is told to be better.
func TestFlat(t *testing.T) {
	w := &world{truth: func(*plan.Cell) float64 { return 20 }}
	s, _ := searchOf(t, "throughput", sizes, 5*time.Minute)
	w.play(t, s, 10_000, nil)
	all := s.freeze()
	text, cells, err := s.write(all, "zcbench tune", "")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.parse("best.yaml", text, cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.report(all, spec.Cells, w.confirm(spec, 5000)).Modes {
		if m.Gain != nil && m.Gain.Verdict != Equal && m.Gain.Verdict != Open || len(m.Search.Mattered) > 0 {
			t.Errorf("%s: %+v, %v mattered", m.Mode, m.Gain, m.Search.Mattered)
		}
	}
}

// What goes on from a journal is asked for the same, and ends with the same, wherever it stopped.
func TestGoesOn(t *testing.T) {
	w := &world{truth: together, refuses: func(c *plan.Cell) string {
		return map[bool]string{true: "no long messages"}[c.MessageBytes == 1<<20 && c.RX == "uring"]
	}, disturbs: func(_ *plan.Cell, rep int) bool { return rep%7 == 3 }}
	s, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
	all := w.play(t, s, 10_000, nil)
	want := s.freeze()
	for _, stopped := range []int{1, 2, 5, len(all) / 2, len(all) - 1} {
		first, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
		have := w.play(t, first, stopped, nil)
		again, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
		if got := w.play(t, again, 10_000, have); !reflect.DeepEqual(got, all) {
			t.Errorf("stopped after %d of %d starts, it had others", stopped, len(all))
		}
		for i, f := range again.freeze() {
			if f.best.Key() != want[i].best.Key() {
				t.Errorf("stopped after %d starts: %s, want %s", stopped, f.best.ID, want[i].best.ID)
			}
		}
	}
}

// Levels that a host refuses are told with the reason, and take no more part; a mode that cannot
// run is told, too.
func TestRefused(t *testing.T) {
	w := &world{truth: together, refuses: func(c *plan.Cell) string {
		switch {
		case c.RX == "uring":
			return "no ring here"
		case c.ReadBytes == 1<<20:
			return "no such reads"
		}
		return ""
	}}
	s, notes := searchOf(t, "throughput", sizes, 3*time.Minute)
	made := w.play(t, s, 10_000, nil)
	n := 0
	for _, recs := range made {
		for _, r := range recs {
			if r.Verdict == results.Unsupported {
				n++
			}
		}
	}
	want := []Cannot{{"tcp/tcp", "message=64Ki read=1Mi", "no such reads", "another NIC"},
		{"uring/tcp", "", "no ring here", "another NIC"}}
	var got []Cannot
	for _, e := range s.entries {
		for _, c := range e.Cannot {
			if c.Mode == "tcp/tcp" || c.What == "" {
				got = append(got, c)
			}
		}
	}
	if all := s.freeze(); !reflect.DeepEqual(got[:1], want[:1]) || got[len(got)-1] != want[1] || len(all) != 1 ||
		strings.Contains(all[0].best.ID, "read=1Mi") || n > 8 || !strings.Contains(strings.Join(*notes, "|"),
		"no ring here") {
		t.Errorf("%+v, %d runs refused, winners %v", got, n, all)
	}
}

// A start that something else disturbs is made again, twice at most.
func TestDisturbed(t *testing.T) {
	w := &world{truth: together, disturbs: func(*plan.Cell, int) bool { return true }}
	s, _ := searchOf(t, "throughput", sizes, 3*time.Minute)
	if made := w.play(t, s, 10_000, nil); len(made) < 9 || len(made)%mostTries != 0 {
		t.Errorf("%d starts", len(made))
	}
	for _, f := range s.freeze() {
		t.Errorf("%s was frozen without a run that counts", f.best.ID)
	}
}

// For CPU time all modes work alike: half of what the slowest does. Who cannot hold that is out.
func TestAtEqualWork(t *testing.T) {
	w := &world{truth: func(c *plan.Cell) float64 {
		if c.ReadBytes == 1<<20 {
			return 8 // too slow
		}
		return together(c)
	}, cores: func(c *plan.Cell) float64 {
		return map[bool]float64{true: .5, false: .6}[c.MessageBytes == 1<<20 || c.ReadBytes == 1<<20]
	}}
	s, _ := searchOf(t, "cpu", sizes, 3*time.Minute)
	w.play(t, s, 10_000, nil)
	for _, f := range s.freeze() {
		if p := f.best.PaceBitsPS; p < 9e9 || p > 11e9 || p != f.base.PaceBitsPS {
			t.Errorf("%s: a pace of %d", f.best.ID, p)
		}
		if f.best.ReadBytes == 1<<20 || f.best.MessageBytes != 1<<20 {
			t.Errorf("%s is the best", f.best.ID)
		}
		if !slices.ContainsFunc(f.Cannot, func(c Cannot) bool { return strings.Contains(c.Reason, "pace") }) {
			t.Errorf("%+v", f.Cannot)
		}
	}
}

// What others put into the folder of the results does not say what is read and where is written,
// and a file of the user's is not replaced.
func TestGuardsItsFolder(t *testing.T) {
	kind.Kernel(t)
	spec, err := matrix.Parse("file.yaml", []byte(sizes))
	if err != nil {
		t.Fatal(err)
	}
	spec.TakeTurns()
	goal, _ := GoalOf("throughput")
	const text = "name: x\n"
	for _, x := range []struct {
		name   string
		put    func(dir string) error
		resume bool
		err    string // of the search
		keeps  string // what keeping best.yaml says
	}{
		{"a linked search", func(dir string) error { return os.Symlink(t.TempDir(), dir+"/search") }, false,
			"search is a symbolic link", ""},
		{"one that goes on", func(dir string) error { return os.Symlink(t.TempDir(), dir+"/search") }, true,
			"search is a symbolic link", ""},
		{"a file of the user's", func(dir string) error { return os.WriteFile(dir+"/best.yaml", nil, 0o644) }, false,
			"best.yaml; choose another folder", ""},
		{"a pipe", func(dir string) error { return unix.Mkfifo(dir+"/best.yaml", 0o644) }, true, "",
			"is not a regular file"},
		{"a link", func(dir string) error { return os.Symlink("/dev/zero", dir+"/best.yaml") }, true, "",
			"is a symbolic link"},
		{"a long file", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/best.yaml", nil, 0o644), os.Truncate(dir+"/best.yaml", 1<<40))
		}, true, "", "start over"},
		{"the same", func(dir string) error { return os.WriteFile(dir+"/best.yaml", []byte(text), 0o644) }, true, "",
			""},
	} {
		tuning := &Tuning{Goal: goal, Spec: spec, Time: time.Minute, Dir: t.TempDir(), Resume: x.resume,
			New: func(s *matrix.Spec, dir string, _ bool) *bench.Experiment {
				return &bench.Experiment{Spec: s, Dir: dir}
			}}
		if err := x.put(tuning.Dir); err != nil {
			t.Fatal(err)
		}
		if x.err != "" {
			if _, err := tuning.Run(t.Context()); err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		await.Return(t, x.name, func() { err = tuning.keep(text) })
		if x.keeps == "" && err != nil || x.keeps != "" && (err == nil || !strings.Contains(err.Error(), x.keeps)) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// A file from which no confirmation can be written is told at once, not when the search is done.
func TestFileThatCannotBeConfirmed(t *testing.T) {
	goal, _ := GoalOf("throughput")
	for _, x := range []struct{ name, file, err string }{
		{"in braces", "{name: x, factors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}}\n",
			"file.yaml:1:2: a key of the experiment that does not begin its line"},
		{"indented", "  name: x\n  factors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n",
			"file.yaml:1:3: a key of the experiment that does not begin its line"},
		{"quoted", "---\n\"name\": x\n'factors': {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n\"seed\": 3\n", ""},
		{"a mark before it", "\ufeff# x\nname: x\nfactors: {rx: [tcp, uring], tx: [tcp], read: [64K, 1M]}\n", ""},
	} {
		spec, err := matrix.Parse("file.yaml", []byte(x.file))
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		spec.TakeTurns()
		_, _, err = (&Tuning{Goal: goal, Spec: spec, Time: time.Minute}).prepare()
		in := (*InputError)(nil)
		if errors.As(err, &in) != (x.err != "") || (err == nil) != (x.err == "") ||
			err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// The dry run of a file whose host a program leads to says which, and that it must be allowed.
func TestDryRunOfAFilesHost(t *testing.T) {
	spec, err := matrix.Parse("file.yaml", []byte(strings.Replace(sizes, "netns:b", "exec:/opt/reach tg", 1)))
	if err != nil {
		t.Fatal(err)
	}
	goal, _ := GoalOf("throughput")
	var b bytes.Buffer
	err = (&Tuning{Goal: goal, Spec: spec, Time: time.Minute, New: func(s *matrix.Spec, dir string,
		_ bool) *bench.Experiment {
		return &bench.Experiment{Spec: s, Dir: dir}
	}}).DryRun(t.Context(), &b)
	in := (interface{ WrongInput() bool })(nil)
	if !errors.As(err, &in) || !in.WrongInput() || !strings.Contains(err.Error(), "--trust-file") ||
		!strings.Contains(b.String(), "TG: /opt/reach tg") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What says what is measured is nothing to be tuned, and time that is too short is told.
func TestWrongInput(t *testing.T) {
	spec, err := matrix.Parse("x", []byte(strings.Replace(sizes, "touch: read", "", 1)+
		"include: [{rx: tcp, tx: tcp, touch: read}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Spaces(spec); err == nil || !strings.Contains(err.Error(), "touch differs") {
		t.Errorf("touch: %v", err)
	}
	s, _ := searchOf(t, "throughput", sizes, 20*time.Second)
	err = s.Begin((&world{}).found())
	if in := (*InputError)(nil); !errors.As(err, &in) || !strings.Contains(err.Error(), "the time is too short") {
		t.Errorf("20 s: %v", err)
	}
	for _, name := range []string{"", "speed"} {
		if _, err := GoalOf(name); err == nil {
			t.Errorf("goal %q", name)
		}
	}
}

// The confirmation starts the agents anew for each block, as zcbench matrix does that repeats it.
func TestConfirmsAnew(t *testing.T) {
	w := &world{truth: together}
	s, _ := searchOf(t, "throughput", strings.Replace(sizes, "netns:a", "exec:ssh a", 1), 5*time.Minute)
	w.play(t, s, 10_000, nil)
	var made *bench.Experiment
	tuning := &Tuning{Goal: s.goal, Spec: s.spec, Dir: t.TempDir(), Note: s.note,
		New: func(spec *matrix.Spec, dir string, search bool) *bench.Experiment {
			made = &bench.Experiment{Spec: spec, Dir: dir}
			return made
		}}
	if _, err := tuning.confirm(t.Context(), s, s.freeze()); err == nil || made == nil || !made.StartsAnew {
		t.Errorf("%+v: %v, want new starts, and the refusal of a host that the user did not trust", made, err)
	}
}
