// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results"
)

// turnReader reads the counters of an end at the edges of its turns, on a thread of its own. Those
// of the host are read at rest, before a turn and after it, so that all that the turn took is
// between them. The rate is that of the part in which the flow is at its pace.
type turnReader struct {
	run *run
	sch *wire.Turns
	cpu *counter.TurnReader

	sleeper sock.Sleeper
	off     context.CancelFunc
	done    chan struct{} // closed: what follows is no longer written

	sum  counter.TurnSum
	res  wire.TurnsResult
	kept []stream.Counters // of each flow: what it did in the turns that count
	// whole is what came in the turns that count, with what was under way at their ends, see
	// [turnReader.drain].
	whole uint64
	err   error

	buffer  int     // receive buffer of the flow with the largest, bytes, as it was held
	unheld  error   // why it was not
	drained []int64 // of each turn: after how long it was at rest
	ofTurns bool    // the interface is read in each turn

	samples  turnSamples
	probed   probeSeen             // in the turns that count
	probesNs int64                 // what reading the probes took before turns
	spans    []perf.Span           // which these are, as the profile has them
	sums     map[string]*tally.Sum // by area
	// untold books the turns that are left out only because tasks do not tell who had the CPUs.
	untold []func()
}

// lateRead is how late the end of a turn's part at pace may be read: so long before the sender
// stops it is to be read.
const lateRead = 2 * time.Millisecond

// startTurns begins to read, where the end has turns.
func (r *run) startTurns(ctx context.Context) {
	if r.sch.Turns == nil {
		return
	}
	t := &turnReader{run: r, sch: r.sch.Turns, done: make(chan struct{})}
	var tids []int
	for _, w := range r.end.workers {
		tids = append(tids, w.tid)
	}
	r.end.probes.flows(tids)
	c := counter.TurnConfig{FS: r.end.inside.files(), Threads: tids, CPUs: r.end.spec.MeasureCPUs, Tasks: r.turnTasks(),
		Within: wire.TurnReads / 2, Hardware: r.hardware}
	if t.ofTurns = countsNow(r.end.spec.Dev, r.tally.Device()); t.ofTurns {
		c.Dev = r.end.spec.Dev
	}
	c.Others = t.areas()
	t.cpu, t.err = counter.OpenTurns(c)
	if r.end.spec.SampleMs > 0 {
		t.samples.makeRoom(r.sch.InWindow())
	}
	ctx, t.off = context.WithCancel(ctx)
	r.turns = t
	reading.begin(t)
	go t.read(ctx)
}

// stop ends the reading, and waits for that.
func (t *turnReader) stop() {
	if t == nil {
		return
	}
	t.off()
	<-t.done
	reading.end(t)
	if t.cpu != nil {
		t.cpu.Close()
	}
}

// read reads all turns in the window.
func (t *turnReader) read(ctx context.Context) {
	defer close(t.done)
	holdProcessors(1) // sleeps keep it
	defer holdProcessors(-1)
	// Not of real time (SCHED_FIFO), which is in time beside any load: where a thread of the Go
	// runtime waits for another by yielding its CPU (osyield), such a one keeps it from that.
	defer hurry()()
	defer t.run.end.probes.leaveOut()()
	if t.err != nil {
		return
	}
	for i, at := range t.sch.AtNs {
		if at >= t.run.sch.FromNs {
			t.err = t.turn(ctx, at)
		} else if i == 0 { // the flow gets under way
			t.err = t.napUntil(ctx, at+t.sch.OnNs-lateRead.Nanoseconds())
		}
		if t.err != nil {
			return
		}
		if i == 0 {
			t.holdBuffers()
		}
	}
}

// turn reads the edges of a turn, and books it. One whose edges were read late, one in which
// others' bytes came, and one in which the programs that tell tasks apart missed something, is left
// out as a whole. What its own flow did in it is no reason.
func (t *turnReader) turn(ctx context.Context, at int64) error {
	if err := t.napUntil(ctx, at-t.sch.LeadNs); err != nil {
		return err
	}
	probed := t.run.end.probes.beginTurn()
	t.probesNs += probed.tookNs
	missed := t.cpu.Missed()
	before, err := t.cpu.Read(false)
	if err != nil {
		return err
	}
	from, others := t.run.end.counters(), reading.othersBytes(t)
	began := monotonic() // all of before is read
	pace, err := t.atPace(ctx, at, sum(from).Bytes)
	if err != nil {
		return err
	}
	whole, err := t.drain(ctx, at+t.sch.OnNs)
	if err != nil {
		return err
	}
	to := t.run.end.counters()
	after, err := t.cpu.Read(true)
	if err != nil {
		return err
	}
	missed = t.cpu.Missed() - missed
	seen, late := t.run.end.probes.endTurn()
	endNs := monotonic()
	if late {
		endNs = math.MaxInt64
	}
	span := perf.Span{FromNs: before.AtNs, ToNs: after.AtNs}
	t.run.end.profiler.turn(span)
	crowd := reading.othersBytes(t) - others
	untold := missed > 0 || before.Torn() || after.Torn()
	if t.counts(at, began, after.AtNs, endNs, pace.late, crowd, sum(to).Bytes-sum(from).Bytes) {
		t.book(untold, func() {
			t.samples.add(sample{atNs: pace.toNs, bytes: sum(to).Bytes, paceNs: pace.ns, paced: pace.bytes,
				whole: whole - sum(from).Bytes})
			t.res.PaceNs, t.res.Paced = t.res.PaceNs+pace.ns, t.res.Paced+pace.bytes
			t.whole += whole - sum(from).Bytes
			t.sum.Add(t.cpu, before, after)
			t.probed.add(new(seenBetween(&probed, &seen)))
			t.spans = append(t.spans, span)
			if t.run.end.OnEdge != nil {
				t.res.PaceAt = append(t.res.PaceAt, pace.at)
			}
			t.sum.Missed += missed
			t.keep(from, to)
			t.cpu.Done(before, after)
		})
	} else {
		t.cpu.Done(before, after)
	}
	return nil
}

// book books a turn that counts, or leaves it out until [turnReader.orByTicks] where tasks do not
// tell all of it: CPU time that is exact is not to be mixed with what ticks tell.
func (t *turnReader) book(untold bool, add func()) {
	if !untold {
		add()
		return
	}
	t.res.Untold++
	t.res.LeftOut++
	t.untold = append(t.untold, add)
}

// orByTicks books what tasks do not tell after all, where too few turns remain without: then ticks
// tell of all turns, and the record says so.
func (t *turnReader) orByTicks() {
	x := end.Turns{Turns: t.res.Turns, LeftOut: t.res.LeftOut}
	if len(t.untold) == 0 || !x.TooFew() {
		return
	}
	for _, add := range t.untold {
		add()
	}
	t.res.LeftOut, t.res.Untold, t.untold = t.res.LeftOut-t.res.Untold, 0, nil
}

// counts decides whether a turn does, before which the last was read at beforeNs, and after which
// CPU time was at afterNs, and the last at endNs: no later than the next turn begins.
func (t *turnReader) counts(at, beforeNs, afterNs, endNs int64, latePace bool, crowd, bytes uint64) bool {
	over := at + t.sch.OnNs + t.sch.DrainNs + wire.TurnReads.Nanoseconds()
	lateCPU := beforeNs > at || afterNs > over || endNs > over+t.sch.LeadNs
	crowded := float64(crowd) > mostOfOthers*float64(bytes)
	leftOut := latePace || lateCPU || crowded
	t.res.Turns++
	for _, x := range []struct {
		is bool
		n  *int
	}{{latePace, &t.res.Missed}, {lateCPU, &t.res.LateCPU}, {crowded, &t.res.Crowded}, {leftOut, &t.res.LeftOut}} {
		if x.is {
			*x.n++
		}
	}
	return !leftOut
}

// mostOfOthers is the share of a turn's bytes from which on others' that come in it are more than
// it may have: their CPU time is in it, too.
const mostOfOthers = 0.01

// keep adds what the flows did in a turn.
func (t *turnReader) keep(from, to []stream.Counters) {
	if t.kept == nil {
		t.kept = make([]stream.Counters, len(from))
	}
	for i := range t.kept {
		t.kept[i] = t.kept[i].Add(to[i].Sub(from[i]))
	}
}

// paced is what passed in the part of a turn in which the flow is to be at its pace.
type paced struct {
	ns    int64
	toNs  int64
	at    power.Window
	bytes uint64
	late  bool // its edges were read so
}

// atPace reads what passes in the part of a turn in which the flow is to be at its pace. Where
// nothing has come since the turn began, it is not yet, unless it has a pace with gaps that are
// longer.
func (t *turnReader) atPace(ctx context.Context, at int64, began uint64) (p paced, err error) {
	if err := t.napUntil(ctx, at+t.sch.SettleNs); err != nil {
		return p, err
	}
	from, fromNs := t.read1()
	t.run.end.edge()
	watch := t.watch()
	off, late := at+t.sch.OnNs, min(lateRead.Nanoseconds(), (t.sch.OnNs-t.sch.SettleNs)/4)
	err = t.napUntil(ctx, off-late)
	t.run.end.edge()
	to, toNs := t.read1()
	t.looked(watch)
	t.run.tcp.Draw()
	if spec := &t.run.end.spec; from == began && spec.Role == stream.RX && !spec.Cell.Paced() {
		t.res.Unsettled++
	}
	half := off - (t.sch.OnNs-t.sch.SettleNs)/2
	return paced{toNs - fromNs, toNs, power.Window{FromNs: fromNs, ToNs: toNs}, to - from,
		fromNs > half || toNs > off+late/4}, err
}

// drainLook is how often the flow is looked at while what is under way arrives.
const drainLook = 500 * time.Microsecond

// drain waits until a turn's time to drain is over, and sees after how long all had arrived. It
// returns the bytes that had come one millisecond after the turn: a flow that keeps to a pace has
// had all of them then, and one that is slower than its pace, whose buffers are full, not many more
// than in a turn.
func (t *turnReader) drain(ctx context.Context, off int64) (whole uint64, err error) {
	last, moved := t.bytes(), off
	for now := off; now < off+t.sch.DrainNs; {
		now = min(now+drainLook.Nanoseconds(), off+t.sch.DrainNs)
		if err := t.napUntil(ctx, now); err != nil {
			return 0, err
		}
		n := t.bytes()
		if n != last {
			last, moved = n, now
		}
		if now <= off+2*drainLook.Nanoseconds() {
			whole = n
		}
	}
	took := moved - off
	if took >= t.sch.DrainNs {
		took = 2 * t.sch.DrainNs
	}
	t.drained = append(t.drained, took)
	return whole, nil
}

// ofWholeTurns makes the rate of a flow that holds its pace that of whole turns: it is at its pace
// from the first piece on, and what it catches up with at a turn's beginning, where it was held up
// at the end of the one before, is of its rate. One that does not hold it has more under way at a
// turn's end than it had at its beginning, or a path with a delay: its rate is that of the part at
// pace.
func (t *turnReader) ofWholeTurns(pace int) {
	ns := int64(t.res.Turns-t.res.LeftOut) * t.sch.OnNs
	if least := float64(pace) / 8e9 * (1 - plan.PaceTolerance); pace > 0 && float64(t.whole) >= least*float64(ns) {
		t.res.Paced, t.res.PaceNs = t.whole, ns
		t.samples.ofWholeTurns(t.sch.OnNs)
	}
}

// read1 reads the bytes, and when that was.
func (t *turnReader) read1() (bytes uint64, ns int64) {
	before := monotonic()
	bytes = t.bytes()
	return bytes, (before + monotonic()) / 2
}

func (t *turnReader) bytes() uint64 { return sum(t.run.end.counters()).Bytes }

// watch looks where the flows' softirq runs, in their turn only.
func (t *turnReader) watch() *place.Watch {
	if len(t.run.end.places) == 0 {
		return nil
	}
	return place.StartWatch(t.run.end.sockets()...)
}

// looked adds what a turn's looks found.
func (t *turnReader) looked(w *place.Watch) {
	if w == nil {
		return
	}
	for i, seen := range w.Stop() {
		f := t.run.end.flows[i]
		if f.looks == nil {
			f.looks = map[int]int{}
		}
		for cpu, n := range seen {
			f.looks[cpu] += n
		}
	}
}

// take reads what is the flows' own at an edge of the window. All is at rest then.
func (t *turnReader) take(e *edge, cfg counter.Config) (err error) {
	if cfg.End {
		<-t.done
		if t.err != nil {
			return t.err
		}
		t.orByTicks()
		t.ofWholeTurns(t.run.end.spec.Cell.PaceBitsPS)
	}
	own := counter.Config{FS: cfg.FS, CPUs: cfg.CPUs, Sockets: cfg.Sockets, Sends: cfg.Sends, Threads: cfg.Threads,
		End: cfg.End, OfFlow: true, Hardware: cfg.Hardware, Dev: cfg.Dev, DevOfAll: cfg.Dev != "" && !t.ofTurns}
	e.flows, e.times, e.atNs = t.run.end.counters(), t.run.end.times(), monotonic()
	e.host, err = counter.Take(own)
	e.taken = err == nil
	return err
}

// between makes the window's edges those of the turns that count.
func (t *turnReader) between(from, to *edge) {
	if t == nil {
		return
	}
	t.sum.Between(&from.host, &to.host)
	var broken []string
	if from.tally, to.tally, broken = tally.Sums(t.sums); len(broken) > 0 {
		to.host.Warnings = append(to.host.Warnings,
			"not measured in turns, because counters came, went or began anew in "+
				"one: "+strings.Join(broken, ", "))
	}
	for i := range to.flows {
		to.flows[i] = from.flows[i]
		if t.kept != nil {
			to.flows[i] = from.flows[i].Add(t.kept[i])
		}
	}
}

// series returns the turns one by one.
func (t *turnReader) series(startNs int64) []measure.Series {
	if t == nil {
		return nil
	}
	return t.samples.series(startNs)
}

// seconds returns how long the window's bytes take at the pace of the turns; without turns, or a
// pace, what it lasted.
func (t *turnReader) seconds(bytes uint64, window float64) float64 {
	if t == nil || t.res.Paced == 0 {
		return window
	}
	return float64(bytes) / float64(t.res.Paced) * float64(t.res.PaceNs) / 1e9
}

// scale makes cores and rates of counters, which are of turns from rest to rest, those of the
// duration: their product is the CPU time that the turns took, and a CPU that had no time left in
// its turns is full. Load of others stays what it was while turns lasted, by which its gate goes.
func (t *turnReader) scale(h *results.Host, wallS float64) {
	if t == nil || h.DurationS == nil || !(*h.DurationS > 0) {
		return
	}
	by := wallS / *h.DurationS
	all := []*float64{h.CPUBusyCores, h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores, h.CPUBusyU, h.IOWaitCores,
		h.CPUPollerCores}
	for i := range h.Flows {
		all = append(all, h.Flows[i].ThreadCores, h.Flows[i].PollerCores)
	}
	for i := range h.Metrics {
		m := &h.Metrics[i]
		if m.Unit == "cores" && !strings.HasPrefix(m.Name, "foreign_") && !strings.HasPrefix(m.Name, "background_") {
			all = append(all, &m.Value)
		}
	}
	for i := range h.Metrics {
		all = append(all, h.Metrics[i].PerSecond)
	}
	for _, v := range all {
		if v != nil {
			*v *= by
		}
	}
}

// leftOut tells how many turns do not count, and why; without turns, nothing.
func (t *turnReader) metrics() []measure.Metric {
	if t == nil {
		return nil
	}
	m := measure.Metric{Name: "turns_left_out", Unit: "1", Value: float64(t.res.LeftOut), Source: "CLOCK_MONOTONIC"}
	if t.res.LeftOut > 0 {
		m.Quality = fmt.Sprintf("of %d; rate read late %d, CPU time read late %d, others' bytes in them %d, "+
			"who had the CPUs not known %d", t.res.Turns, t.res.Missed, t.res.LateCPU, t.res.Crowded, t.res.Untold)
	}
	out := []measure.Metric{m}
	if t.cpu != nil {
		out = append(out, measure.Metric{Name: "turns_read_us", Unit: "us", Value: float64(t.cpu.MeanNs()) / 1e3,
			Source: "CLOCK_MONOTONIC"},
			measure.Metric{Name: "turns_reader_cores", Unit: "cores", Value: t.sum.ReaderCores(),
				Source: "CLOCK_THREAD_CPUTIME_ID"})
	}
	if t.probesNs > 0 {
		out = append(out, measure.Metric{Name: "turns_probes_read_us", Unit: "us",
			Value: float64(t.probesNs) / 1e3 / float64(max(t.res.Turns, 1)), Source: "CLOCK_MONOTONIC"})
	}
	if t.buffer > 0 {
		out = append(out, measure.Metric{Name: "turns_receive_buffer_bytes", Unit: "bytes", Value: float64(t.buffer),
			Source: "SO_RCVBUF"})
	}
	return out
}

// spansOr returns the turns that count; of an end that has none, its window.
func (t *turnReader) spansOr(window perf.Span) []perf.Span {
	if t == nil {
		return []perf.Span{window}
	}
	// Some are booked late.
	slices.SortFunc(t.spans, func(a, b perf.Span) int { return cmp.Compare(a.FromNs, b.FromNs) })
	return t.spans
}

// result returns what was read; nil: there were no turns.
func (t *turnReader) result() *wire.TurnsResult {
	if t == nil {
		return nil
	}
	res := t.res
	if res.Turns > 0 {
		res.MeanNs = t.sum.WallNs() / int64(max(res.Turns-res.LeftOut, 1))
		slices.SortFunc(res.PaceAt, func(a, b power.Window) int { return cmp.Compare(a.FromNs, b.FromNs) })
		all := slices.Sorted(slices.Values(t.drained))
		res.DrainedNs = all[len(all)*9/10]
		res.StolenFrac = t.cpu.Stolen()
	}
	return &res
}

// longestOff returns for how long an end is off at most: nothing comes then.
func longestOff(s wire.Schedule) (d time.Duration) {
	t := s.Turns
	if t == nil {
		return 0
	}
	last := s.StartNs
	for _, at := range t.AtNs {
		d, last = max(d, duration(at-last)), at+t.OnNs
	}
	return max(d, duration(s.StopNs-last))
}

// longestNap bounds one sleep of [napUntil], so that an end that is called off is noticed.
const longestNap = 200 * time.Millisecond

// napUntil sleeps in the kernel until a time, and does not tell the Go scheduler: its timers are
// heard by a thread that waits for a CPU behind the flows, and each call that it knows of wakes
// other threads, which look for work in the turn (measured: a tenth of a core and more, where this
// takes a twentieth).
func (t *turnReader) napUntil(ctx context.Context, ns int64) error {
	for {
		left := duration(ns - monotonic())
		if err := context.Cause(ctx); err != nil || left <= 0 {
			return err
		}
		t.sleeper.Sleep(min(left, longestNap)) // a signal ends it early
	}
}
