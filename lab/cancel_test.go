// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/lab/guest"
)

// What cancels the context ends a machine at once, which may hang: while it boots, and while it
// runs a command.
func TestCancelEndsMachineAtOnce(t *testing.T) {
	kind.Timed(t)
	dir := t.TempDir()
	ram := filepath.Join(dir, "ram")
	if err := errors.Join(os.WriteFile(ram, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "qemu-system-x86_64"), []byte("#!/bin/sh\nexec sleep 1000\n"),
			0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for what, do := range map[string]func(context.Context, *machine) error{
		"it boots": func(_ context.Context, m *machine) error { return m.ready() },
		"it runs a command": func(ctx context.Context, m *machine) error {
			return m.run(ctx, &request{job: guest.Job{Args: []string{"hang"}}, timeout: time.Hour, stdout: io.Discard,
				stderr: io.Discard, log: io.Discard,
				send: func(io.Writer) error { return nil }, receive: func(io.Reader) error { return nil }}).err
		},
	} {
		img, err := os.Open(ram)
		if err != nil {
			t.Fatal(err)
		}
		ctx := await.Ending(t, 200*time.Millisecond)
		booted := ctx
		if what != "it boots" { // it may have been booted for another
			booted = t.Context()
		}
		m, err := switchOn(booted, vmConfig{initramfs: img, cpus: 1, memMiB: 1}, io.Discard)
		img.Close()
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = do(ctx, m)
		m.close()
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
			t.Errorf("while %s: %v after %v", what, err, took)
		}
	}
}
