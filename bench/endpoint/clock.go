// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
)

// Defaults of [wire.Schedule].
const (
	defaultStall = 10 * time.Second
	defaultGrace = 10 * time.Second
	// defaultDuration is how long a flow lasts when neither end says.
	defaultDuration = 10 * time.Second
)

// monotonic is the clock of schedules. Tests that have one of their own set it.
var monotonic = counter.Monotonic

func duration(ns int64) time.Duration { return time.Duration(ns) }

func orDefault(ns int64, d time.Duration) time.Duration {
	if ns > 0 {
		return time.Duration(ns)
	}
	return d
}

// graceEnd returns until when to wait for the receiver's account, seen from the end of sending.
func graceEnd(s wire.Schedule) time.Time { return time.Now().Add(orDefault(s.GraceNs, defaultGrace)) }

// sleepUntil waits for a time on CLOCK_MONOTONIC; one that has passed is now.
func sleepUntil(ctx context.Context, ns int64) error {
	d := time.Duration(ns - monotonic())
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
