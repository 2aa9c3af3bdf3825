// SPDX-License-Identifier: MIT

package bench

import (
	"testing"
	"time"
)

// A flow that may stall for longer than usual may begin and end as late; a shorter stall ends
// nothing sooner.
func TestStallIsTimeToComeAndToEnd(t *testing.T) {
	sut, tg := machines("a", "b")
	for stall, want := range map[time.Duration][2]time.Duration{0: {peerWait, endGrace}, time.Second: {peerWait, endGrace},
		usualStall: {peerWait, endGrace}, time.Minute: {time.Minute, time.Minute}} {
		r := &Runner{SUT: sut, TG: tg, Opt: Options{Stall: stall}}
		s := r.schedule(sut, 1, time.Second)
		if got := [2]time.Duration{time.Duration(s.PeerWaitNs), time.Duration(s.GraceNs)}; got != want {
			t.Errorf("stall %v: the other end and the end are waited for for %v, want %v", stall, got, want)
		}
	}
}
