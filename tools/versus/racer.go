// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// tally is what is counted of a way by its interface, which nobody else has.
type tally struct {
	what     string
	between  func(a, b rtnl.Stats) uint64
	underWay uint64 // after which it is at its pace
	drained  uint64 // the most that comes of what was under way when it was stopped
}

var (
	// payloads are of flows. No socket's buffers hold more than what is drained.
	payloads = tally{"bytes", payloadBetween, 32 << 20, 64 << 20}
	// requests are of round trips, one packet each, with few in flight.
	requests = tally{"packets", func(a, b rtnl.Stats) uint64 { return b.RxPackets - a.RxPackets }, 1000, 100}
)

// racer is a way that is under way, and stopped but for its turns.
type racer struct {
	trial
	tally
	whole  context.Context // the comparison
	ctx    context.Context // what its processes live by
	cancel context.CancelFunc
	rx, tx *process

	link    *linkReader // of the interface, which nobody else has
	from    rtnl.Stats  // before it began
	began   time.Time
	stopped bool // at least once
	used    used
}

// used is what a way's turns used, each from before it went on until it was at rest. Its pace is
// of the time between.
type used struct {
	turns       int
	first, last rtnl.Stats    // what came between turns is the way's, too: it was on its way
	rx, tx      time.Duration // CPU time of its processes
	cpus        counter.CPUSum
	softirqs    softirqs

	pace  uint64
	paced time.Duration
}

// total computes the CPU time of both ends with their softirqs, where others kept foreign cores
// busy.
func (u *used) total(foreign float64) time.Duration {
	all := u.cpus.Usage()
	return max(u.rx+u.tx, time.Duration((busyCores(all)-foreign)*all.WallS*float64(time.Second)))
}

// measured computes the figures of a flow.
func (u *used) measured(foreign float64) Measured {
	gb := float64(payloadBetween(u.first, u.last)) / 1e9
	return Measured{Gbps: float64(u.pace) * 8 / 1e9 / u.paced.Seconds(), CPUPGB: u.total(foreign).Seconds() / gb,
		RxCPUPGB: u.rx.Seconds() / gb, TxCPUPGB: u.tx.Seconds() / gb, Foreign: foreign, softirq: u.softirqs}
}

// sample computes the figures of round trips.
func (u *used) sample(foreign float64) Sample {
	return Sample{PerSecond: float64(u.pace) / u.paced.Seconds(), Foreign: foreign,
		CPUUs: float64(u.total(foreign)) / float64(time.Microsecond) / float64(requests.between(u.first, u.last))}
}

// How long one may take to get under way, and to stop. Tests have more patience.
var (
	beginsLimit = 8 * time.Second
	stopLimit   = 10 * time.Second
)

const (
	beginsLook = 10 * time.Millisecond
	stopLook   = 200 * time.Microsecond
	// bothEnd is how long after one end of a tool the other takes to say why.
	bothEnd = time.Second
)

// beginRacer starts both ends, lets them get under way, and stops them.
func beginRacer(ctx context.Context, t trial, of tally) (*racer, error) {
	r := &racer{whole: ctx, trial: t, tally: of, used: used{softirqs: softirqs{}}, began: time.Now()}
	r.ctx, r.cancel = t.within(ctx)
	var err error
	if r.link, err = newLinkReader(t.pair.SUT); err == nil {
		r.link.both = t.c.Both
		r.from, err = r.link.read()
	}
	if err == nil {
		r.rx, r.tx, err = t.begin(r.ctx)
	}
	if err == nil {
		err = r.getUnderWay()
	}
	if err != nil {
		err = r.failed(err)
		r.giveUp()
		return nil, err
	}
	return r, nil
}

// getUnderWay waits until the flow is at its pace, and stops it.
func (r *racer) getUnderWay() error {
	for end := time.Now().Add(beginsLimit); ; {
		if err := sleep(r.ctx, beginsLook); err != nil {
			return err
		}
		now, err := r.link.read()
		if err != nil {
			return err
		}
		switch came := r.between(r.from, now); {
		case r.tx.HasEnded() || r.rx.HasEnded():
			return r.endedEarly()
		case came >= r.underWay:
			return r.stop()
		case time.Now().After(end):
			return fmt.Errorf("%d %s came in %v, want %d", came, r.what, beginsLimit, r.underWay)
		}
	}
}

// endedEarly finds why a way is not there for its turns: what the tool says, if it says so.
func (r *racer) endedEarly() error {
	for _, p := range []*process{r.rx, r.tx} {
		select {
		case <-p.Ended:
		case <-time.After(bothEnd):
		}
	}
	_, err := r.c.Outcome(r.rx.stdout.Bytes(), r.tx.stdout.Bytes())
	switch {
	case time.Since(r.began) > r.d:
		return fmt.Errorf("its turns took longer than the %v that it was told to last: this machine is slow now; "+
			"--turns longer, or fewer tools", r.d)
	case err != nil && !r.c.Stays:
		return fmt.Errorf("it ended before its turns were over: %w", err)
	case r.stopped:
		return errors.New("it ended before its turns were over: it must go on after it was stopped (SIGSTOP), " +
			"also from the middle of a call")
	}
	return errors.New("it ended before its turns began")
}

// failed names the way and adds what its processes said, or why all was ended.
func (r *racer) failed(err error) error { return r.failure(r.whole, err, r.rx, r.tx) }

// stop stops both ends, the sender first, and gives what is under way the time to arrive.
func (r *racer) stop() error {
	if err := r.signal(unix.SIGSTOP, r.tx, r.rx); err != nil {
		return err
	}
	r.stopped = true
	for end := time.Now().Add(stopLimit); !stopped(r.tx) || !stopped(r.rx); {
		if err := sleep(r.ctx, stopLook); err != nil {
			return err
		}
		switch {
		case r.tx.HasEnded() || r.rx.HasEnded():
			return r.endedEarly()
		case time.Now().After(end):
			return fmt.Errorf("it did not stop within %v (SIGSTOP)", stopLimit)
		}
	}
	return sleep(r.ctx, turnEnds)
}

// stopped reports whether all threads of a process have stopped: each does so when it is next about
// to return to the program.
func stopped(p *process) bool {
	var is unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Cmd.Process.Pid, &is, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && is.Signo != 0
}

// signal sends a signal to ends, with all that they started.
func (r *racer) signal(sig unix.Signal, ps ...*process) error {
	for _, p := range ps {
		switch err := p.signal(sig); {
		case p.HasEnded():
			return r.endedEarly()
		case err != nil:
			return fmt.Errorf("send it %s: %w", unix.SignalName(sig), err)
		}
	}
	return nil
}

// instant is a moment of a way.
type instant struct {
	link     rtnl.Stats
	rx, tx   int64 // CPU time, ns
	cpu      counter.CPUSnapshot
	softirqs counter.Softirqs
}

func (r *racer) instant() (i instant, err error) {
	if i.rx, err = counter.ProcessClock(r.rx.Cmd.Process.Pid); err != nil {
		return i, err
	}
	if i.tx, err = counter.ProcessClock(r.tx.Cmd.Process.Pid); err != nil {
		return i, err
	}
	if i.softirqs, err = counter.ReadSoftirqs(counter.FS{}); err != nil {
		return i, err
	}
	if i.cpu, err = counter.ReadCPU(counter.FS{}); err != nil {
		return i, err
	}
	i.link, err = r.link.read()
	return i, err
}

// turn lets the way go on for a time, and adds what it did.
func (r *racer) turn(each time.Duration) error {
	from, err := r.instant()
	if err != nil {
		return r.failed(err)
	}
	if err := r.goOn(each); err != nil {
		return r.failed(err)
	}
	to, err := r.instant()
	if err != nil {
		return r.failed(err)
	}
	u := &r.used
	if strays := r.between(u.last, from.link); u.turns > 0 && strays > r.drained {
		return r.failed(fmt.Errorf("%d %s came while it was stopped: is its program a wrapper around another session?",
			strays, r.what))
	}
	if u.turns == 0 {
		u.first = from.link
	}
	u.turns, u.last = u.turns+1, to.link
	u.rx += time.Duration(to.rx - from.rx)
	u.tx += time.Duration(to.tx - from.tx)
	u.cpus.Add(from.cpu, to.cpu)
	u.softirqs.add(counter.SoftirqsBetween(from.softirqs, to.softirqs))
	return nil
}

// goOn lets the way go on, measures its pace, and stops it.
func (r *racer) goOn(each time.Duration) error {
	if err := r.signal(unix.SIGCONT, r.rx, r.tx); err != nil {
		return err
	}
	var at [2]time.Time
	var link [2]rtnl.Stats
	for n, d := range []time.Duration{turnSettles, each} {
		err := sleep(r.ctx, d)
		before := time.Now()
		if err == nil {
			link[n], err = r.link.read()
		}
		if err != nil {
			return err
		}
		at[n] = before.Add(time.Since(before) / 2)
	}
	r.used.pace += r.between(link[0], link[1])
	r.used.paced += at[1].Sub(at[0])
	return r.stop()
}

// finish lets both ends go on until they end by themselves.
func (r *racer) finish() error {
	if r.used.pace == 0 {
		return r.failed(errors.New("nothing came in its turns"))
	}
	if r.tx.HasEnded() || r.rx.HasEnded() {
		return r.failed(r.endedEarly())
	}
	for _, p := range []*process{r.rx, r.tx} {
		// One whose time is over ends as soon as it goes on.
		if err := p.signal(unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			return r.failed(fmt.Errorf("send it SIGCONT: %w", err))
		}
	}
	if err := r.end(r.ctx, r.cancel, r.rx, r.tx); err != nil {
		return r.failed(err)
	}
	return nil
}

// heldAgainstLink holds what the ends of a flow said against what the interface brought.
func (r *racer) heldAgainstLink() error {
	to, err := r.link.read()
	if err != nil {
		return err
	}
	f, err := r.c.Outcome(r.rx.stdout.Bytes(), r.tx.stdout.Bytes())
	if err == nil {
		err = f.check(payloadBetween(r.from, to))
	}
	if err != nil {
		return r.failed(err)
	}
	return nil
}

// giveUp ends what is still there.
func (r *racer) giveUp() {
	r.cancel()
	for _, p := range []*process{r.rx, r.tx} {
		if p != nil {
			p.Wait()
		}
	}
	if r.link != nil {
		r.link.close()
		r.link = nil
	}
}

// sleep sleeps in the kernel: a timer of the Go runtime is heard by a thread that waits for a CPU
// behind the flows.
func sleep(ctx context.Context, d time.Duration) error {
	for left := unix.NsecToTimespec(int64(d)); unix.Nanosleep(&left, &left) != nil; {
	}
	return context.Cause(ctx)
}
