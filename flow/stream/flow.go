// SPDX-License-Identifier: MIT

package stream

// Flow is one flow of payload. A run has one or several; both ends know each by its number.
// Which thread moves it, and by which path, is up to who plays it (bench/endpoint).
type Flow struct {
	N     int   // its number, from 0
	CPU   int   // of the thread that moves it; -1: not pinned
	Queue *int  // RX queue of its own; nil: its path chooses, or takes none
	Conn  *Conn // nil until it is open
	Meter Meter
}

// MaxFlows is how many flows a run may have.
const MaxFlows = 1 << 10
