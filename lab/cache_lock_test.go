// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// Who waits for a cache that another process has is told to end, and ends: the lock is not
// waited for.
func TestLockIsNotWaitedForAfterTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, unlock, err := lockedCache(t.Context(), dir)
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
	select {
	case err := <-waits:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it still waits")
	}
	unlock()
	// Who gave up has not kept it.
	_, unlock, err = lockedCache(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
