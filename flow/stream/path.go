// SPDX-License-Identifier: MIT

package stream

import (
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
)

// Options are what a data path needs to know besides its socket.
type Options struct {
	// MessageBytes is the size of the application's message: the sender hands
	// the kernel so much at a time, the receiver assembles so much in one
	// contiguous buffer.
	MessageBytes int
	// ReadBytes is the most that one receive call asks for. 0: the mode's
	// default, at most MessageBytes.
	ReadBytes int
	// BufferBytes is the memory that the receiver of a mode that is Buffered has its payload
	// copied into, again and again. 0: MessageBytes.
	BufferBytes int
	// Batch is how many packets a call of a mode that Batches moves at most, 1 by calls for one; 0:
	// the mode's default.
	Batch  int
	Touch  Touch
	Socket sock.Options
	// Frames is for paths of the kind [Frame].
	Frames Frames
	// NIC is for paths whose mode has NICQueue.
	NIC NICQueue
	// TXArea is the memory that a sender whose mode is DMABuf sends from, as package dmabuf has it;
	// "": udmabuf.
	TXArea string
	// UringEngine names the io_uring engine of paths whose mode UsesRing; "" is the
	// default.
	UringEngine string
	// Gather is for how long a receiver that has taken all that was there lets more come
	// before it looks again: what comes is taken together, at the cost of one wake-up.
	Gather time.Duration
	// Objects are the bursts of a sender; the zero value: none.
	Objects Objects
	Trips   TripOptions // of senders whose mode makes RoundTrips
	// TLS is who encrypts the payload; of the application only where the mode [Encrypts].
	TLS records.How
}

// Looks reports whether the application reads the payload where the path has it.
func (o *Options) Looks() bool { return o.Touch != TouchNone || o.TLS == records.User }

// Limits of [Options].
const (
	DefaultMessageBytes = 64 << 20
	MaxMessageBytes     = 1 << 30
	MinBufferBytes      = 16 << 10 // eight provided buffers of io_uring of half a page each
	MaxGather           = 100 * time.Millisecond

	// Of datagrams: the shortest makes the shortest frame of Ethernet, and IPv4 has room for no
	// longer one.
	DefaultDatagramBytes = 64
	MinDatagramBytes     = 18
	MaxDatagramBytes     = 65507
	MaxBatch             = 64 // as many as UDP_SEGMENT takes before Linux 6.10
)

// DefaultMessage returns the default size of a message of a kind.
func DefaultMessage(k Kind) int {
	if k.Packets() {
		return DefaultDatagramBytes
	}
	return DefaultMessageBytes
}

// Receiver is a receive data path for one flow.
//
// All calls but Close come from one locked OS thread. Receive may be called
// once.
type Receiver interface {
	// Attach prepares the accepted flow before its first payload byte is sent:
	// a path that needs the flow on a certain queue steers it there now.
	Attach(c *Conn, h Hello) error
	// Receive takes payload until the peer ends the flow (nil) or an error. It
	// does not allocate per call.
	Receive(c *Conn, m *Meter) error
	// Close gives everything back. It may be called at any time after the
	// constructor, and twice.
	Close() error
}

// Sender is a send data path for one flow, with the rules of [Receiver].
type Sender interface {
	// Send hands the kernel messages of p until c.Stopping, and returns when
	// the kernel has let go of all memory. It does not allocate per call.
	Send(c *Conn, p *Payload, m *Meter) error
	Close() error
}
