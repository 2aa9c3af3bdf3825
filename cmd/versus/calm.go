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
		if err != nil || busyCores(counter.Usage(before, after, nil)) <= limit {
			return
		}
	}
}
