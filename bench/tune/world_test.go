// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// world is what hosts would make of runs.
type world struct {
	truth    func(c *plan.Cell) float64               // Gbit/s
	cores    func(c *plan.Cell) float64               // busy; nil: one
	refuses  func(c *plan.Cell) string                // why a run is unsupported; nil: none is
	disturbs func(c *plan.Cell, rep int) bool         // something else spoils it; nil: nothing does
	spoils   func(r *matrix.Run, rec *results.Record) // as the run itself may; nil: nothing
	window   func(c *plan.Cell) time.Duration         // of a start of such cells; nil: 3 s
	rough    bool                                     // starts drift, and one in 33 is off by 5 %
	took     map[string]float64                       // seconds of starts of races, by mode, and of those spoilt
	missing  func(c *plan.Cell) *bench.Missing
	facts    []survey.Fact
	driver   string
	queues   int // that cells can take; 0: any number
}

// spoilt is whose starts that something else disturbed are.
const spoilt = "spoilt"

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
	raced := false
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
		if now := recs[0].EndUTCNs(); now > 0 {
			of, took := runs[0].Cell.RX+"/"+runs[0].Cell.TX, float64(now-ended)/1e9
			if disturbed(recs) {
				of = spoilt
			} else if runs[0].Warmup {
				of = "tries"
			} else if !raced { // from the last try to here is no mode's
				took = w.found().Length(runs).Seconds()
			}
			raced = raced || !runs[0].Warmup
			w.took[of] += took
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

// confirm plays what was frozen, in other starts than the search's.
func (w *world) confirm(spec *matrix.Spec, from int) (recs []results.Record) {
	for _, r := range spec.Runs() {
		r.Rep += from
		recs = append(recs, w.record(&r))
	}
	return recs
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

// frozenOf writes what a search found, and reads it.
func frozenOf(t *testing.T, s *Search) (all []frozen, text string, spec *matrix.Spec) {
	t.Helper()
	all = s.freeze()
	text, cells, err := s.write(all, "zcbench tune", "")
	if err != nil {
		t.Fatal(err)
	}
	if spec, err = s.parse("best.yaml", text, cells); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all, text, spec
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
