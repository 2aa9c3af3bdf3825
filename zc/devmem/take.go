// SPDX-License-Identifier: MIT

package devmem

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// waitTime bounds one sleep, so that an aborted or starving run is noticed.
const waitTime = 100 * time.Millisecond

// Receive takes payload until the sender ends the flow. Nothing is allocated per
// call.
func (r *Receiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if r.visits != nil {
		return r.receiveVisits(c, m)
	}
	if err := sock.Blocking(r.fd, waitTime); err != nil {
		return err
	}
	epoll, err := stream.NewWaiting(r.fd, r.opt.Socket)
	if err != nil {
		return err
	}
	defer epoll.Close()
	for {
		if err := r.makeRoom(m); err != nil {
			return err
		}
		ends, flags := c.Turns.Ends(), 0
		if ends { // it waits in rest
			flags = unix.MSG_DONTWAIT
		} else {
			flags = epoll.Next(waitTime, m)
		}
		n, frags, truncated, errno := r.reader.Recv(r.fd, flags)
		m.Wait()
		r.reads.calls++
		switch {
		case errno == 0 && n > 0:
			if truncated {
				r.reads.truncated++
			}
			before := r.reads.frags
			if err := r.take(n, frags, m); err != nil {
				return err
			}
			// A read that had room left for bytes and fragments has taken all that was there.
			if n < len(r.linear.Bytes()) && r.reads.frags-before < uint64(r.frags) {
				r.gather.Let(m)
			}
		case errno == 0:
			return r.end(c, m)
		case errno == unix.EAGAIN || errno == unix.EINTR:
			// A signal of the runtime's may end every sleep: its clock counts.
			r.reads.empty++
			m.Nothing()
			wait := r.idleTick
			if ends {
				wait = r.rest
			}
			if err := wait(c, m); err != nil {
				return err
			}
		default:
			return r.failed(c, errno)
		}
	}
}

// end gives everything back when the sender has ended the flow.
func (r *Receiver) end(c *stream.Conn, m *stream.Meter) error {
	if err := c.Aborted(); err != nil {
		return err
	}
	if err := r.onward.finish(r.tokens); err != nil {
		return err
	}
	err := r.tokens.giveAll(r.fd, m)
	r.ended = err == nil
	return err
}

// failed names an errno of recvmsg.
func (r *Receiver) failed(c *stream.Conn, errno unix.Errno) error {
	const op = "recvmsg with MSG_SOCK_DEVMEM"
	switch errno {
	case sock.ETOOSMALL:
		return &fault.Error{Op: op + ": no control space for a single fragment", Err: errno, How: "report it"}
	case unix.EFAULT, unix.ENODEV:
		where, fix := r.queue.Whereabouts(r.fd)
		return &fault.Error{Op: op + ": the payload is in memory of another program: " + where, Err: errno, How: fix}
	}
	return stream.ReceiveError(c, op, errno)
}

// take treats the payload of one read of n bytes.
func (r *Receiver) take(n int, frags sock.DevmemFrags, m *stream.Meter) error {
	r.idle.flowing()
	got, err := r.sort(n, frags, m)
	if err = errors.Join(err, r.view.End(m)); err != nil {
		return err
	}
	m.Bytes(n)
	if got == 0 {
		return nil
	}
	r.reads.count(got)
	if r.tokens.ripe > sock.MaxTokenFrags {
		r.reads.passed++
	}
	calls := r.tokens.calls
	err = r.tokens.give(r.fd, m)
	if r.tokens.calls == calls {
		r.reads.avoided++
	}
	return err
}

// sort goes through the fragments of a read of n bytes and returns how many were
// in the dmabuf. Bytes without any are ordinary ones: they came by another queue.
func (r *Receiver) sort(n int, frags sock.DevmemFrags, m *stream.Meter) (got int, err error) {
	at, inside, size := 0, uint64(0), uint64(r.mem.Size)
	for f, ok := frags.Next(); ok; f, ok = frags.Next() {
		if f.Linear {
			if at+int(f.Size) > len(r.linear.Bytes()) {
				return got, r.beyond(f, at)
			}
			if err := r.view.Pause(); err != nil {
				return got, err
			}
			p := r.linear.Bytes()[at : at+int(f.Size)]
			r.touch.Next(p, m)
			if err := r.onward.copy(p, m); err != nil {
				return got, err
			}
			at += int(f.Size)
			continue
		}
		if f.DMABuf != r.binding.ID || f.Offset > size || uint64(f.Size) > size-f.Offset {
			return got, r.stray(f)
		}
		if err := r.view.Next(r.touch, int(f.Offset), int(f.Size), m); err != nil {
			return got, err
		}
		r.tokens.take(f.Token, f.Size)
		if r.onward != nil {
			if err := r.onward.add(int(f.Offset), int(f.Size)); err != nil {
				return got, err
			}
		}
		inside += uint64(f.Size)
		got++
	}
	if err := frags.Err(); err != nil {
		return got, fmt.Errorf("recvmsg: %w", err)
	}
	if err := r.onward.flush(); err != nil {
		return got, err
	}
	switch {
	case got == 0 && at == 0: // ordinary
		r.touch.Next(r.linear.Bytes()[:n], m)
		if err := r.onward.copy(r.linear.Bytes()[:n], m); err != nil {
			return got, err
		}
		m.Copied(uint64(n))
		r.copied += uint64(n)
	case uint64(at)+inside != uint64(n):
		return got, &fault.Error{Op: fmt.Sprintf("recvmsg returned %d bytes, but its control messages describe %d", n,
			uint64(at)+inside),
			How: "control messages were lost, and payload with them: please report it"}
	}
	m.ZeroCopy(inside)
	m.Linear(uint64(at))
	r.linearBytes += uint64(at)
	return got, nil
}

// beyond names linear bytes for which there was no room.
func (r *Receiver) beyond(f sock.DevmemFrag, at int) error {
	return fmt.Errorf("recvmsg: %d linear bytes at %d, in a buffer of %d", f.Size, at, len(r.linear.Bytes()))
}

// stray names a fragment that is not in our memory.
func (r *Receiver) stray(f sock.DevmemFrag) error {
	if f.DMABuf == r.binding.ID {
		return fmt.Errorf("recvmsg: fragment of %d bytes at %d, in memory of %d", f.Size, f.Offset, r.mem.Size)
	}
	where, fix := r.queue.Whereabouts(r.fd)
	return &fault.Error{Op: fmt.Sprintf("recvmsg: payload is in the memory of binding %d, not of %d: %s", f.DMABuf,
		r.binding.ID, where), How: fix}
}
