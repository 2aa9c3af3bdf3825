// SPDX-License-Identifier: MIT

package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// What is watched live is read for at most MostWatched, and at least every MostInterval: more is
// mistyped, and clocks of nanoseconds overflow.
const (
	mostWatched  = 10_000 * time.Hour
	mostInterval = 24 * time.Hour
)

// CheckWatched refuses a --duration that is no time to watch for. 0 is until somebody interrupts.
func CheckWatched(d time.Duration) error {
	if d < 0 || d > mostWatched {
		return fmt.Errorf("--duration %v: must be 0 (until Ctrl-C) to %v", d, mostWatched)
	}
	return nil
}

// CheckInterval refuses a time between two readings, or two tables, that is too short or too long.
func CheckInterval(flag string, d, least time.Duration) error {
	if d < least || d > mostInterval {
		return fmt.Errorf("--%s %v: must be %v to %v", flag, d, least, mostInterval)
	}
	return nil
}

// CheckGiven refuses flags that were given with nothing in them, such as --pid 0 or --dev "": left
// out they mean all, and who gives them means one.
func CheckGiven(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f.Changed && slices.Contains([]string{"", "0", "[]"}, f.Value.String()) {
			return Usagef("--%s %q: is empty: leave the flag out, or give it a value", name, f.Value)
		}
	}
	return nil
}
