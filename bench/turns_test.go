// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Nobody's turn overlaps another's, from the reading before it to that after it; each has as many;
// and the order goes there and back.
func TestTimetable(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		o := Options{Turn: 60 * time.Millisecond, RampUp: 100 * time.Millisecond}
		x := o.timetable(n, time.Second, turnDrains, time.Millisecond)
		if x.turns != 18 || x.on != 64*time.Millisecond || x.lead != 3*time.Millisecond {
			t.Errorf("%d cells: %d turns of %v, read %v before", n, x.turns, x.on, x.lead)
		}
		type turn struct {
			at  time.Duration
			who int
		}
		var all []turn
		for i, own := range x.at {
			if len(own) != 20 {
				t.Errorf("%d cells: %d has %d turns", n, i, len(own))
			}
			for _, at := range own {
				all = append(all, turn{at, i})
			}
			if err := x.of(i, 1).Check(); err != nil {
				t.Error(err)
			}
		}
		slices.SortFunc(all, func(a, b turn) int { return int(a.at - b.at) })
		inWindow := 0
		for i, a := range all {
			if i > 0 && a.at-x.lead < all[i-1].at+x.on+x.drain+turnReads {
				t.Errorf("%d cells: the turn at %v begins in that of %v", n, a.at, all[i-1].at)
			}
			if round := i / (2 * n); a.who != matrix.ThereAndBack(n, round-min(round, 1))[i%(2*n)] {
				t.Errorf("%d cells: turn %d is of %d", n, i, a.who)
			}
			if end := a.at + x.on + x.drain; a.at-x.lead >= x.from && end <= x.to {
				inWindow++
			} else if a.at >= x.from || end > x.from {
				t.Errorf("%d cells: a turn at %v, the window from %v to %v", n, a.at, x.from, x.to)
			}
		}
		if inWindow != n*x.turns {
			t.Errorf("%d cells: %d turns in the window", n, inWindow)
		}
	}
}

// Where clocks part, each turn of a long start has room for it.
func TestTimetableApart(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, RampUp: 100 * time.Millisecond}
	x := o.timetable(8, 10*time.Second, turnDrains, time.Millisecond)
	y := o.apart(&x, 10*time.Second, time.Millisecond)
	room, parted := y.lead-turnReads-time.Millisecond, host.ClocksPart(y.length())
	if room < parted*99/100 || room > parted || parted < 8*time.Millisecond || y.turns != x.turns ||
		y.drain != x.drain {
		t.Errorf("%v of room in each turn, clocks part by %v", room, parted)
	}
}

// A cell with turns of a length of its own has eight of them at least; one that is made alone has
// the window of such runs, and a ramp of its own. A warm-up is as long as any.
func TestOfTurns(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, Duration: 2 * time.Second, RampUp: 240 * time.Millisecond,
		Alone: 5 * time.Second, WarmupDuration: time.Second}
	for _, x := range []struct {
		turn                   string
		length, window, rampUp time.Duration
	}{
		{"", 60 * time.Millisecond, 2 * time.Second, 240 * time.Millisecond},
		{"240ms", 240 * time.Millisecond, 2 * time.Second, 240 * time.Millisecond},
		{"1s", time.Second, 8 * time.Second, 240 * time.Millisecond},
		{plan.NoTurns, 60 * time.Millisecond, 5 * time.Second, aloneRamp},
	} {
		c := plan.Cell{RX: "tcp", TX: "tcp", Turn: x.turn}
		got := o.ofTurns(&c)
		if got = got.ofTurns(&c); got.Turn != x.length || got.window(matrix.Run{Cell: c}) != x.window ||
			got.RampUp != x.rampUp || got.window(matrix.Run{Cell: c, Warmup: true}) != time.Second {
			t.Errorf("%q: turns of %v, a window of %v behind %v", x.turn, got.Turn, got.Duration, got.RampUp)
		}
		if blocks := (Options{Duration: time.Second, Alone: time.Minute}).ofTurns(&c); blocks.Duration != time.Second {
			t.Errorf("%q in blocks: a window of %v", x.turn, blocks.Duration)
		}
	}
}

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

// Two equal cells in turns, start by start: how far the ratios of their rates and CPU times are
// from 1. ZCBENCH_STARTS says how many of 1 s; shorter ones are of make test. CPU time is exact
// where root asks.
func TestIntegrationTurnsOfEqual(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	a, b := fast("tcp", "read"), fast("tcp", "read")
	a.ID, b.ID = "a", "b"
	runs := r.inTurns(a, b)
	starts, _ := strconv.Atoi(os.Getenv("ZCBENCH_STARTS"))
	if starts > 0 {
		r.Runner.Opt.Duration = time.Second
	}
	var rates, costs []float64
	for n := range max(starts, 6) {
		if n%2 == 1 {
			slices.Reverse(runs)
		}
		by := map[string]*results.Record{}
		recs := r.Runner.RunTogether(t.Context(), runs)
		for i := range recs {
			if recs[i].Verdict != results.OK {
				t.Logf("start %d, %s: %s", n, recs[i].Verdict, recs[i].Reason)
			}
			by[recs[i].Cell.ID] = &recs[i]
		}
		x, y := &by["a"].SUT, &by["b"].SUT
		for _, h := range []*results.Host{x, y, &by["a"].TG, &by["b"].TG} {
			i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == "cpu_busy_cores" })
			if i >= 0 && h.Metrics[i].Source != measure.ByTasks {
				t.Errorf("start %d: CPU time is of %s", n, h.Metrics[i].Source)
			}
		}
		if by["a"].Verdict != results.OK || by["b"].Verdict != results.OK {
			continue
		}
		rates = append(rates, math.Log(*y.ThroughputGbps / *x.ThroughputGbps))
		if u, v := x.NsPerKB(), y.NsPerKB(); u != nil && v != nil {
			costs = append(costs, math.Log(*v / *u))
		}
	}
	for name, logs := range map[string][]float64{"rate": rates, "CPU time": costs} {
		if len(logs) < 2 {
			t.Logf("%s: only %d starts tell", name, len(logs))
			continue
		}
		if starts > 0 {
			t.Logf("%s: intervals of 6 of these starts cover 1 in %.1f %% of draws", name, 100*covered(logs, 6))
		}
		mean, sd := meanSD(logs)
		t.Logf("%s, %d starts of two equal cells: geometric mean %.4f, spread of a start %.2f %%", name, len(logs),
			math.Exp(mean), 100*sd)
		if limit := 5*sd/math.Sqrt(float64(len(logs))) + .02; math.Abs(mean) > limit {
			t.Errorf("%s: equal cells differ by %.1f %%, more than their spread explains", name, 100*mean)
		}
	}
}

// covered draws so many logarithms of ratios again and again, and returns how often the interval of
// their mean contains 0.
func covered(logs []float64, n int) float64 {
	const draws = 2000
	r, covers := rand.New(rand.NewPCG(1, 1)), 0
	for range draws {
		r.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
		if _, lo, hi, ok := stat.MeanInterval(logs[:min(n, len(logs))], 1); ok && lo <= 0 && hi >= 0 {
			covers++
		}
	}
	return float64(covers) / draws
}

func meanSD(all []float64) (mean, sd float64) {
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		sd += (v - mean) * (v - mean) / float64(len(all)-1)
	}
	return mean, math.Sqrt(sd)
}

// sameTurns compares turns, whose window is as long as they take.
func sameTurns(got, want results.Turns) bool {
	ok := got.WindowNs >= int64(want.Turns)*want.TurnNs
	got.WindowNs = 0
	return ok && got == want
}

// Cells at capacity and cells at a share of it take turns with each other: a start without a pace
// comes first, as the warm-up, and those with a share then have it of what the slowest had there.
// In their turns they are within 2 % of it, and every byte is accounted for. What slows the whole
// machine down after the calibration, such as its neighbours, may leave a cell no room for its
// share: then it says that it missed its pace, and the cells at capacity beside it show why.
func TestIntegrationPaceInTurns(t *testing.T) {
	kind.Timed(t)
	held, missed := paceInTurns(t)
	for try := 1; try < 3 && held == 0 && missed > 0 && !t.Failed(); try++ {
		held, missed = paceInTurns(t)
	}
	if held == 0 {
		t.Errorf("something else disturbed each start, or slowed it down: %d runs missed their pace", missed)
	}
}

// paceInTurns makes the calibration and two starts, and returns how many runs held their pace, and
// how many missed it because the machine was slower than in the calibration.
func paceInTurns(t *testing.T) (held, missed int) {
	t.Helper()
	r := newRig(t)
	s := sharesSpec(t, "name: x\norder: turns\nturn: 20ms\nduration: 1s\nramp_up: 40ms\nrepetitions: 2\n"+
		"factors: {rx: [tcp, uring], tx: tcp, pace: [none, 50%], message: 1M, touch: none}\n")
	r.Runner.Opt.Turn, r.Runner.Opt.RampUp, r.Runner.Opt.Duration = s.TurnLength(), s.RampUp, s.Duration
	r.Session.Again, r.Session.Gates = &again{}, s.Gates
	runs := calibratedFirst(calibration(s, anyCell), s.Runs())
	if len(runs) != 2+2*4 || len(matrix.Start(runs)) != 2 {
		t.Fatalf("%d runs, %d of them calibrate", len(runs), len(matrix.Start(runs)))
	}
	recs, err := r.Play(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	of := results.Calibrate(recs)
	if of == nil {
		t.Fatalf("no calibrating start was left alone: %s", recs[0].Reason)
	}
	least := map[int64]float64{} // of each start: the rate of its slowest cell at capacity, Gbit/s
	for i := range recs {
		if rec := &recs[i]; rec.Cell.PacePercent == 0 {
			had, told := least[rec.StartUTCNs]
			if g := gbpsOf(rec); !told || g < had {
				least[rec.StartUTCNs] = g
			}
		}
	}
	share := of.Share(50)
	for _, rec := range recs {
		t.Logf("%s, start %d: %.4g of %.4g Gbit/s, %s %s", rec.Cell.ID, rec.Rep, gbpsOf(&rec),
			float64(rec.Cell.PaceBitsPS)/1e9, rec.Verdict, rec.Reason)
		if rec.Verdict != results.OK {
			if rec.Verdict != results.Invalid || !rec.Spoilt() {
				t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			}
			continue
		}
		if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.Bytes == 0 || *rec.SUT.Bytes > *rec.SUT.TotalBytes {
			t.Errorf("%s: %d bytes sent, %d received, %d of them in the window", rec.Cell.ID, *rec.TG.TotalBytes,
				*rec.SUT.TotalBytes, *rec.SUT.Bytes)
		}
		want := results.Turns{TurnNs: 20e6, Turns: 50, Cells: 4}
		if rec.Calibrates() {
			want.Cells = 2
		}
		if rec.Turns == nil || !sameTurns(*rec.Turns, want) {
			t.Errorf("%s: %+v, want %+v", rec.Cell.ID, rec.Turns, want)
		}
		paced := rec.Cell.PacePercent != 0
		if (rec.SUT.Delivery != nil) != paced || slices.Contains(rec.Flags, results.FlagOffPace) != rec.OffPace() {
			t.Errorf("%s: delivery %+v, flags %v", rec.Cell.ID, rec.SUT.Delivery, rec.Flags)
		}
		switch {
		case !paced:
		case heldPace(t, &rec, share, least[rec.StartUTCNs]):
			held++
		default:
			missed++
		}
	}
	return held, missed
}

// heldPace reports whether a run kept to its pace, of which a cell at capacity beside it had so
// many Gbit/s. It is to, where that was well above it.
func heldPace(t *testing.T, rec *results.Record, pace int, beside float64) bool {
	t.Helper()
	const (
		within = .02
		room   = 1.6 // of the pace: of the calibration it is 2
	)
	d, off := rec.SUT.Delivery, *rec.PaceError()
	t.Logf("%+.2f %% from its pace of %.4g Gbit/s, beside %.4g at capacity; p99 of delivery %.0f us of %d", 100*off,
		float64(rec.Cell.PaceBitsPS)/1e9, beside, *d.P99Us, d.Count)
	if rec.Cell.PaceBitsPS != pace {
		t.Errorf("%s: its pace is %d, want %d", rec.Cell.ID, rec.Cell.PaceBitsPS, pace)
	}
	if off < -within && beside < room*float64(pace)/1e9 {
		if said := strings.Join(rec.Warnings, "; "); !strings.Contains(said, "missed its pace") {
			t.Errorf("%s: nothing says that it missed its pace: %q", rec.Cell.ID, said)
		}
		return false
	}
	// What was due in turns that are left out is sent in those that count.
	left := rec.SUT.Value("turns_left_out")
	if off < -within || off > within+left/(float64(rec.Turns.Turns)-left) {
		t.Errorf("%s: %g Gbit/s at a pace of %d, and %.4g at capacity beside it; %.0f turns are left out", rec.Cell.ID,
			*rec.SUT.ThroughputGbps, pace, beside, left)
	}
	// Of a piece in 500 us of the turns, and its time is of the turns alone.
	if d.Count < 1500 || d.Count > 3500 || *d.P50Us > 5e3 {
		t.Errorf("%s: %d pieces were timed, half of them within %g us", rec.Cell.ID, d.Count, *d.P50Us)
	}
	return true
}

// gbpsOf is the rate of a run; 0: there is none.
func gbpsOf(r *results.Record) float64 {
	if g := r.SUT.ThroughputGbps; g != nil {
		return *g
	}
	return 0
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

// Reading the probes lengthens the pauses at both sides of each turn, and a start that gets too
// long by it is refused.
func TestTimetableOfProbes(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, Duration: 30 * time.Second}
	bare := o.timetable(4, o.Duration, turnDrains, 0)
	o.reads = 3 * time.Millisecond
	x := o.timetable(4, o.Duration, turnDrains, 0)
	n := 0
	for _, at := range x.at {
		n += len(at)
	}
	if got, want := x.length()-bare.length(), 2*o.reads*time.Duration(n); got != want || x.lead != bare.lead+o.reads {
		t.Errorf("%v longer, want %v; %v before a turn, %v without probes", got, want, x.lead, bare.lead)
	}
	if err := o.readsFit(&x); err != nil {
		t.Error(err)
	}
	o.reads = 200 * time.Millisecond
	x = o.timetable(4, o.Duration, turnDrains, 0)
	if err := o.readsFit(&x); err == nil || !strings.Contains(err.Error(), "200ms at each edge") {
		t.Errorf("a start of %v: %v", x.length(), err)
	}
}
