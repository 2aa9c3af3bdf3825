// SPDX-License-Identifier: MIT

package stream

import (
	"os"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
)

// usually are the limits that users have.
var usually = struct{ handshake, hello, delivery time.Duration }{handshakeTime, helloTime, deliveryTime}

// TestMain gives connections the time of a hang: one that is slow because the machine is busy is
// still the flow. So what a test sees closed was closed for another reason, or the test has set
// a limit.
func TestMain(m *testing.M) {
	handshakeTime, helloTime, deliveryTime = 2*await.Hang, 2*await.Hang, await.Hang
	os.Exit(m.Run())
}

// SetHandshakeTime sets how long a connection may take to say hello, and returns what
// undoes that.
func SetHandshakeTime(d time.Duration) (undo func()) {
	usual := handshakeTime
	handshakeTime = d
	return func() { handshakeTime = usual }
}

// SetHelloTime sets how long a connection is safe from those that come after it, where there is no
// more room, and returns what undoes that.
func SetHelloTime(d time.Duration) (undo func()) {
	usual := helloTime
	helloTime = d
	return func() { helloTime = usual }
}

// SetMaxPending sets how many connections may be in their handshake at once, of ports that are
// opened from now on, and returns what undoes that.
func SetMaxPending(n int) (undo func()) {
	usual := maxPending
	maxPending = n
	return func() { maxPending = usual }
}

// PendingRoom is that of a port that is opened now.
func PendingRoom() int { return pendingRoom() }
