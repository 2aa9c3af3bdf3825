// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan/matrix"
)

// tripsAlone drops all pairs but those of round trips. Datagrams that are sent as fast as can be
// are no way to take turns: what was stopped in the middle of them is lost.
func tripsAlone(all []smallPair) []smallPair {
	return slices.DeleteFunc(all, func(p smallPair) bool { return !p.trips })
}

// smallInTurns measures both ways of a pair while both are under way, over a veth pair each, as
// flows are with --turns: one after the other for some milliseconds, ABBA. What starting takes is
// in no figure. first is which of the two begins; p50 is what the tools say of all their trips.
func (o *options) smallInTurns(ctx context.Context, links [2]*veth.Pair, x *smallOutcome, first int,
	ports [2]int) (got [2]Sample, err error) {
	back, err := favourSelf(o.nice)
	if err != nil {
		return got, err
	}
	defer back()
	ways := [2]smallWay{x.pair.Ours, x.pair.Theirs}
	var racers []*racer
	defer func() {
		for _, r := range racers {
			r.giveUp()
		}
	}()
	order := []int{first, 1 - first}
	for _, side := range order {
		r, err := beginRacer(ctx, trial{links[side], ways[side].Contender, ports[side], o.nice, o.tools.Duration},
			requests)
		if err != nil {
			return got, err
		}
		racers = append(racers, r)
	}
	foreign, err := race(racers, matrix.RoundsOf(o.duration, o.turns), o.turns)
	if err != nil {
		return got, err
	}
	for i, side := range order {
		r := racers[i]
		_, _, p50, err := ways[side].read(r.rx.stdout.Bytes(), r.tx.stdout.Bytes())
		if err != nil {
			return got, r.failed(err)
		}
		got[side] = r.used.sample(foreign)
		got[side].P50Us = p50
	}
	return got, nil
}

// smallLinks makes the veth pairs: one, or in turns one for each side.
func (o *options) smallLinks() (links []*veth.Pair, err error) {
	n := 1
	if o.turns > 0 {
		n = 2
	}
	for range n {
		pair, err := veth.New(veth.Options{MTU: o.mtu})
		if err == nil {
			links = append(links, pair)
			err = errors.Join(splitBeforeLink(pair.TG), freePorts(pair.TG))
		}
		if err != nil {
			closeLinks(links)
			return nil, fmt.Errorf("make a veth pair: %w", err)
		}
	}
	return links, nil
}

func closeLinks(links []*veth.Pair) {
	for _, p := range links {
		p.Close()
	}
}
