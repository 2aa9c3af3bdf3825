// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
)

// Limits are how long an agent may take until it is taken for lost. Zero fields are
// the usual ones; tests have no such patience.
type Limits struct {
	Silence time.Duration // without a word, not even to a question whether it lives
	Alive   time.Duration // between those questions
	Greet   time.Duration // to start and say hello
	Answer  time.Duration // a question
	Change  time.Duration // to set something, or take it back: links come back, queues are waited for
	Abort   time.Duration // to hear that a run is called off
	Close   time.Duration // to free an end
	End     time.Duration // to end, in silence
}

// Over a network a lost peer is not noticed by itself: a cable that is pulled says
// nothing. Each end must hear of the other at least every silence. An agent of this
// machine cannot be cut off; it may be frozen, and it may be starved for longer
// where the CPUs are all busy.
const (
	silence     = 6 * time.Second
	silenceHere = 10 * time.Second
	aliveEvery  = time.Second
)

// silenceShared is for a host whose ssh shares an interface with the flow, or with what
// is restored. A link that goes down to be set comes back in seconds, behind a switch
// that runs spanning tree in 30, and TCP tries again at intervals that double: what
// was cut for 30 seconds is quiet for less than 60.
const silenceShared = time.Minute

func (l Limits) orUsual(far, shared bool) Limits {
	quiet, least := silenceHere, time.Duration(0)
	switch {
	case far && shared:
		quiet, least = silenceShared, silenceShared
	case far:
		quiet = silence
	}
	or := func(set, usual time.Duration) time.Duration { return cmp.Or(set, max(usual, least)) }
	return Limits{
		Silence: cmp.Or(l.Silence, quiet), Alive: cmp.Or(l.Alive, aliveEvery), Greet: or(l.Greet, greetTime),
		Answer: or(l.Answer, time.Minute),
		Change: or(l.Change, restoreTime), Abort: or(l.Abort, 5*time.Second), Close: or(l.Close, 30*time.Second),
		End: or(l.End, endTime),
	}
}

// of returns how long an answer may take. A run lasts as long as it is told to: see
// [Host.CallWithin].
func (l Limits) of(op wire.Op) time.Duration {
	switch op {
	case wire.OpSet, wire.OpOwed, wire.OpFinish, wire.OpRestore, wire.OpOpen:
		return l.Change
	case wire.OpHello:
		return l.Greet
	case wire.OpAbort:
		return l.Abort
	case wire.OpClose:
		return l.Close
	}
	return l.Answer
}
