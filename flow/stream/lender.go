// SPDX-License-Identifier: MIT

package stream

// Lender is memory of its own that requests, or answers, are sent from without a copy. What is sent
// is lent to the kernel: it may not be written until the kernel says that it has let go of it. A
// lender is for one thread.
type Lender interface {
	Size() int
	// Room returns memory that may be written until the next Offer; what is in it must not be lent.
	Room(off, n int) ([]byte, error)
	// Offer lends at most n bytes at off to the kernel, for it to send, and takes notifications
	// that are there. It does not wait for room in the socket: 0 is none. It sleeps for a while
	// where the kernel has as much as can be lent.
	Offer(c *Conn, off, n int, m *Meter) (int, error)
	// AwaitRoom sleeps until the socket has room, for a while, after an Offer that found none.
	// Notifications may end it, too.
	AwaitRoom(c *Conn, m *Meter) error
	// Await sleeps until the kernel lets go of something that was lent, for a while. Room in the
	// socket does not end it.
	Await(c *Conn, m *Meter) error
	// Reap takes notifications that wake who waits for the socket.
	Reap(c *Conn, m *Meter) error
	// LetGo returns of how many bytes the kernel has let go, of those that were sent before all
	// that it still has.
	LetGo() uint64
	// Drain waits until the kernel has let go of everything.
	Drain(c *Conn, m *Meter) error
	// Close frees the memory. It comes after the socket was closed.
	Close() error
}
