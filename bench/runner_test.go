// SPDX-License-Identifier: MIT

package bench

import (
	"testing"
	"time"
)

// A flow that may stall for longer than usual may end as late; a shorter stall ends nothing sooner.
func TestStallIsTimeToEndToo(t *testing.T) {
	sut, tg := machines("a", "b")
	for stall, want := range map[time.Duration]time.Duration{0: endGrace, time.Second: endGrace, usualStall: endGrace, time.Minute: time.Minute} {
		r := &Runner{SUT: sut, TG: tg, Opt: Options{Stall: stall}}
		if got := time.Duration(r.schedule(sut, 1, time.Second).GraceNs); got != want {
			t.Errorf("stall %v: the end is waited for for %v, want %v", stall, got, want)
		}
	}
}
