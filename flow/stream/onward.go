// SPDX-License-Identifier: MIT

package stream

import (
	"time"

	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/sock"

	"golang.org/x/sys/unix"
)

// Onward is where a receiver's application passes the payload of a flow on. That is a flow of its
// own, to whoever looks whether all came, and came right: unless the path is a [Forwarder], what it
// shows its [Toucher] is sent, by send(2), which copies. Or it is a file.
//
// It sleeps while the far end takes nothing, and the receiver with it, so that no more than both
// flows' sockets hold is under way.
type Onward struct {
	Conn   *Conn      // nil: it goes to File
	File   *disk.File // nil: it goes to Conn
	Splice bool       // the application moves the payload by splice(2), and never has it
	Meter  Meter      // what was passed on, and by the kernel's evidence how

	in  *Conn
	err error
}

// ToFile writes payload of in to f.
func ToFile(in *Conn, f *disk.File) *Onward { return &Onward{File: f, in: in} }

// Wrote counts what was written to the file.
func (o *Onward) Wrote(n int, w disk.Way) {
	o.Meter.Bytes(n)
	if w == disk.Direct {
		o.Meter.ZeroCopy(uint64(n))
	} else {
		o.Meter.Copied(uint64(n))
	}
}

// Forwarder is a receiver that passes payload on by a way of its own.
type Forwarder interface {
	// PassOn is called after Attach: payload of the flow, which m counts, is to go to o.
	PassOn(o *Onward, m *Meter) error
}

// sendNap bounds one sleep in a call that sends, so that an aborted run is noticed.
const sendNap = 100 * time.Millisecond

// NewOnward passes payload of in on to out, which it takes over.
func NewOnward(in, out *Conn, splice bool) (*Onward, error) {
	return &Onward{Conn: out, Splice: splice, in: in}, sock.BlockingSend(out.FD, sendNap)
}

// Send passes payload on by send(2); m is of the flow that it came by. A path hears of an error by
// its flow's end ([Onward.Err]).
func (o *Onward) Send(p []byte, m *Meter) {
	for len(p) > 0 && o.err == nil {
		n, errno := sock.Send(o.Conn.FD, p, unix.MSG_NOSIGNAL)
		m.Wait()
		if errno == 0 {
			p = p[n:]
			o.Meter.Bytes(n)
			o.Meter.Copied(uint64(n))
		} else if err := o.Again("send", errno); err != nil {
			o.Fail(err)
		}
	}
}

// Again returns nil for an errno after which a call is made again, and otherwise its error.
func (o *Onward) Again(op string, errno unix.Errno) error {
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return o.in.Aborted()
	}
	return SendError(o.Conn, op+" (pass payload on)", errno)
}

// Fail ends both flows: the path's next call returns.
func (o *Onward) Fail(err error) {
	o.err = err
	o.in.Abort()
	o.Abort()
}

// Abort ends a flow that goes on; writing to a file ends with the one that comes.
func (o *Onward) Abort() {
	if o != nil && o.Conn != nil {
		o.Conn.Abort()
	}
}

// Err returns why the flows were ended; nil where o is nil.
func (o *Onward) Err() error {
	if o == nil {
		return nil
	}
	return o.err
}
