// SPDX-License-Identifier: MIT

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

// Whoever interrupts a command that reads waits for a second at most, whatever it is at, and less
// where it ends by itself.
func TestLeave(t *testing.T) {
	own := errors.New("its own")
	for name, x := range map[string]struct {
		after time.Duration // for which it goes on
		err   error
		waits time.Duration
		want  error
	}{
		"deaf":               {time.Hour, nil, grace, errInterrupted},
		"heard":              {grace / 2, context.Canceled, grace / 2, errInterrupted},
		"finished meanwhile": {grace / 2, nil, grace / 2, nil},
		"failed meanwhile":   {grace / 2, own, grace / 2, own},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				start := time.Now()
				cancel()
				err := leave(ctx, func() error { time.Sleep(x.after); return x.err })
				if !errors.Is(err, x.want) || x.want == nil && err != nil || time.Since(start) != x.waits {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				time.Sleep(x.after) // what was left ends
			})
		})
	}
	if err := leave(t.Context(), func() error { return own }); !errors.Is(err, own) {
		t.Error(err)
	}
}

// The first SIGTERM ends such a command, with what it has printed, and says so.
func TestReadingEndsWithASignal(t *testing.T) {
	dir := t.TempDir()
	stdout, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(filepath.Join(dir, "err"))
	if err != nil {
		t.Fatal(err)
	}
	forever := make(chan struct{})
	defer close(forever)
	cmd := &cobra.Command{Use: "deaf", RunE: Reading(func(cmd *cobra.Command, _ []string) error {
		fmt.Fprint(cmd.OutOrStdout(), "begun")
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-forever
		return nil
	})}
	if status := run(cmd, nil, stdout, stderr); status != Failed {
		t.Errorf("status %d", status)
	}
	said, err := os.ReadFile(stderr.Name())
	if printed, _ := os.ReadFile(stdout.Name()); err != nil || string(printed) != "begun" ||
		!strings.Contains(string(said), "interrupted: no file is half written") {
		t.Errorf("%s, %v", said, err)
	}
}
