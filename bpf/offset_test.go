// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// The offset between the clocks is read anew though nobody reads the probe.
func TestIntegrationOffsetRefreshed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var offset atomic.Int64
	offset.Store(37e9)
	broken := errors.New("no clock")
	l, err := OpenLatency(LatencyOptions{Stamp: StampSocket, every: 20 * time.Millisecond, tai: func() (int64, error) {
		if v := offset.Load(); v >= 0 {
			return v, nil
		}
		return 0, broken
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	has := func(want int64) {
		t.Helper()
		var got int64
		if !await.So(func() bool {
			if err := l.set.maps.Variables[latencyVarTaiOffsetNs].Get(&got); err != nil {
				t.Fatal(err)
			}
			return got == want
		}) {
			t.Fatalf("the programs have %d, want %d", got, want)
		}
	}
	has(37e9)
	offset.Store(38e9) // a leap second
	has(38e9)
	if _, err := l.Read(); err != nil {
		t.Error(err)
	}
	offset.Store(-1)
	if _, err = l.Read(); !errors.Is(err, broken) {
		t.Errorf("a clock that cannot be read: %v", err)
	}
	// Later readings cannot know what was missed by one of its own.
	await.Until(t, "a reading of its own fails", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.err != nil
	})
	offset.Store(39e9)
	if _, err := l.Read(); err == nil {
		t.Error("an offset that was not known for a while is forgotten")
	}
	fd := l.stamp.fd
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	other, err := unix.FcntlInt(0, unix.F_DUPFD, fd) // it has the number now
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(other)
	if err := l.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(other), unix.F_GETFD, 0); err != nil {
		t.Errorf("the second time closed what somebody else opened: %v", err)
	}
}
