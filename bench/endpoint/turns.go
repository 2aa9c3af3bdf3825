// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
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
	rest uint64 // bytes at the end of the last turn
	err  error

	drained []int64 // of each turn: after how long it was at rest
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
	t.cpu, t.err = counter.OpenTurns(tids)
	ctx, t.off = context.WithCancel(ctx)
	r.turns = t
	go t.read(ctx)
}

// stop ends the reading, and waits for that.
func (t *turnReader) stop() {
	if t == nil {
		return
	}
	t.off()
	<-t.done
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
	if t.err != nil {
		return
	}
	for _, at := range t.sch.AtNs {
		if at < t.run.sch.FromNs {
			continue // the flow gets under way
		}
		if t.err = t.turn(ctx, at); t.err != nil {
			return
		}
	}
}

// turn reads the edges of a turn.
func (t *turnReader) turn(ctx context.Context, at int64) error {
	if err := t.napUntil(ctx, at-t.sch.LeadNs); err != nil {
		return err
	}
	before, err := t.cpu.Read()
	if err != nil {
		return err
	}
	began := t.bytes()
	if t.res.Turns > 0 {
		t.res.Late += began - t.rest
	}
	if err := t.atPace(ctx, at, began); err != nil {
		return err
	}
	off := at + t.sch.OnNs
	if err := t.drain(ctx, off); err != nil {
		return err
	}
	t.rest = t.bytes()
	after, err := t.cpu.Read()
	if err != nil {
		return err
	}
	if late := off + t.sch.DrainNs + wire.TurnReads.Nanoseconds(); before.AtNs > at || after.AtNs > late {
		t.res.LateCPU++
	}
	t.res.Turns++
	t.sum.Add(before, after)
	return nil
}

// atPace reads what passes in the part of a turn in which the flow is at its pace. Where nothing
// has come since the turn began, it is not, unless it has a pace with gaps that are longer.
func (t *turnReader) atPace(ctx context.Context, at int64, began uint64) error {
	if err := t.napUntil(ctx, at+t.sch.SettleNs); err != nil {
		return err
	}
	from, fromNs := t.read1()
	watch := t.watch()
	off, late := at+t.sch.OnNs, min(lateRead.Nanoseconds(), (t.sch.OnNs-t.sch.SettleNs)/4)
	err := t.napUntil(ctx, off-late)
	to, toNs := t.read1()
	t.looked(watch)
	spec := &t.run.end.spec
	unsettled := from == began && spec.Role == stream.RX && !spec.Cell.Paced()
	if unsettled {
		t.res.Unsettled++
	}
	if half := off - (t.sch.OnNs-t.sch.SettleNs)/2; unsettled || fromNs > half || toNs > off+late/4 {
		t.res.Missed++
	} else {
		t.res.PaceNs, t.res.Paced = t.res.PaceNs+toNs-fromNs, t.res.Paced+to-from
	}
	return err
}

// drainLook is how often the flow is looked at while what is under way arrives.
const drainLook = 500 * time.Microsecond

// drain waits until a turn's time to drain is over, and sees after how long all had arrived.
func (t *turnReader) drain(ctx context.Context, off int64) error {
	last, moved := t.bytes(), off
	for now := off; now < off+t.sch.DrainNs; {
		now = min(now+drainLook.Nanoseconds(), off+t.sch.DrainNs)
		if err := t.napUntil(ctx, now); err != nil {
			return err
		}
		if n := t.bytes(); n != last {
			last, moved = n, now
		}
	}
	took := moved - off
	if took >= t.sch.DrainNs {
		took = 2 * t.sch.DrainNs
	}
	t.drained = append(t.drained, took)
	return nil
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
	if t.run.end.place == nil {
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
	}
	own := counter.Config{CPUs: cfg.CPUs, Sockets: cfg.Sockets, Sends: cfg.Sends, Threads: cfg.Threads, End: cfg.End,
		OfFlow: true}
	e.flows, e.times, e.atNs = t.run.end.counters(), t.run.end.times(), monotonic()
	e.host, err = counter.Take(own)
	e.taken = err == nil
	return err
}

// between makes the window's snapshots those of the turns in it.
func (t *turnReader) between(from, to *counter.Snapshot) {
	if t != nil {
		t.sum.Between(from, to)
	}
}

// seconds returns how long the window's bytes take at the pace of the turns; without turns, or a
// pace, what it lasted.
func (t *turnReader) seconds(bytes uint64, window float64) float64 {
	if t == nil || t.res.Paced == 0 {
		return window
	}
	return float64(bytes) / float64(t.res.Paced) * float64(t.res.PaceNs) / 1e9
}

// scale makes cores, which are of turns from rest to rest, those of the duration: their product is
// the CPU time that the turns took, and a CPU that had no time left in its turns is full. Load of
// others stays what it was while turns lasted, by which its gate goes.
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
	for _, v := range all {
		if v != nil {
			*v *= by
		}
	}
}

// result returns what was read; nil: there were no turns.
func (t *turnReader) result() *wire.TurnsResult {
	if t == nil {
		return nil
	}
	res := t.res
	if res.Turns > 0 {
		res.MeanNs = t.sum.WallNs() / int64(res.Turns)
		all := slices.Sorted(slices.Values(t.drained))
		res.DrainedNs = all[len(all)*9/10]
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
