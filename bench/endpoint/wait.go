// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
)

// finish waits for the last of a sender's flows: that the kernel lets go of the
// payload and the receiver gives its account.
func (r *run) finish(ctx context.Context) error {
	grace := orDefault(r.sch.GraceNs, defaultGrace)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	look := time.NewTicker(min(250*time.Millisecond, max(r.stall.limit/4, time.Millisecond)))
	defer look.Stop()
	for !r.over() {
		select {
		case res := <-r.end.ended:
			r.book(res)
		case <-look.C:
			if err := r.stall.small(); err != nil {
				return err // before the receiver's patience ends, who knows nothing of it
			}
		case <-timer.C:
			return &fault.Error{Op: fmt.Sprintf(
				"the receiver did not take and confirm the last of the payload within %v of the stop", grace),
				How: cmp.Or(r.stall.unanswered(),
					"check the link and the receiver; if it is still running, see its own message")}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// stopNs returns when the sender stops: as scheduled, or after the shorter of what the two ends
// wish.
func (r *run) stopNs() int64 {
	if r.sch.StopNs > 0 {
		return r.sch.StopNs
	}
	mine, theirs := r.sch.DurationNs, r.start.wish
	if r.end.spec.Role == stream.RX {
		theirs = r.start.hello.Duration.Nanoseconds()
	}
	switch {
	case mine == 0 && theirs == 0:
		mine = int64(defaultDuration)
	case mine == 0, theirs > 0 && theirs < mine:
		mine = theirs
	}
	return r.startNs + mine
}

// early returns an error if the sender ended one of a receiver's flows long before stopNs. A sender
// that is killed ends it like one that is done: the kernel closes its socket.
func (r *run) early(stopNs int64) error {
	if r.sch.StopBytes > 0 || r.broken() {
		return nil // it ends when the bytes have passed
	}
	planned := duration(stopNs - r.startNs)
	for _, f := range r.end.flows {
		took := duration(f.result.atNs - r.startNs)
		if !f.done || took >= planned-planned/20-100*time.Millisecond {
			continue
		}
		return r.end.named(f, &fault.Error{Peer: true, Op: fmt.Sprintf("the sender ended the flow after %v of %v",
			took.Round(time.Millisecond), planned.Round(time.Millisecond)),
			How: "it was stopped or killed: see its own message"})
	}
	return nil
}

// short returns an error if the flow ended before the bytes had passed that bound it.
func (r *run) short(stopNs int64) error {
	n := r.end.Progress()
	if n >= r.sch.StopBytes || r.broken() {
		return nil
	}
	return &fault.Error{Peer: r.end.spec.Role == stream.RX,
		Op: fmt.Sprintf("the flow ended after %d of %d bytes; it had %v",
			n, r.sch.StopBytes, duration(stopNs-r.startNs).Round(time.Millisecond)),
		How: "give it more time, or see the sender's message"}
}

// sentAll reports whether a sender's flow has all the bytes that bound it.
func (r *run) sentAll() bool {
	return r.sch.StopBytes > 0 && r.end.spec.Role == stream.TX && r.end.Progress() >= r.sch.StopBytes
}

// bytesEvery is how often a sender that stops by its bytes looks at them: the flow
// is longer by what passes meanwhile.
const bytesEvery = 2 * time.Millisecond

var errEndedEarly = &fault.Error{Peer: true, Op: "the flow ended early",
	How: "the other end, usually the sender, broke off: see its own message"}

// pass waits until ns; a flow that ends before is an error. One that has ended when
// this thread gets to look, but after ns, is none: the window's gate says how late
// its edges were read.
func (r *run) pass(ctx context.Context, ns int64) error {
	if ns == 0 {
		return nil
	}
	if err := r.passOrEnd(ctx, ns, r.anyEnded, false); err != nil {
		return err
	}
	for _, f := range r.end.flows {
		if f.over() && (f.endNs() < ns || f.done && f.err() != nil) {
			return r.end.named(f, errEndedEarly)
		}
	}
	return nil
}

// passOrEnd waits until ns or the end of flows, whichever is first, watching
// that they do not stall. With must, reaching ns is an error.
func (r *run) passOrEnd(ctx context.Context, ns int64, end func() bool, must bool) error {
	if end() {
		return nil
	}
	every := min(250*time.Millisecond, max(r.stall.limit/4, time.Millisecond))
	if r.sch.StopBytes > 0 && r.end.spec.Role == stream.TX {
		every = min(every, bytesEvery)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	timer := time.NewTimer(duration(ns - monotonic()))
	defer timer.Stop()
	for {
		select {
		case res := <-r.end.ended:
			if r.book(res); end() {
				return nil
			}
		case <-timer.C:
			if must {
				return &fault.Error{Op: fmt.Sprintf("the sender did not end %s within %v of its end time", r.unended(),
					orDefault(r.sch.GraceNs, defaultGrace)),
					How: "check the sender; if it is still running, see its own message"}
			}
			return nil
		case <-tick.C:
			if end() {
				return nil
			}
			if err := r.stall.check(); err != nil {
				return err
			}
			if r.sentAll() {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unended names what has not ended, for people.
func (r *run) unended() string {
	if len(r.end.flows) == 1 {
		return "the flow"
	}
	var which []string
	for _, f := range r.end.flows {
		if !f.over() {
			which = append(which, fmt.Sprint(f.N))
		}
	}
	return "flow " + strings.Join(which, ", ")
}

// awaitEnd waits for the data paths to return; every path does after Stop or
// Abort.
func (r *run) awaitEnd() {
	for r.left > 0 {
		r.book(<-r.end.ended)
	}
	r.usage[1], _ = counter.ReadRusage()
}
