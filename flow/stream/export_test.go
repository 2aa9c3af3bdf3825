// SPDX-License-Identifier: MIT

package stream

import "time"

// SetHandshakeTime sets how long a connection may take to say hello, and returns what
// undoes that.
func SetHandshakeTime(d time.Duration) (undo func()) {
	usual := handshakeTime
	handshakeTime = d
	return func() { handshakeTime = usual }
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
