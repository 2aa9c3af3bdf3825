// SPDX-License-Identifier: MIT

package place

import (
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// sockets are some that have never been connected: they name no CPU (SO_INCOMING_CPU is -1).
func sockets(t *testing.T, n int) (fds []int) {
	t.Helper()
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		fds = append(fds, fd)
	}
	return fds
}

// One watch has a goroutine, however many flows it looks at, and tells of each by itself.
func TestOneWatchForAll(t *testing.T) {
	before := runtime.NumGoroutine()
	w := StartWatch(sockets(t, 20)...)
	if n := runtime.NumGoroutine() - before; n > 1 {
		t.Errorf("%d goroutines", n)
	}
	if looks := w.Stop(); len(looks) != 20 {
		t.Errorf("looks of %d sockets", len(looks))
	}
}

// Of many flows a round looks at some, and each has its turn.
func TestWatchTakesTurns(t *testing.T) {
	const n = 2*mostLooks + 10
	fds := sockets(t, n)
	w := newWatch(fds)
	for i, fd := range fds {
		// A socket that has been told so names the CPU (sk_setsockopt, SO_INCOMING_CPU, 4.4).
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_CPU, i%7); err != nil {
			t.Skip(err)
		}
	}
	for range 3 {
		w.rounds.Round()
	}
	total := 0
	for i, seen := range w.seen {
		if seen[i%7] < 1 || seen[i%7] > 2 || len(seen) != 1 {
			t.Errorf("socket %d: %v", i, seen)
		}
		total += seen[i%7]
	}
	if total != 3*mostLooks {
		t.Errorf("%d looks in three rounds", total)
	}
}

// All CPUs that had a good part of a flow's softirq are known, not those that had a packet now and
// then.
func TestSoftirqOn(t *testing.T) {
	for name, x := range map[string]struct {
		e    Evidence
		want []int
	}{
		"one":                 {Evidence{Looks: map[int]int{3: 97, 1: 3}}, []int{3}},
		"two":                 {Evidence{CPUs: []int{3}, Looks: map[int]int{3: 60, 1: 35, 2: 5}}, []int{1, 3}},
		"too few looks":       {Evidence{Looks: map[int]int{3: 9}}, nil},
		"where it was put":    {Evidence{CPUs: []int{2}, Looks: map[int]int{3: 9}}, []int{2}},
		"on one of two, none": {Evidence{CPUs: []int{2, 3}}, nil},
	} {
		if got := x.e.On(); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
