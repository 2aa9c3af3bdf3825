// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// What a share is of is found in a start of those that take turns, and in three runs of those that
// are made alone.
func TestCalibratesAlone(t *testing.T) {
	s := sharesSpec(t, "name: x\nfactors: {rx: [tcp, uring], tx: tcp, pace: [none, 50%], turn: [20ms, none]}\n")
	runs := calibration(s, anyCell)
	if len(matrix.Start(runs)) != 2 || len(runs) != 2+2*calibrationRuns {
		t.Fatalf("%d runs, %d together", len(runs), len(matrix.Start(runs)))
	}
	for i, r := range runs {
		if r.Cell.Alone() != (i >= 2) || r.Cell.Alone() != (r.Group == 0) || !r.Calibrates || !r.Warmup {
			t.Errorf("%s: group %d", r.Cell.ID, r.Group)
		}
	}
}

// How long what is under way may take to arrive is learnt from ends that had all their turns, well
// or not, and from no others.
func TestDrainNext(t *testing.T) {
	end := func(v results.Verdict, turns int, ms time.Duration) wire.EndResult {
		return wire.EndResult{Verdict: v, Turns: &wire.TurnsResult{Turns: turns,
			DrainedNs: (ms * time.Millisecond).Nanoseconds()}}
	}
	for i, c := range []struct {
		sut, tg wire.EndResult
		err     error
		want    time.Duration
	}{
		{end(results.OK, 18, 8), end(results.OK, 18, 0), nil, 12},
		{end(results.Invalid, 18, 20), end(results.OK, 18, 0), nil, 30},
		{end(results.OK, 18, 0), end(results.OK, 18, 0), nil, 4},
		{end(results.OK, 18, 900), end(results.OK, 18, 0), nil, 80},
		{end(results.Failed, 0, 0), end(results.Failed, 3, 1), nil, 10},
		{end(results.OK, 18, 50), end(results.OK, 18, 60), errors.New("gone"), 10},
		{wire.EndResult{Verdict: results.OK}, wire.EndResult{}, nil, 10},
	} {
		table := timetable{drain: 10 * time.Millisecond, turns: 18}
		x := starting{out: outcome{sut: c.sut, tg: c.tg, sutErr: c.err, tgErr: c.err}}
		if got := table.drainNext([]*starting{&x}); got != c.want*time.Millisecond {
			t.Errorf("%d: %v, want %v ms", i, got, int(c.want))
		}
	}
	if a, b := settles(20*time.Millisecond), settles(240*time.Millisecond); a != turnSettles ||
		b != 16*time.Millisecond {
		t.Errorf("turns settle in %v and %v", a, b)
	}
}

// inTurns makes runs of cells that take turns, short ones.
func (r *rig) inTurns(cells ...plan.Cell) (runs []matrix.Run) {
	r.Runner.Opt.Turn, r.Runner.Opt.RampUp, r.Runner.Opt.Duration = 20*time.Millisecond, 40*time.Millisecond,
		400*time.Millisecond
	for _, c := range cells {
		runs = append(runs, matrix.Run{Cell: c, Group: 1})
	}
	return runs
}

func fast(rx, touch string) plan.Cell {
	return plan.Cell{ID: rx, RX: rx, TX: "tcp", MessageBytes: 1 << 20, Touch: touch}
}

// Flows of several modes take turns between two agents, and all that was sent arrives as it was.
func TestIntegrationTurns(t *testing.T) {
	r := newRig(t)
	for _, cells := range [][]plan.Cell{{fast("tcp", "verify"), fast("tcp-trunc", "none"), fast("uring", "verify")},
		{cell("tcp", "tcp")}} {
		for _, rec := range r.Runner.RunTogether(t.Context(), r.inTurns(cells...)) {
			if rec.Verdict != results.OK && !(rec.Verdict == results.Invalid && slices.Contains(rec.Flags,
				results.FlagDisturbed)) {
				t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
				continue
			}
			want := results.Turns{TurnNs: 20e6, Turns: 20, Cells: len(cells)}
			if rec.Turns == nil || !sameTurns(*rec.Turns, want) {
				t.Errorf("%s: %+v, want %+v", rec.Cell.ID, rec.Turns, want)
			}
			if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.Bytes == 0 ||
				*rec.SUT.Bytes > *rec.SUT.TotalBytes {
				t.Errorf("%s: %d bytes sent, %d received, %d of them in the window", rec.Cell.ID, *rec.TG.TotalBytes,
					*rec.SUT.TotalBytes, *rec.SUT.Bytes)
			}
			if rec.Cell.Touch == "verify" && (rec.SUT.Mismatches == nil || *rec.SUT.Mismatches != 0) {
				t.Errorf("%s: mismatches %v", rec.Cell.ID, rec.SUT.Mismatches)
			}
			if rec.SUT.Env.Congestion != "cubic" {
				t.Errorf("%s: congestion control %s", rec.Cell.ID, rec.SUT.Env.Congestion)
			}
		}
	}
}

// One that cannot be opened says so, and the others take turns without it. What a session sets for
// turns is restored.
func TestIntegrationTurnsOfOneThatCannot(t *testing.T) {
	r := newRig(t)
	recs, err := r.Play(t.Context(), r.inTurns(cell("tcp", "tcp"), cell("devmem", "tcp"), cell("uring", "tcp")))
	if err != nil || len(recs) != 3 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	for _, rec := range recs {
		if lacks := rec.Cell.RX == "devmem"; lacks != (rec.Verdict == results.Unsupported) ||
			lacks != (rec.Turns == nil) ||
			!lacks && rec.Turns.Cells != 2 {
			t.Errorf("%s: %s %s, turns %+v", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Turns)
		}
	}
	if n := len(r.journal(t)); n != 3 {
		t.Errorf("%d records in the journal", n)
	}
	if again, err := r.Play(t.Context(), []matrix.Run{{Cell: cell("tcp", "tcp")}}); err != nil ||
		again[0].Turns != nil || again[0].Start != 0 {
		t.Errorf("a run by itself after them: %+v, %v", again, err)
	}
	// What is refused before is recorded before.
	r.Missing = func(c plan.Cell) *Missing {
		if c.RX == "tcp" {
			return nil
		}
		return &Missing{Reason: "lacks all"}
	}
	runs := r.inTurns(cell("tcp", "tcp"), cell("uring", "tcp"), cell("tcp", "sendfile"))
	for i := range runs {
		runs[i].Block, runs[i].Rep = 1, 1
	}
	recs, err = r.Play(t.Context(), runs)
	if err != nil || len(recs) != 3 || !strings.HasPrefix(recs[0].Reason, "lacks all") || recs[2].Turns == nil ||
		recs[2].Start != 2 {
		t.Errorf("refused: %d records, %v", len(recs), err)
	}
}

// An agent that is killed fails all that took turns; the next start gets another one.
func TestIntegrationTurnsAgentKilled(t *testing.T) {
	r := newRig(t)
	runs := r.inTurns(cell("tcp", "tcp"), cell("uring", "tcp"))
	kill := true
	r.heard.onBegin = func(int) {
		if kill {
			await.Later(200*time.Millisecond, func() { unix.Kill(r.tg.PID(), unix.SIGKILL) })
		}
		kill = false
	}
	r.Runner.Opt.Duration = 5 * time.Second
	again := slices.Clone(runs)
	for i := range again {
		again[i].Block, again[i].Rep = 1, 1
	}
	recs, err := r.Play(t.Context(), slices.Concat(runs, again))
	if err != nil || len(recs) != 4 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	for i, rec := range recs {
		if lost := i < 2; lost && (rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "tg")) ||
			!lost && (rec.Verdict == results.Failed || rec.Turns == nil) {
			t.Errorf("%d, %s: %s: %s", i, rec.Cell.ID, rec.Verdict, rec.Reason)
		}
	}
}

// What is called off ends all that take turns, and frees their ends.
func TestIntegrationTurnsCalledOff(t *testing.T) {
	r := newRig(t)
	runs := r.inTurns(cell("tcp", "tcp"), cell("uring", "tcp"))
	r.endless()
	r.Runner.Opt.Duration = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	await.Later(300*time.Millisecond, cancel)
	for _, rec := range r.Runner.RunTogether(ctx, runs) {
		if rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "abort") && !strings.Contains(rec.Reason,
			"called off") && !strings.Contains(rec.Reason, "cancel") {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
		}
	}
	for _, rec := range r.Runner.RunTogether(t.Context(), r.inTurns(cell("tcp", "tcp"))) {
		if rec.Verdict == results.Failed {
			t.Errorf("after it: %s", rec.Reason)
		}
	}
}

// One whose turns are disturbed is made again with all the others, and then none of the first try
// counts.
func TestSpoiltTogether(t *testing.T) {
	s := &Session{Again: &again{}, Gates: plan.DefaultGates()}
	recs := []results.Record{{Cell: plan.Cell{ID: "a"}, Verdict: results.OK},
		{Cell: plan.Cell{ID: "b"}, Verdict: results.Invalid, Gate: plan.ByEnvironment},
		{Cell: plan.Cell{ID: "c"}, Verdict: results.Failed, Reason: "broke"}}
	for try := range s.Gates.Replacements() + 1 {
		got := slices.Clone(recs)
		again, last := s.spoilt(got), try == s.Gates.Replacements()
		if again == last || got[0].Spoilt() == last || got[2].Reason != "broke" {
			t.Errorf("try %d: again %v, %+v", try, again, got)
		}
		if !last && !strings.Contains(got[0].Reason, "took turns with b") {
			t.Error(got[0].Reason)
		}
	}
}

// Between turns the interface is at rest: nothing of one flow comes in the turn of another.
func TestIntegrationTurnsAtRest(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	runs := r.inTurns(fast("tcp", "read"), fast("uring", "read"))
	link := linkWatch(t, r.pair.SUT)
	recs := r.Runner.RunTogether(t.Context(), runs)
	pauses := link()
	turns := 0
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
		} else {
			turns += rec.Turns.Turns
		}
	}
	if pauses < turns*3/4 {
		t.Errorf("%d pauses of the interface between %d turns and more", pauses, turns)
	}
}

// linkWatch looks at an interface until it is called, and returns how many pauses there were.
func linkWatch(t *testing.T, end veth.End) func() int {
	t.Helper()
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		pauses := 0
		defer func() { done <- pauses }()
		_ = end.Netns.Do(func() error {
			var last uint64
			since, busy := time.Now(), false
			for {
				select {
				case <-stop:
					return nil
				case <-time.After(500 * time.Microsecond):
				}
				l, err := counter.ReadLink(end.Dev)
				switch {
				case err != nil:
					return err
				case l.Stats.RxBytes-last > 100<<10:
					since, busy = time.Now(), true
				case busy && time.Since(since) > 3*time.Millisecond:
					pauses, busy = pauses+1, false
				}
				last = l.Stats.RxBytes
			}
		})
	}()
	return func() int { close(stop); return <-done }
}

// sameTurns compares turns, whose window is as long as they take.
func sameTurns(got, want results.Turns) bool {
	ok := got.WindowNs >= int64(want.Turns)*want.TurnNs
	got.WindowNs = 0
	return ok && got == want
}

// Records of a start whose receive buffers differ much say so; what holds a pace has no part in it.
func TestWarnBuffers(t *testing.T) {
	of := func(id string, bytes float64, pace int) results.Record {
		r := results.Record{Verdict: results.OK, Cell: plan.Cell{ID: id, PaceBitsPS: pace}}
		if bytes > 0 {
			r.SUT.Metrics = []measure.Metric{{Name: "turns_receive_buffer_bytes", Value: bytes}}
		}
		return r
	}
	recs := []results.Record{of("a", 2e6, 0), of("b", 4e6, 0), of("c", 5e6, 0), of("paced", 1e5, 1e9),
		of("chosen", 0, 0)}
	warnBuffers(recs)
	for i, say := range []string{"held at 2.0 MB, and that of c", "", "held at 5.0 MB, and that of a", "", ""} {
		got := strings.Join(recs[i].Warnings, "; ")
		if (got == "") != (say == "") || !strings.Contains(got, say) {
			t.Errorf("%s: %q", recs[i].Cell.ID, got)
		}
	}
}
