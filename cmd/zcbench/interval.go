// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"time"
)

// everyInterval shows what happened between each reading and the one before: count times, or until
// it is interrupted where count is 0. An interval that is cut short is shown if it is the only one.
func everyInterval[T any](ctx context.Context, interval time.Duration, count int, first T, read func() (T, error),
	show func(last, now T) error) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := first
	for n := 1; ; n++ {
		ended := false
		select {
		case <-tick.C:
		case <-ctx.Done():
			if ended = true; n > 1 {
				return nil
			}
		}
		now, err := read()
		if err != nil {
			return err
		}
		if err := show(last, now); err != nil || ended || n == count {
			return err
		}
		last = now
	}
}
