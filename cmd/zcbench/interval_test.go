// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryInterval(t *testing.T) {
	for name, x := range map[string]struct {
		count      int
		end        time.Duration // 0: it is not interrupted
		failsAt    int
		shown      []string
		wantsError bool
	}{
		"counted":             {count: 3, shown: []string{"0-1", "1-2", "2-3"}},
		"interrupted":         {end: 2500 * time.Millisecond, shown: []string{"0-1", "1-2"}},
		"interrupted at once": {end: 500 * time.Millisecond, shown: []string{"0-1"}},
		"a failure":           {failsAt: 2, shown: []string{"0-1"}, wantsError: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if x.end > 0 {
				ctx, cancel = context.WithTimeout(ctx, x.end)
				defer cancel()
			}
			n := 0
			read := func() (int, error) {
				if n++; n == x.failsAt {
					return 0, errors.New("no reading")
				}
				return n, nil
			}
			var shown []string
			err := everyInterval(ctx, time.Second, x.count, 0, read, func(last, now int) error {
				shown = append(shown, fmt.Sprintf("%d-%d", last, now))
				return nil
			})
			if (err != nil) != x.wantsError || !slices.Equal(shown, x.shown) {
				t.Errorf("%s: %q, %v", name, shown, err)
			}
		})
	}
}
