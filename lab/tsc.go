// SPDX-License-Identifier: MIT

package lab

import (
	"sync"
	"time"
)

// guestHZ is CONFIG_HZ of Debian's amd64 kernels.
const guestHZ = 250

// tscSpan is over how long the counter is held against the clock: to read both takes
// a microsecond at most in the best of some tries, so the rate is true to 1 in 10,000.
const tscSpan = 20 * time.Millisecond

// hostTSC is the rate of this machine's time-stamp counter, kHz; 0 where there is none.
// An emulated guest sees the same counter. On a busy machine it cannot find its rate
// out: what it holds it against, emulated timers, stands still while others run. One
// guest's clock ran at eight times the rate, and every limit in it was over early.
var hostTSC = sync.OnceValue(func() int {
	t0, c0 := tscNow()
	time.Sleep(tscSpan)
	t1, c1 := tscNow()
	return int(float64(c1-c0) / t1.Sub(t0).Seconds() / 1000)
})

// tscNow reads clock and counter as near to each other as some tries come.
func tscNow() (at time.Time, count uint64) {
	best := time.Hour
	for range 32 {
		before := time.Now()
		c := rdtsc()
		if took := time.Since(before); took < best {
			best, at, count = took, before.Add(took/2), c
		}
	}
	return at, count
}
