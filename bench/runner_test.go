// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"testing"
	"time"
)

// A flow that may stall for longer than usual may begin and end as late; a shorter stall ends
// nothing sooner. The receiver is the more patient one, so that the sender says first what it met.
func TestStallIsTimeToComeAndToEnd(t *testing.T) {
	sut, tg := machines("a", "b")
	for stall, want := range map[time.Duration][2]time.Duration{0: {peerWait, endGrace},
		time.Second: {peerWait, endGrace},
		usualStall:  {peerWait, endGrace}, time.Minute: {time.Minute, time.Minute}} {
		r := &Runner{SUT: sut, TG: tg, Opt: Options{Stall: stall}}
		s := r.schedule(tg, 1, time.Second)
		if got := [2]time.Duration{time.Duration(s.PeerWaitNs), time.Duration(s.GraceNs)}; got != want {
			t.Errorf("stall %v: the other end and the end are waited for for %v, want %v", stall, got, want)
		}
		rx, more := r.schedule(sut, 1, time.Second), int64(hintTime)
		if rx.PeerWaitNs-s.PeerWaitNs != more || rx.GraceNs-s.GraceNs != more || rx.StallNs != more+
			int64(cmp.Or(stall, usualStall)) {
			t.Errorf("stall %v: the receiver waits for %v, %v, %v", stall, time.Duration(rx.PeerWaitNs),
				time.Duration(rx.GraceNs), time.Duration(rx.StallNs))
		}
	}
}
