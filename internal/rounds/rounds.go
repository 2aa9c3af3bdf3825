// SPDX-License-Identifier: MIT

// Package rounds looks at things in turn, so many in a round, until it is stopped.
package rounds

import (
	"sync"
	"time"
)

// Watch looks at each of a number of things again and again. Of more than a round has looks for,
// each is looked at every few rounds.
type Watch struct {
	things, looks int
	look          func(i int)
	next          int // to be looked at

	stop chan struct{}
	done sync.WaitGroup
}

// New makes a watch of things, by their numbers, with so many looks in a round; it has not begun.
func New(things, looks int, look func(i int)) *Watch {
	return &Watch{things: things, looks: min(things, looks), look: look, stop: make(chan struct{})}
}

// Start begins a round now, and then every so often, on a goroutine of its own.
func (w *Watch) Start(every time.Duration) {
	w.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			w.Round()
			select {
			case <-tick.C:
			case <-w.stop:
				return
			}
		}
	})
}

// Round looks at the next things, each once at most.
func (w *Watch) Round() {
	for range w.looks {
		i := w.next
		w.next = (i + 1) % w.things
		w.look(i)
	}
}

// Stop ends the watch: when it returns nothing is looked at any more.
func (w *Watch) Stop() {
	close(w.stop)
	w.done.Wait()
}
