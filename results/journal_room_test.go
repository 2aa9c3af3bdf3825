// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// allocated is how many MiB a function takes, with all that it throws away.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int((after.TotalAlloc - before.TotalAlloc) >> 20)
}

// Lists in journals of a few MB, or of kB as archives, that would become gigabytes in memory, are
// refused before anything is made of them, wherever they stand: each line by itself, and the others
// are used.
func TestJournalThatFillsMemory(t *testing.T) {
	many := func(one string) string { return strings.Repeat(one+",", 1_000_000) + one }
	header := `{"kind":"zcbench-journal","schema":3,"session_id":"s"`
	record := func(id string, seq int, sut string) string {
		return fmt.Sprintf(`{"schema":3,"run_id":%q,"session_id":"s","cell":{"id":"c","rx_mode":"tcp",`+
			`"tx_mode":"tcp"},"seq":%d,"sut":{%s},"tg":{},"verdict":"ok"`, id, seq, sut)
	}
	whole := header + "}\n" + record("first", 0, "") + "}\n%s" + record("last", 2, "") + "}\n"
	line := func(sut string) string { return fmt.Sprintf(whole, record("bad", 1, sut)+"}\n") }
	details := func(sut string) string {
		return fmt.Sprintf(whole, `{"kind":"details","run_id":"bad","sut":{`+sut+`},"tg":{}}`+"\n"+record("bad", 1,
			"")+`,"detailed":true}`+"\n")
	}
	// The longest list of cells that is believed, with what a slice leaves behind as it grows.
	cells := 3 * mostHeaderCells * int(reflect.TypeFor[plan.Cell]().Size()) >> 20
	for name, x := range map[string]struct {
		text, says string
		runs       int // that are used; 0: the journal is refused
	}{
		"cells": {header + `,"cells":[` + many("{}") + "]}\n",
			"line 1: not the header of a zcbench journal: lists of more than", 0},
		"cells of null": {header + `,"cells":[` + many("null") + "]}\n", "line 1: ", 0},
		"more cells than any": {header + `,"cells":[` + strings.Repeat("{},", mostHeaderCells) + "{}]}\n",
			"a plan of 20001 cells", 0},
		"a plan":            {header + `,"plan":{"primary":[` + many(`""`) + "]}}\n", "line 1: ", 0},
		"flows":             {line(`"flows":[` + many("{}") + "]"), "lists of more than", 2},
		"flows in capitals": {line(`"FLOWS":[` + many("{}") + "]"), "lists of more than", 2},
		"escaped flows":     {line(`"\u0066lows":[` + many("{}") + "]"), "lists of more than", 2},
		"classes":           {line(`"probes":{"profile":{"classes":[` + many("{}") + "]}}"), "lists of more than", 2},
		"flags": {fmt.Sprintf(whole, record("bad", 1, "")+`,"flags":[`+many(`""`)+"]}\n"),
			"lists of more than", 2},
		"metrics": {details(`"metrics":[` + many("{}") + "]"), "lists of more than", 2},
		"series":  {details(`"series":[` + many("{}") + "]"), "lists of more than", 2},
		"points": {details(`"series":[{"metric":"a","t_ns":[` + strings.Repeat(many("0")+",", 5) + "0]}]"),
			"series of more than", 2},
		"metrics of old": {line(`"metrics":[` + many("{}") + "]"), "lists of more than", 2},
		"empty lines": {fmt.Sprintf(whole, strings.Repeat("{}\n", mostBad+300)),
			"line 100004: more than 100000 lines before it are no runs", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range []reading{wholeRecords, figuresOnly} {
				var j Journal
				var err error
				mb := allocated(func() { j, err = decode(strings.NewReader(x.text), maxLine, how) })
				if most := 40 + cells + 4*len(x.text)>>20 + 8<<10*strings.Count(x.text, "\n")>>20; mb > most {
					t.Errorf("%d MiB for %d kB", mb, len(x.text)>>10)
				}
				switch over := how.over != nil && strings.Contains(x.text, detailsKind); {
				case x.runs == 0 && (err == nil || !strings.Contains(err.Error(), x.says)):
					t.Errorf("%v", err)
				case x.runs == 0:
				case over: // nobody looks at the line
					if err != nil || len(j.Records) != 3 {
						t.Errorf("%v, %d runs", err, len(j.Records))
					}
				case err != nil || len(j.Records) != x.runs || len(j.Skipped) == 0 ||
					!strings.Contains(j.Skipped[0].Why, x.says):
					t.Errorf("%v, %d runs, %.200v", err, len(j.Records), j.Skipped)
				}
			}
		})
	}
}

// Runs that say next to nothing fill the memory together: a journal of them is refused, long before
// it ends.
func TestJournalOfTooManyRuns(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`{"kind":"zcbench-journal","schema":3}` + "\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, `{"schema":3,"run_id":"%x","cell":{"id":"c"},"seq":%d,"verdict":"ok"}`+"\n", i, i)
	}
	var err error
	mb := allocated(func() { _, err = decode(&b, maxLine, figuresOnly) })
	if err == nil || !strings.Contains(err.Error(), "MiB of memory") {
		t.Errorf("%v", err)
	}
	if mb > 600 { // a list that grows is copied each time
		t.Errorf("%d MiB", mb)
	}
}

// The largest journal that zcbench writes is read: 100,000 runs of 10,000 cells, and runs of 1024
// flows with what a profile has.
func TestLargestJournal(t *testing.T) {
	var r room
	small := plainLine(t, func(r *Record) {
		*r = Record{Schema: 3, RunID: "r", SessionID: "s", Cell: r.Cell, Verdict: Unsupported,
			Reason: "bind-rx: operation not supported"}
	})
	l := line{to: len(small)}
	if err := l.count(small); err != nil {
		t.Fatal(err)
	}
	for n := range 100_000 {
		if err := r.take(&l, nil); err != nil {
			t.Fatalf("the run %d of %d bytes: %v", n, len(small), err)
		}
	}
	large := plainLine(t, func(r *Record) {
		part := ProfiledPart{Name: "tcp_v4_rcv", Where: "softirq", Class: "tcp", SelfPerKB: new(1.5),
			TotalPerKB: new(2.5)}
		for _, h := range []*Host{&r.SUT, &r.TG} {
			for range 1024 {
				h.Flows = append(h.Flows, Flow{CPU: new(3), Bytes: new(uint64(1 << 40)), ThroughputGbps: new(1.25)})
			}
			p := &Profiled{Event: "cycles"}
			for range MostFunctions {
				p.Classes, p.Functions = append(p.Classes, part), append(p.Functions, part)
			}
			h.Probes = &Probes{Profile: p}
		}
	})
	l = line{to: len(large)}
	if err := l.count(large); err != nil {
		t.Fatal(err)
	}
	r = room{}
	for n := range 100_000 {
		if err := r.take(&l, nil); err != nil {
			t.Fatalf("the run %d of %d bytes: %v", n, len(large), err)
		}
	}
}

// endless is a line that has no end.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

// The end of a line that is too long is not looked for until the file's end, which may be far.
func TestLineWithoutEnd(t *testing.T) {
	var e endless
	if _, err := Decode(&e); err == nil || !strings.Contains(err.Error(), "line 1 is longer than") {
		t.Errorf("%v", err)
	}
	if e.read > 2*mostSkipped {
		t.Errorf("%d bytes were read", e.read)
	}
}
