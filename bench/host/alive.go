// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
)

// watch asks the agent every second whether it lives, which also tells it that we
// do, and gives it up when it says nothing for too long. What counts is turns of
// this loop, and any byte that comes: a controller that was stopped itself, at a
// terminal, has missed none, and a long answer over a slow link is a sign of life.
func (l *link) watch() {
	tick := time.NewTicker(l.limits.Alive)
	defer tick.Stop()
	var asked atomic.Bool
	var silent time.Duration
	last := l.heard.Load()
	for {
		select {
		case <-tick.C:
		case <-l.closing:
			return
		}
		if n := l.heard.Load(); n != last || !asked.Load() {
			last, silent = n, 0
		} else if silent += l.limits.Alive; silent >= l.limits.Silence {
			l.giveUp(l.lost(fmt.Sprintf("no answer for %v", l.limits.Silence)), true)
			return
		}
		if asked.CompareAndSwap(false, true) {
			go func() { // a pipe that nobody empties holds up whoever writes
				defer asked.Store(false)
				_ = l.call(context.Background(), 4*l.limits.Silence, wire.OpAlive, nil, nil)
			}()
		}
	}
}

// lostError describes a link that broke, or a far agent that no longer answers, which ends when it
// has heard nothing for quiet; restore is the command for what it left.
func lostError(words string, quiet time.Duration, restore string) error {
	return &fault.Error{Op: "the connection is lost: " + words,
		How: "check network and host; what ran there stops by itself within " + quiet.String() +
			" and restores its settings; if not: " + restore}
}

// farEnd explains why the far end of a connection is gone, from what the program by, which leads
// there, said; restore is the command for what it left. Only ssh's exit status tells whether ssh
// failed or the agent. An agent that ended well without a word received nothing.
func farEnd(by, stderr string, exit error, heard bool, quiet time.Duration, restore string) error {
	e := explain(by, stderr, "", exit)
	switch {
	case exit == nil && !heard && by != "ssh":
		e.Op, e.How = "the agent ended at once: it was given no input", passInput
	case exit == nil:
		e.Op = "the agent ended"
	case e.How == "" && (by != "ssh" || !exitedItself(by, exit)):
		return lostError(e.Op, quiet, restore)
	}
	return e
}
