// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// splicer passes a flow on by splice(2) through a pipe: references to its pages go from one socket
// to the other, and the application never has the payload. The kernel copies what lies in a
// packet's linear part (linear_to_page of net/core/skbuff.c), and before Linux 6.5 it may copy
// more; it tells nobody how much.
type splicer struct {
	out  *stream.Onward
	pipe [2]int
	room int
}

// splicePipe is what the pipe is to hold: as much as a process without privileges may ask for
// (fs.pipe-max-size).
const splicePipe = 1 << 20

// PassOn sends what is received, or writes it to a file, or makes the pipe where it is to go by
// splice.
func (r *TCPReceiver) PassOn(o *stream.Onward, m *stream.Meter) error {
	switch {
	case o.File != nil:
		r.file = &fileWriter{out: o}
		return nil
	case !o.Splice:
		m.PassOn(o)
		return nil
	}
	s := &splicer{out: o}
	if err := unix.Pipe2(s.pipe[:], unix.O_CLOEXEC); err != nil {
		return &fault.Error{Op: "make a pipe for splice", Err: err,
			How: "allow more open files (ulimit -n), or more pages of pipes (sysctl fs.pipe-user-pages-soft)"}
	}
	r.splicer = s
	// Without the room it goes on in smaller steps.
	_, _ = unix.FcntlInt(uintptr(s.pipe[1]), unix.F_SETPIPE_SZ, splicePipe)
	room, err := unix.FcntlInt(uintptr(s.pipe[1]), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return fmt.Errorf("fcntl F_GETPIPE_SZ: %w", err)
	}
	s.room = room
	return nil
}

// receive passes on until the sender ends the flow.
func (s *splicer) receive(c *stream.Conn, m *stream.Meter) error {
	if err := sock.Blocking(c.FD, waitMs*time.Millisecond); err != nil {
		return err
	}
	for {
		n, errno := sock.Splice(c.FD, s.pipe[1], s.room, unix.SPLICE_F_MOVE)
		m.Wait()
		switch {
		case n > 0 && errno == 0:
			m.Bytes(n)
			if err := s.drain(n, m); err != nil {
				return err
			}
		case errno == 0:
			return c.Aborted()
		case errno == unix.EINTR || errno == unix.EAGAIN:
			if err := c.Aborted(); err != nil {
				return err
			}
		default:
			return stream.ReceiveError(c, "splice", errno)
		}
	}
}

// drain passes on the n bytes that are in the pipe.
func (s *splicer) drain(n int, m *stream.Meter) error {
	for n > 0 {
		k, errno := sock.Splice(s.pipe[0], s.out.Conn.FD, n, unix.SPLICE_F_MOVE)
		m.Wait()
		if errno == 0 {
			n -= k
			s.out.Meter.Bytes(k)
		} else if err := s.out.Again("splice", errno); err != nil {
			return err
		}
	}
	return nil
}

func (s *splicer) close() error {
	if s == nil || s.pipe[1] < 0 {
		return nil
	}
	defer func() { s.pipe = [2]int{-1, -1} }()
	return errors.Join(unix.Close(s.pipe[0]), unix.Close(s.pipe[1]))
}
