// SPDX-License-Identifier: MIT

package agent

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
)

// silence goes by another clock until the test has ended.
func silence(t *testing.T, clock func() int64) {
	t.Helper()
	real := monotonic
	monotonic = clock
	t.Cleanup(func() { monotonic = real })
}

// bubble is the clock of package synctest.
func bubble() int64 { return time.Now().UnixNano() }

// silentAfter greets an agent with a limit of silence and lets it run.
func silentAfter(t *testing.T, limit time.Duration) *client {
	t.Helper()
	c := serve(t)
	c.ok(wire.OpHello, wire.Hello{Version: wire.Version, ToolVersion: version.Tool(), SilenceNs: int64(limit)}, nil)
	return c
}

// A controller that is silent for longer than it promised is lost: the link may
// be dead without an end of input.
func TestSilentController(t *testing.T) {
	var now atomic.Int64 // stands still until all has been said
	silence(t, now.Load)
	const limit = 80 * time.Millisecond
	c := silentAfter(t, limit)
	addr := c.openRX()
	run := c.send(wire.OpRun, endless)
	c.refusedWhileRunning(run)
	now.Add(int64(2 * limit))
	if err := c.end(); err == nil || !strings.Contains(err.Error(), "nothing heard from the controller for") ||
		fault.Fix(err) == "" {
		t.Errorf("%v", err)
	}
	if !free(addr) {
		t.Errorf("%s still listens", addr)
	}
}

// Signs of life are answered, and do, for as long as they come.
func TestSignsOfLife(t *testing.T) {
	silence(t, bubble)
	synctest.Test(t, func(t *testing.T) {
		const limit = 6 * time.Second
		c := silentAfter(t, limit)
		for range 100 {
			c.ok(wire.OpAlive, nil, nil)
			time.Sleep(limit - time.Millisecond)
		}
		c.ok(wire.OpClock, nil, nil)
		began := time.Now()
		if err := <-c.ended; err == nil || !strings.Contains(err.Error(), "nothing heard from the controller for") {
			t.Errorf("and then: %v", err)
		}
		if d := time.Since(began); d < limit || d > limit+time.Second {
			t.Errorf("it ended after %v", d)
		}
	})
}

// What dead runs left may take longer to restore than a controller may be silent:
// nobody is taken for lost meanwhile.
func TestSlowFinish(t *testing.T) {
	silence(t, bubble)
	synctest.Test(t, func(t *testing.T) {
		defer func(old func(lease.FinishOptions) ([]lease.Report, error)) { finish = old }(finish)
		finish = func(lease.FinishOptions) ([]lease.Report, error) {
			time.Sleep(950 * time.Millisecond)
			return []lease.Report{{Journal: "j", State: lease.Rebooted, Owner: lease.Owner{PID: 7}}}, nil
		}
		c := silentAfter(t, 300*time.Millisecond)
		asked := c.send(wire.OpFinish, nil)
		alive := 0
		for {
			select {
			case r := <-c.got:
				if r.ID != asked {
					alive++
					continue
				}
				var said []string
				if err := r.Decode(&said); err != nil || len(said) != 1 || !strings.Contains(said[0], "process 7") {
					t.Errorf("%q, %v", said, err)
				}
				if alive < 8 {
					t.Errorf("%d signs of life were answered in the time of nine", alive)
				}
				c.ok(wire.OpClock, nil, nil)
				return
			case err := <-c.ended:
				t.Fatalf("the agent ended: %v", err)
			case <-time.After(100 * time.Millisecond):
				c.send(wire.OpAlive, nil)
			}
		}
	})
}

// An agent that restores after the end of its input says that it is at it.
func TestSaysEnding(t *testing.T) {
	silence(t, bubble)
	synctest.Test(t, func(t *testing.T) {
		out := make(chan struct{}, 10)
		a := &agent{enc: wire.NewEncoder(writer(func(b []byte) (int, error) {
			if string(b) == `{"id":0,"result":{}}`+"\n" {
				out <- struct{}{}
			}
			return len(b), nil
		}))}
		done := make(chan struct{})
		ended := make(chan struct{})
		go func() { a.sayEnding(done); close(ended) }()
		time.Sleep(3*wire.EndingEvery + time.Millisecond)
		if len(out) != 3 {
			t.Errorf("in three times as long as it may be silent it says it %d times", len(out))
		}
		close(done)
		<-ended
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
