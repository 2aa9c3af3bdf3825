// SPDX-License-Identifier: MIT

package labtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// tooFast is a rate of requests that no emulated machine keeps with one in flight.
const tooFast = 200_000

// Trips runs zcbench with round trips of a receive mode: every answer is its request's, byte by
// byte, and each is timed. In the long run also at a rate that cannot be kept: the times are those
// of requests that wait their turn since they were due, and not of those that could be sent.
func Trips(t *testing.T, rx string, zeroCopy bool) {
	Need(t)
	closed := trips(t, rx, "rr", "--request", "4096")
	if zeroCopy {
		if h := closed.SUT; h.ZeroCopyBytes == nil || *h.ZeroCopyBytes == 0 || h.CopiedBytes == nil ||
			*h.CopiedBytes != 0 {
			t.Errorf("%s bytes of requests without a copy, %s copied", count(h.ZeroCopyBytes), count(h.CopiedBytes))
		}
	}
	if !long.Wanted() {
		return
	}
	r := trips(t, rx, "rr", "--rr-rate", strconv.Itoa(tooFast))
	got, window := *r.TG.TransactionsPerS(), *r.TG.DurationS
	if got >= tooFast/2 {
		t.Fatalf("%.0f requests a second: this is too fast a machine for the test", got)
	}
	// The ramp-up is as long as the window. Who asks in its middle is late by all that the
	// machine was too slow until then: half a window at least. A loop that begins to count
	// when it sends has the times of single round trips.
	least := 1e6 * window / 2 * (1 - got/tooFast)
	if rtt := r.TG.RoundTrip; *rtt.P50Us < least || *rtt.P50Us < 10**closed.TG.RoundTrip.P50Us {
		t.Errorf("%.0f a second of %d: half of them took %.0f us at most, want %.0f at least; closed %.0f us", got,
			tooFast, *rtt.P50Us, least, *closed.TG.RoundTrip.P50Us)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the rate was not kept") {
		t.Errorf("nothing is said of the rate that was missed: %q", r.Warnings)
	}
}

// LentTrips runs zcbench with round trips whose requests and answers leave without a copy, too, by
// the kernel's word for each: it has let go of as many bytes as were sent. A rule that leads to
// another queue is found out.
func LentTrips(t *testing.T, rx, tx string) {
	Need(t)
	before := DeviceState(t)
	args := []string{"--request", "8192", "--response", "16384", "--in-flight", "2"}
	r := trips(t, rx, "rr-"+tx, args...)
	sut, tg := r.SUT, r.TG
	zero, copied, told := metric(sut, "answers_zero_copy_bytes"), metric(sut, "answers_copied_bytes"),
		metric(sut, "answers_notifications")
	switch {
	case !whole(sut.ZeroCopyBytes, sut.CopiedBytes, *sut.Bytes):
		t.Errorf("%s of %s bytes of requests came without a copy, %s copied", count(sut.ZeroCopyBytes),
			count(sut.Bytes), count(sut.CopiedBytes))
	case !uncopied(tg.ZeroCopyBytes, tg.CopiedBytes) || metric(tg, "zerocopy_completions") == 0:
		t.Errorf("%s of %s bytes of requests left without a copy, %s copied", count(tg.ZeroCopyBytes),
			count(tg.Bytes), count(tg.CopiedBytes))
	case zero < 0.9*16384*float64(*sut.Transactions) || copied != 0 || told <= 0:
		t.Errorf("%v bytes of %s answers left without a copy, %v copied, %v notifications", zero,
			count(sut.Transactions), copied, told)
	default:
		t.Logf("%s requests, %s bytes of them sent without a copy, %v of answers, %v notifications of these",
			count(tg.Transactions), count(tg.ZeroCopyBytes), zero, told)
	}
	r = invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append([]string{"--tx", "rr-" + tx, "--control", plan.WrongQueue}, args...)...)
	if h := r.SUT; h.Transactions == nil || *h.Transactions == 0 || h.CopiedBytes == nil || *h.CopiedBytes == 0 {
		t.Errorf("by another queue %s requests came, %s bytes copied", count(h.Transactions), count(h.CopiedBytes))
	}
	asBefore(t, before)
}

// Visits runs zcbench with a connection for each request, of a receive mode that takes a queue
// over: one rule for the flow's port brings all of them there, several at a time, and no byte of
// theirs is copied; a rule that leads elsewhere is found out.
func Visits(t *testing.T, rx string) {
	Need(t)
	args := []string{"--steer", plan.SteerPort, "--request", "8192", "--in-flight", "4"}
	h := trips(t, rx, "crr", args...).SUT
	if !whole(h.ZeroCopyBytes, h.CopiedBytes, *h.Bytes) {
		t.Errorf("%s of %s bytes of requests without a copy, %s copied", count(h.ZeroCopyBytes), count(h.Bytes),
			count(h.CopiedBytes))
	}
	if q, came := metric(h, rx+"_queue"), metric(h, rx+"_flow_queue"); q != came {
		t.Errorf("the memory is on queue %v, and the connections came by %v", q, came)
	}
	r := invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append([]string{"--tx", "crr", "--control", plan.WrongQueue}, args...)...)
	if h := r.SUT; h.Transactions == nil || *h.Transactions == 0 || h.ZeroCopyBytes == nil || *h.ZeroCopyBytes != 0 ||
		h.CopiedBytes == nil || *h.CopiedBytes == 0 {
		t.Errorf("by another queue %s requests came, %s bytes without a copy, %s copied", count(h.Transactions),
			count(h.ZeroCopyBytes), count(h.CopiedBytes))
	}
}

// trips makes a run of round trips, which must be OK, and checks its counts and times.
func trips(t *testing.T, rx, tx string, args ...string) results.Record {
	t.Helper()
	r, _ := inTime(t, rx, func(results.Record) bool { return false }, append([]string{"--tx", tx}, args...)...)
	if r.Verdict != results.OK {
		t.Fatalf("%s: %s (%s)", r.Verdict, r.Reason, r.Fix)
	}
	asked, answered, rtt := r.TG.Transactions, r.SUT.Transactions, r.TG.RoundTrip
	if asked == nil || answered == nil || *asked == 0 || *answered == 0 || rtt == nil || r.SUT.RoundTrip != nil {
		t.Fatalf("asked %s, answered %s, times %+v", count(asked), count(answered), rtt)
	}
	if h := r.SUT; h.Mismatches == nil || *h.Mismatches != 0 || h.TotalBytes == nil || r.TG.TotalBytes == nil ||
		*h.TotalBytes != *r.TG.TotalBytes {
		t.Errorf("%s bytes of %s that were sent are wrong; %s received", count(h.Mismatches), count(r.TG.TotalBytes),
			count(h.TotalBytes))
	}
	// Times and transactions are read one after the other, at both edges of the window.
	if n := int64(rtt.Count - *asked); n < -2 || n > 2 || !(*rtt.P50Us > 0 && *rtt.P50Us <= *rtt.P90Us &&
		*rtt.P90Us <= *rtt.P99Us && *rtt.P99Us <= *rtt.P999Us && *rtt.P999Us <= *rtt.MaxUs) {
		t.Errorf("%d times of %d round trips: %+v", rtt.Count, *asked, rtt)
	}
	t.Logf("%s %q: %.0f a second, p50 %.0f us, p99 %.0f us, max %.0f us; %q", rx, args, *r.TG.TransactionsPerS(),
		*rtt.P50Us, *rtt.P99Us, *rtt.MaxUs, r.Warnings)
	return r
}
