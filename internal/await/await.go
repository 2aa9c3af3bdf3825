// SPDX-License-Identifier: MIT

// Package await lets tests wait for events. Each wait ends so late that only what hangs gets there,
// so a test that waits with it says nothing about how long anything took: beside busy loops and on
// an emulated CPU it passes as well. A test of rates, windows or latencies calls kind.Timed.
package await

import (
	"context"
	"testing"
	"time"
)

// Hang is how long a wait lasts before its test fails.
const Hang = 3 * time.Minute

// Until looks every poll, but spends no more than a fifth of the time on it: on an emulated CPU a
// look that asks the kernel for much would leave little for what is waited for.
const (
	poll = time.Millisecond
	rest = 4
)

// Until waits until so reports true. It fails the test, at once, when that hangs: "what: not within
// 3m0s". It is for the test's own goroutine.
func Until(t testing.TB, what string, so func() bool) {
	t.Helper()
	if !So(so) {
		t.Fatalf("%s: not within %v", what, Hang)
	}
}

// So waits until so reports true, and reports whether it did: where there is no test that could be
// failed at once, as on other goroutines and in programs that tests start.
func So(so func() bool) bool {
	end := time.Now().Add(Hang)
	for {
		began := time.Now()
		if so() {
			return true
		}
		now := time.Now()
		if now.After(end) {
			return false
		}
		time.Sleep(max(poll, rest*now.Sub(began)))
	}
}

// Chan waits for a value of ch, or for its end, and returns it. It fails the test, at once, when
// that hangs.
func Chan[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	timer := time.NewTimer(Hang)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		t.Fatalf("%s: not within %v", what, Hang)
		panic("unreachable")
	}
}

// Return waits until f returns. It fails the test, at once, when f hangs, and then leaves f behind.
// f runs on a goroutine of its own, so it must not call t.Fatal.
func Return(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	Chan(t, what, done)
}

// Context ends with the test, or when the test hangs.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Hang)
	t.Cleanup(cancel)
	return ctx
}

// Deadline returns that of a connection: the moment from which it hangs.
func Deadline() time.Time { return time.Now().Add(Hang) }

// Timeout returns a channel that delivers when the test hangs.
func Timeout() <-chan time.Time { return time.After(Hang) }

// Pause lets some time go by of which nothing depends: the test passes if it is much longer. So a
// load has its pace, or something that must not happen has time to; load on the machine can then
// make the test less strict, and never fail it. why is for who reads the test.
func Pause(why string, d time.Duration) {
	_ = why
	time.Sleep(d)
}

// Later calls f after a while, on a goroutine of its own, unless it is stopped: something that
// happens while the test does something else. The test passes whenever it happens.
func Later(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// Ending ends after a while, or with the test: for what must end with its context. The test passes
// however far it comes by then.
func Ending(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Kill waits to be killed, in a program that a test starts for that.
func Kill() {
	time.Sleep(time.Hour)
	panic("nobody has killed this process for an hour")
}
