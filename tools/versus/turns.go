// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/plan/matrix"
)

// In turns, all ways of a group are under way at once, and all but one are stopped (SIGSTOP): each
// goes on for some milliseconds, ABBA, so that what a machine does meanwhile is the same for all.
// What differs from start to start of a process, such as where its memory lies, stays in the
// figures: each pair has its own starts.

const (
	turnSettles = 4 * time.Millisecond   // after which a flow that goes on again is at its pace
	turnEnds    = 2 * time.Millisecond   // in which most of what is under way arrives
	startTakes  = 600 * time.Millisecond // roughly
)

// stretch computes how long the tools are told to last, so that n ways have d each in turns.
func stretch(n int, d, each time.Duration) time.Duration {
	turn := each + turnSettles + turnEnds
	all := time.Duration(n) * (startTakes + 2*time.Duration(matrix.RoundsOf(d, each))*turn)
	return (all*5/4 + 2*time.Second).Truncate(time.Second)
}

// together measures a group's ways in turns. A way that this kernel does not have is lost.
func (p *performer) together(ctx context.Context, g *group, runs []matrix.Place) (got map[int]Measured, err error) {
	back, err := favourSelf(p.opts.nice)
	if err != nil {
		return nil, err
	}
	defer back()
	p.progress.together(g.name, len(runs))
	var racers []*racer
	var places []matrix.Place
	defer func() {
		for _, r := range racers {
			r.giveUp()
		}
	}()
	for _, at := range runs {
		if g.lost[at.At] != "" {
			continue
		}
		r, err := beginRacer(ctx, p.trial(g, at, len(racers)), payloads)
		if u := (*UnsupportedError)(nil); errors.As(err, &u) {
			g.lost[at.At] = u.Reason
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		racers, places = append(racers, r), append(places, at)
	}
	foreign, err := race(racers, matrix.RoundsOf(p.opts.duration, p.opts.turns), p.opts.turns)
	for _, r := range racers {
		if err == nil {
			err = r.heldAgainstLink()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	got = map[int]Measured{}
	for i, at := range places {
		m := racers[i].used.measured(foreign)
		p.progress.run(g.name, racers[i].c.Name, at)
		p.progress.ran(m, nil)
		got[at.At] = m
	}
	return got, nil
}

// favourSelf gives the calling thread a nice value until back is called: who ends a turn must get a
// CPU beside flows that have it too. Its autogroup stays as it is: that is of the whole session,
// the user's shell included, and would stay so after kill -9.
func favourSelf(nice int) (back func(), err error) {
	runtime.LockOSThread()
	was, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = favour(nice)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() {
		// The call returns 20 less the value. Where it cannot be had back, the thread ends with its
		// goroutine.
		if favour(20-was) == nil {
			runtime.UnlockOSThread()
		}
	}, nil
}

// race gives each its turns and lets all end. It returns how many cores others kept busy.
func race(racers []*racer, rounds int, each time.Duration) (foreign float64, err error) {
	before := readMachine()
	for round := range rounds {
		for _, i := range matrix.ThereAndBack(len(racers), round) {
			if err := racers[i].turn(each); err != nil {
				return 0, err
			}
		}
	}
	after := readMachine()
	if err := errors.Join(before.err, after.err); err != nil {
		return 0, err
	}
	var ours time.Duration
	for _, r := range racers {
		if err := r.finish(); err != nil {
			return 0, err
		}
		ours += r.used.rx + r.used.tx
	}
	return loadOf(before, after, ours).foreign, nil
}
