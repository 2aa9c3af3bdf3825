// SPDX-License-Identifier: MIT

package rounds

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Each has its turn, and none two in a round.
func TestRound(t *testing.T) {
	for _, x := range []struct {
		things, looks, rounds int
		want                  string
	}{
		{3, 5, 2, "[2 2 2]"}, {5, 2, 1, "[1 1 0 0 0]"}, {5, 2, 3, "[2 1 1 1 1]"}, {4, 2, 4, "[2 2 2 2]"},
		{0, 2, 3, "[]"},
	} {
		seen := make([]int, x.things)
		w := New(x.things, x.looks, func(i int) { seen[i]++ })
		for range x.rounds {
			w.Round()
		}
		if got := fmt.Sprint(seen); got != x.want {
			t.Errorf("%d things, %d rounds of %d looks: %s, want %s", x.things, x.rounds, x.looks, got, x.want)
		}
	}
}

// The first round is at once, others follow, and after Stop there is none.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = time.Millisecond
		var n atomic.Int32
		w := New(1, 1, func(int) { n.Add(1) })
		w.Start(every)
		for rounds := range int32(4) {
			if synctest.Wait(); n.Load() != rounds+1 {
				t.Errorf("%d rounds after %v", n.Load(), time.Duration(rounds)*every)
			}
			time.Sleep(every)
		}
		synctest.Wait()
		was := n.Load()
		w.Stop()
		if time.Sleep(20 * every); n.Load() != was {
			t.Errorf("%d looks after the end", n.Load()-was)
		}
	})
}

// One that is stopped at once has had its first round.
func TestStopAtOnce(t *testing.T) {
	n := 0
	w := New(1, 1, func(int) { n++ })
	w.Start(time.Hour)
	if w.Stop(); n != 1 {
		t.Errorf("%d rounds in no time", n)
	}
}
