// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// bubble lets schedules go by the clock of package synctest, which stands still but while all
// wait, until the function that it returns.
func bubble() (burst func()) {
	real := monotonic
	monotonic = func() int64 { return time.Now().UnixNano() }
	return func() { monotonic = real }
}

func TestSleepUntil(t *testing.T) {
	burst := bubble()
	synctest.Test(t, func(t *testing.T) {
		for _, d := range []int64{-5 * ms, 0, 30 * ms} {
			began := monotonic()
			if err := sleepUntil(t.Context(), began+d); err != nil {
				t.Fatal(err)
			}
			if slept := monotonic() - began; slept != max(d, 0) {
				t.Errorf("slept %d ns, not %d", slept, d)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stream.ErrAborted)
		for _, d := range []int64{-1, int64(time.Hour)} {
			if err := sleepUntil(ctx, monotonic()+d); err != stream.ErrAborted {
				t.Errorf("called off: %v", err)
			}
		}
	})
	burst()
	if d := counter.Monotonic() - monotonic(); d > 0 || d < -int64(time.Minute) {
		t.Errorf("schedules go by another clock than the counters: %d ns", d)
	}
}

// The shorter wish counts; without one the flow lasts as long as the default.
func TestDurationIsAgreed(t *testing.T) {
	const long = time.Hour
	for _, c := range []struct{ rx, tx time.Duration }{
		{200 * time.Millisecond, 0}, {0, 200 * time.Millisecond}, {200 * time.Millisecond, long},
		{long, 200 * time.Millisecond}, {200 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.rx, " and ", c.tx), func(t *testing.T) {
			t.Parallel() // it waits
			// That it ends says that the shorter wish counts. In so short a flow a busy machine may
			// move nothing.
			for k := time.Duration(1); ; k *= 2 {
				rx, tx, least := min(k*c.rx, long), min(k*c.tx, long), k*195*time.Millisecond
				r, s := runBoth(t, rxSpec("tcp", mib), txSpec("tcp", mib), lasting(rx), lasting(tx))
				for _, res := range []wire.EndResult{r, s} {
					if d := time.Duration(res.FlowNs); d < least {
						t.Errorf("receiver wishes %v, sender %v: lasted %v", rx, tx, d)
					}
				}
				if r.Total.Bytes > 0 && s.Total.Bytes > 0 || k > 100 {
					checkMoved(t, r, s, "tcp")
					return
				}
			}
		})
	}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		e := &End{spec: wire.EndSpec{Role: role}}
		if got := (&run{end: e}).stopNs(); got != int64(defaultDuration) {
			t.Errorf("%s without any wish: %v", role, time.Duration(got))
		}
	}
}

// On a clock that nothing delays, the edges of the window and the stop are when
// they should be to the nanosecond. Only the beginning edge is read ahead of its
// time, by what reading it took before.
func TestScheduleToTheNanosecond(t *testing.T) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		t.Run(string(role), func(t *testing.T) {
			defer bubble()()
			synctest.Test(t, func(t *testing.T) {
				start := monotonic()
				sch := wire.Schedule{StartNs: start, FromNs: start + 150*ms, ToNs: start + 450*ms,
					StopNs: start + 550*ms, StallNs: 3000 * ms, GraceNs: 1000 * ms}
				pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer unix.Close(pair[0])
				defer unix.Close(pair[1])
				e := newEnd(wire.EndSpec{Role: role, Flows: wire.OneFlow(-1)}, stream.Mode{}, stream.Options{})
				e.first().Conn, e.first().worker = &stream.Conn{FD: pair[0]}, &worker{tid: os.Getpid(), own: e.flows}
				r := &run{end: e, sch: sch, startNs: start, left: 1}
				r.stall = newStallWatch(e, orDefault(sch.StallNs, defaultStall))
				go func() { // the data path: a receiver's goes on beyond the stop, until its sender ends
					for monotonic() < sch.StopNs+20*ms && !r.end.first().Conn.Stopping() {
						r.end.first().Meter.Bytes(kib)
						time.Sleep(time.Millisecond)
					}
					e.ended <- flowResult{atNs: monotonic()}
				}()
				if err := r.measure(t.Context()); err != nil {
					t.Fatal(err)
				}
				if ahead := sch.FromNs - r.from.atNs; ahead < 0 || ahead > (sch.FromNs-start)/2 ||
					r.to.atNs != sch.ToNs {
					t.Errorf("the window began %d ns ahead and ended %d ns late", ahead, r.to.atNs-sch.ToNs)
				}
				if bytes := int64(sum(r.to.flows).Sub(sum(r.from.flows)).Bytes); bytes < 298*kib || bytes > 377*kib {
					t.Errorf("%d bytes in the window", bytes)
				}
				ends := sch.StopNs + 20*ms // the sender's word
				if role == stream.TX {
					ends = sch.StopNs + ms // the data path looks every millisecond
				}
				if late := e.first().result.atNs - ends; late > 0 || late < -ms ||
					r.end.first().Conn.Stopping() != (role == stream.TX) {
					t.Errorf("the flow ended %d ns late; told to stop: %v", late, r.end.first().Conn.Stopping())
				}
			})
		})
	}
}

// An end whose payload stops says so after its limit, by two of its looks at the latest: the first
// sees the last of the payload.
func TestStallIsNoticedInTime(t *testing.T) {
	for limit, look := range map[time.Duration]time.Duration{400 * time.Millisecond: 100 * time.Millisecond,
		10 * time.Second: 250 * time.Millisecond} {
		for _, role := range []stream.Role{stream.RX, stream.TX} {
			t.Run(fmt.Sprint(role, " ", limit), func(t *testing.T) {
				defer bubble()()
				synctest.Test(t, func(t *testing.T) {
					start := monotonic()
					sch := wire.Schedule{StartNs: start, StopNs: start + int64(time.Hour), StallNs: int64(limit),
						GraceNs: 1000 * ms}
					e := newEnd(wire.EndSpec{Role: role, Flows: wire.OneFlow(-1)}, stream.Mode{}, stream.Options{})
					pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
					if err != nil {
						t.Fatal(err)
					}
					defer unix.Close(pair[0])
					defer unix.Close(pair[1])
					e.first().Conn, e.first().worker = &stream.Conn{FD: pair[0]},
						&worker{tid: os.Getpid(), own: e.flows}
					r := &run{end: e, sch: sch, startNs: start, left: 1}
					r.stall = newStallWatch(e, limit)
					last := start + 1234*ms
					go func() { // the data path
						for monotonic() < last {
							time.Sleep(time.Millisecond)
							e.first().Meter.Bytes(kib)
						}
					}()
					err = r.measure(t.Context())
					quiet := time.Duration(monotonic() - last)
					if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no payload for %v, after %d bytes",
						limit, 1234*kib)) || quiet <= limit || quiet > limit+2*look {
						t.Errorf("after %v: %v", quiet, err)
					}
				})
			})
		}
	}
}

// A flow on a schedule starts, is measured and stops when told: never before, and
// after by what other work on the machine delays it, which is on record. That it is
// not late by itself is for TestScheduleToTheNanosecond.
func TestScheduleIsHonoured(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) { onSchedule(t, tx) })
	}
}

// onSchedule makes a run of each length, from short to long, until payload passes in its window:
// a busy machine may move none in a short one.
func onSchedule(t *testing.T, tx string) {
	for k := int64(1); ; k *= 2 {
		rxEnd, txEnd := openBoth(t, rxSpec("tcp", mib), txSpec(tx, mib))
		now := counter.Monotonic() + 50*ms
		sch := wire.Schedule{StartNs: now, FromNs: now + k*150*ms, ToNs: now + k*450*ms, StopNs: now + k*550*ms,
			PeerWaitNs: patience, StallNs: patience, GraceNs: patience, MaxCopiedFrac: all}
		r, s := runEnds(t, rxEnd, txEnd, sch, sch)
		done := counter.Monotonic()
		if k < 128 && (r.Window.Bytes == 0 || s.Window.Bytes == 0) {
			t.Logf("nothing in the window: receiver %s: %s; sender %s: %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
			continue
		}
		for _, res := range []wire.EndResult{r, s} {
			from, to := time.Duration(res.FromNs-sch.FromNs), time.Duration(res.ToNs-sch.ToNs)
			asked, got := sch.ToNs-sch.FromNs, res.ToNs-res.FromNs
			t.Logf("edges %v and %v late; %s: %s", from, to, res.Verdict, res.Reason)
			if from < -time.Duration(k)*75*time.Millisecond || to < 0 || res.ToNs > done {
				t.Errorf("the window began %v late and ended %v late", from, to)
			}
			switch w := res.Window.Bytes; {
			case got < asked-asked/4 || got > asked+asked/4:
				if res.Verdict != results.Invalid || !strings.Contains(res.Reason, "edges") {
					t.Errorf("a window of %v for one of %v: %s: %s", time.Duration(got), time.Duration(asked),
						res.Verdict, res.Reason)
				}
			case res.Verdict != results.OK && !strings.Contains(res.Reason, "before the flow was open"):
				t.Errorf("%s: %s", res.Verdict, res.Reason)
			case w == 0 || w > res.Total.Bytes || *res.Host.Bytes != w || deref(res.Host.DurationS) != float64(got)/1e9:
				t.Errorf("%d bytes in the window of %d in all; the host says %d in %v s", w, res.Total.Bytes,
					*res.Host.Bytes, deref(res.Host.DurationS))
			}
		}
		// It began between its time and the window, and ended between its time and now.
		if s.FlowNs < sch.StopNs-s.FromNs || s.FlowNs > done-sch.StartNs {
			t.Errorf("the flow lasted %v", time.Duration(s.FlowNs))
		}
		return
	}
}

func TestReceiverWaitsNoLongerThanTold(t *testing.T) {
	r := open(t, rxSpec("tcp", mib))
	res := result(t, background(context.Background(), r, wire.Schedule{PeerWaitNs: 100 * ms})) // else for ever
	if res.Verdict != results.Failed || !strings.Contains(res.Reason, "wait for the sender") ||
		!strings.Contains(res.Reason, "within 100ms") || res.Fix == "" || res.FlowNs != 0 {
		t.Errorf("%+v", res)
	}
}

func TestSenderWaitsNoLongerThanTold(t *testing.T) {
	// it waits, so long that a busy machine has tried by then
	t.Parallel()
	// else for ever
	res := result(t, background(context.Background(), open(t, txSpec("tcp", mib)),
		wire.Schedule{PeerWaitNs: 3000 * ms}))
	if res.Verdict != results.Failed || !strings.Contains(res.Reason, "connection refused") ||
		!strings.Contains(res.Fix, "start the receiver") {
		t.Errorf("%s %q; fix %q", res.Verdict, res.Reason, res.Fix)
	}
}

// A sender that never ends the flow is ended after the grace.
func TestGraceOfTheReceiver(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		r := open(t, rxSpec(rx, mib))
		sch := lasting(100 * time.Millisecond)
		sch.GraceNs = 200 * ms
		res := background(context.Background(), r, sch)
		sendForEver(t, r)
		got := result(t, res) // of 10 s
		if got.Verdict != results.Failed || !strings.Contains(got.Reason, "did not end the flow within 200ms") ||
			strings.Contains(got.Reason, "\n") {
			t.Errorf("%s: %s %q", rx, got.Verdict, got.Reason)
		}
	}
}

// A receiver that stops reading before the end does not hold a sender for ever.
func TestGraceOfTheSender(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) {
			t.Parallel()
			p := peerPort(t)
			s := txSpec(tx, mib)
			s.Addr = p.Addr().String()
			sch := lasting(200 * time.Millisecond)
			sch.GraceNs = 300 * ms
			res := background(context.Background(), open(t, s), sch)
			receiveAt(t, p, stream.Welcome{}) // and never reads
			got := result(t, res)
			if got.Verdict != results.Failed || !outOfGrace(got.Reason, 300*time.Millisecond) ||
				strings.Contains(got.Reason, "\n") || got.Fix == "" {
				t.Errorf("%s %q; fix %q", got.Verdict, got.Reason, got.Fix)
			}
			t.Logf("%s", fmt.Sprintf("%s; %s", got.Reason, got.Fix))
		})
	}
}

// outOfGrace tells that a sender has ended for its grace: of what its socket holds, or, where all
// was taken, of the receiver's account.
func outOfGrace(reason string, grace time.Duration) bool {
	return strings.Contains(reason, fmt.Sprintf("the last of the payload within %v of the stop", grace)) ||
		strings.Contains(reason, "wait for the receiver's account of the flow: ")
}

// Nor does one that gives no account, although all was sent.
func TestGraceWithoutAnAccount(t *testing.T) {
	kind.Timed(t)
	p := peerPort(t)
	s := txSpec("tcp", kib)
	s.Addr = p.Addr().String()
	sch := endless()
	sch.StopBytes, sch.GraceNs = kib, 300*ms
	begun := time.Now()
	res := background(context.Background(), open(t, s), sch)
	receiveAt(t, p, stream.Welcome{})
	got := result(t, res)
	if took := time.Since(begun); got.Verdict != results.Failed || !outOfGrace(got.Reason, 300*time.Millisecond) ||
		got.Fix == "" || took > 3*time.Second {
		t.Errorf("after %v: %s %q; fix %q", took, got.Verdict, got.Reason, got.Fix)
	}
}
