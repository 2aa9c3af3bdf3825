// SPDX-License-Identifier: MIT

package rounds

import (
	"fmt"
	"testing"
	"time"
)

// Each has its turn, and none two in a round.
func TestRound(t *testing.T) {
	for _, x := range []struct {
		things, looks, rounds int
		want                  string
	}{
		{3, 5, 2, "[2 2 2]"}, {5, 2, 1, "[1 1 0 0 0]"}, {5, 2, 3, "[2 1 1 1 1]"}, {4, 2, 4, "[2 2 2 2]"}, {0, 2, 3, "[]"},
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
	n, looked := 0, make(chan struct{}, 100)
	w := New(1, 1, func(int) {
		if n++; n <= cap(looked) {
			looked <- struct{}{}
		}
	})
	w.Start(time.Millisecond)
	for range 3 {
		select {
		case <-looked:
		case <-time.After(30 * time.Second):
			t.Fatal("no further round")
		}
	}
	w.Stop()
	was := n // without a lock: nobody writes it any more
	if time.Sleep(20 * time.Millisecond); n != was {
		t.Errorf("%d looks after the end", n-was)
	}

	once := New(1, 1, func(int) { n++ })
	n = 0
	once.Start(time.Hour)
	time.Sleep(10 * time.Millisecond)
	if once.Stop(); n != 1 {
		t.Errorf("%d rounds in no time", n)
	}
}
