// SPDX-License-Identifier: MIT

package host

import (
	"testing"
	"time"
)

// A near clock is read often, one far away as often as there is time for, but not too seldom.
func TestMoreTrips(t *testing.T) {
	for trip, want := range map[time.Duration]int{50 * time.Microsecond: mostTrips, 20 * time.Millisecond: 10,
		time.Second: leastTrips} {
		n := 0
		for moreTrips(n, time.Duration(n)*trip) {
			n++
		}
		if n != want {
			t.Errorf("round trips of %v: %d, want %d", trip, n, want)
		}
	}
}
