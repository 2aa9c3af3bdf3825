// SPDX-License-Identifier: MIT

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// grace is how long a command that reads may take to end by itself when it is interrupted.
const grace = time.Second

// errInterrupted says what has become of the files.
var errInterrupted = errors.New("interrupted: no file is half written")

// Reading makes of what a command does one that the first signal ends, whatever it is at: for
// commands that read what others wrote and set nothing on a host. It ends by itself, or after a
// second it is left alone, and goes with the process: the files that it writes are replaced as a
// whole, or not at all.
func Reading(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return leave(cmd.Context(), func() error { return run(cmd, args) })
	}
}

// leave does something that reads what others wrote, until it is done or the context has ended:
// see [Reading].
func leave(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case err := <-done:
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w (%w)", errInterrupted, err)
		}
		return err
	case <-late.C:
		return errInterrupted
	}
}
