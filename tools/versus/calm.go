// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

// Waiting for others before a disturbed pair is run again.
const (
	calmLook = 250 * time.Millisecond // how long the machine is looked at
	calmWait = 5 * time.Second        // how long it is waited for
)

// awaitCalm waits, for a while, until others keep no more than limit cores busy.
func awaitCalm(ctx context.Context, limit float64) {
	end := time.Now().Add(calmWait)
	for ctx.Err() == nil && time.Now().Before(end) {
		before, err := counter.ReadCPU(counter.FS{})
		if err != nil {
			return
		}
		select {
		case <-time.After(calmLook):
		case <-ctx.Done():
		}
		after, err := counter.ReadCPU(counter.FS{})
		if err != nil {
			return
		}
		if u := counter.Usage(before, after, nil); u.BusyCores != nil && busyCores(u) <= limit {
			return
		}
	}
}

// patience is how often turns are run again that others disturbed. What it sees of these is their
// CPU time, never the figures that are compared, so that nothing is selected.
type patience struct {
	limit float64 // cores that others may keep busy
	each  int     // times that a turn is run again, at most
	left  int     // of all turns: a busy machine at most doubles the plan
}

// settle runs a turn, and again when others disturbed it: the turn says how many cores they kept
// busy. One that stays disturbed is not calm.
func (p *patience) settle(ctx context.Context, turn func() (foreign float64, err error)) (again int, calm bool,
	err error) {
	for ; ; again++ {
		foreign, err := turn()
		if err != nil {
			return again, false, err
		}
		if calm = foreign <= p.limit; calm || again == p.each || p.left == 0 {
			return again, calm, nil
		}
		p.left--
		awaitCalm(ctx, p.limit)
	}
}
