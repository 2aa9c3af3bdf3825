// SPDX-License-Identifier: MIT

package compare

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A session that was cut in the middle of a block and resumed has all its blocks, and so has one
// of whose runs one was spoilt and made again: beside the verdict stands what it would be with
// the first try, of as many runs.
func TestBlocksOfResumed(t *testing.T) {
	uring := plan.Cell{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}
	j := results.Journal{Header: results.Header{SessionID: "first"}}
	add := func(c plan.Cell, rep int, session string, gbps float64, spoilt bool) {
		r := results.Record{Cell: c, Rep: rep, SessionID: session, Verdict: results.OK, Schema: results.SchemaVersion}
		r.SUT.Env.BootID, r.TG.Env.BootID, r.SUT.ThroughputGbps = "sut", "tg", &gbps
		if spoilt {
			r.Fail(plan.ByEnvironment, "foreign load", "")
		}
		j.Records = append(j.Records, r)
	}
	for rep := range 6 {
		was, is := "first", "first"
		switch {
		case rep == 3:
			is = "second" // cut between its two runs
		case rep > 3:
			was, is = "second", "second"
		}
		add(tcp, rep, was, 40+float64(rep), false)
		if rep == 1 {
			add(uring, rep, is, 5, true)
		}
		add(uring, rep, is, 60+float64(rep), false)
	}
	s := NewSet("s", j)
	r, err := Within(&s, tcp, metrics(t, "throughput_gbps"))
	if err != nil || len(r.Rows) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	row := &r.Rows[0]
	if row.Diff.Pairs != 6 || row.Verdict != Faster || row.Runs() != "6+6" {
		t.Errorf("%d pairs, %s, %s", row.Diff.Pairs, row.Runs(), row.VerdictText())
	}
	if row.All == nil || row.All.NA != 6 || row.All.NB != 6 {
		t.Errorf("with all runs: %+v", row.All)
	}
}
