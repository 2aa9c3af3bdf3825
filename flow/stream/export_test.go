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
