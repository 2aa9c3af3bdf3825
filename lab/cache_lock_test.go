// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// Who waits for a cache that another process has is told to end, and ends: the lock is not
// waited for.
func TestLockIsNotWaitedForAfterTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, unlock, err := lockedCache(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := Build(ctx, BuildOptions{Cache: dir}, io.Discard)
		waits <- err
	}()
	stop()
	if err := await.Chan(t, "it does not wait any more", waits); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	unlock()
	// Who gave up has not kept it.
	_, unlock, err = lockedCache(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Who waits is told for whom, and then gets the cache.
func TestLockSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, unlock, err := lockedCache(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	c.patience = 0
	r, w := io.Pipe()
	waits := make(chan error, 1)
	go func() {
		release, err := c.lock(t.Context(), w)
		if err == nil {
			release()
		}
		w.Close()
		waits <- err
	}()
	said, err := bufio.NewReader(r).ReadString('\n')
	want := fmt.Sprintf("lab: waiting for the cache %s, locked by process %d (", dir, os.Getpid())
	if err != nil || !strings.HasPrefix(said, want) {
		t.Errorf("%q, %v, want %q", said, err, want)
	}
	unlock()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
