// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"math"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// onward passes the payload of a flow on without a copy (then: forward): the dmabuf that the NIC
// wrote it into is bound for sending, too. Fragments that follow each other in memory go out by one
// call. They go back to the NIC, in their order, when the kernel has let go of what they were sent
// by, as its notification says.
//
// What is out of the NIC's hands is bounded: nothing is read while half of the memory is. What is
// not read stays in the socket, whose window holds the sender back.
type onward struct {
	out     *stream.Onward
	dev     *nic.Device
	binding *nic.Binding
	writer  sock.DevmemWriter
	flow    msgzc.Flow

	at, n int    // of the memory, what is gathered for the next call
	back  uint64 // bytes of fragments that may go back
	most  int    // fragments that may be out
}

// PassOn binds the memory for sending.
func (r *Receiver) PassOn(out *stream.Onward, _ *stream.Meter) (err error) {
	o := &onward{out: out, dev: r.queue.Dev, flow: msgzc.Flow{Op: "sendmsg with SCM_DEVMEM_DMABUF"},
		most: min(int(r.mem.Size)/r.bufLen/2, held.Max/2)}
	o.flow.Call = func(fd, off, n int) (int, unix.Errno) { return o.writer.Send(fd, o.binding.ID, off, n) }
	o.flow.Explain = func(c *stream.Conn, errno unix.Errno) error { return explainSend(o.flow.Op, o.dev, c, errno) }
	if o.binding, err = bindTX(o.dev, r.mem); err != nil {
		return nicqueue.Unsupported(Mode, err)
	}
	r.tokens.hold = math.MaxInt // nothing goes back before it has left
	r.onward = o
	return nil
}

// add gathers a fragment for sending.
func (o *onward) add(at, n int) error {
	if o.n > 0 && at == o.at+o.n {
		o.n += n
		return nil
	}
	err := o.flush()
	o.at, o.n = at, n
	return err
}

// flush sends what is gathered.
func (o *onward) flush() error {
	if o == nil || o.n == 0 {
		return nil
	}
	n := o.n
	o.n = 0
	return o.flow.Pass(o.out.Conn, o.at, n, &o.out.Meter)
}

// copy sends payload that came by a copy, after what was gathered.
func (o *onward) copy(p []byte, m *stream.Meter) error {
	if o == nil {
		return nil
	}
	err := o.flush()
	o.out.Send(p, m)
	return errors.Join(err, o.out.Err())
}

// makeRoom lets fragments go back that have left, and waits until another read may bring so many.
func (r *Receiver) makeRoom(m *stream.Meter) error {
	o := r.onward
	if o == nil {
		return r.tokens.makeRoom(r.fd, r.frags, m)
	}
	for {
		o.ripen(r.tokens)
		if err := r.tokens.give(r.fd, m); err != nil {
			return err
		}
		if out := r.tokens.held.Count(); out <= o.most && held.Max-out >= r.frags {
			return nil
		}
		if err := r.tokens.giveRipe(r.fd, m); err != nil {
			return err
		}
		if out := r.tokens.held.Count(); out <= o.most && held.Max-out >= r.frags {
			return nil
		}
		if err := o.flow.Await(o.out.Conn, &o.out.Meter); err != nil {
			return err
		}
		if err := o.out.Conn.Aborted(); err != nil {
			return err
		}
	}
}

// ripen lets fragments go back all of whose bytes the kernel has let go of.
func (o *onward) ripen(t *tokens) {
	for t.ripe < t.held.Count() && o.flow.LetGo() >= o.back+uint64(t.held.At(t.ripe).Len) {
		o.back += uint64(t.held.At(t.ripe).Len)
		t.ripen()
	}
}

// finish waits until everything has left.
func (o *onward) finish(t *tokens) error {
	if o == nil {
		return nil
	}
	err := o.flow.Drain(o.out.Conn, &o.out.Meter)
	o.ripen(t)
	return err
}

// close ends the binding, after the flow's socket was closed.
func (o *onward) close() error {
	if o == nil || o.binding == nil {
		return nil
	}
	err := o.binding.Close()
	o.binding = nil
	return err
}
