// SPDX-License-Identifier: MIT

package baseline

import (
	"cmp"
	"errors"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

// defaultReadBytes is what one receive call of a copying mode asks for unless
// told otherwise. Below 128 KiB the calls themselves begin to cost; far above,
// the data falls out of the L2 cache between the copy and its reader.
const defaultReadBytes = 256 << 10

// waitMs bounds one sleep, so that an aborted run is noticed.
const waitMs = 100

// TCPReceiver is the mode tcp: recv(2) into one user buffer, piece after piece, as
// an application does that wants whole messages. Unless told otherwise the buffer is
// as large as a message.
type TCPReceiver struct {
	opt     stream.Options
	buf     *stream.Buffer
	touch   *stream.Toucher
	gather  *stream.Gathering
	visits  *stream.Visitors // of a flow whose requests have a connection each; nil: of others
	splicer *splicer         // of a flow that is passed on so; nil: of others
	file    *fileWriter      // of one that is written to a file; nil: of others
}

// NewTCPReceiver allocates the buffer.
func NewTCPReceiver(o stream.Options) (*TCPReceiver, error) {
	size := bufferBytes(o)
	if o.TLS == records.User {
		size = readBytes(o) // what is received is decrypted at once, into the message
	}
	buf, err := stream.NewBuffer(size)
	if err != nil {
		return nil, err
	}
	return &TCPReceiver{opt: o, buf: buf, gather: stream.NewGathering(o)}, nil
}

// Attach prepares the payload check, and where the sender makes connections the port for them.
func (r *TCPReceiver) Attach(c *stream.Conn, h stream.Hello) (err error) {
	r.touch = c.Toucher(r.opt.Touch, h)
	if h.Connects {
		r.visits, err = stream.NewVisitors(c, h, r.touch, r.opt.Socket)
	}
	return err
}

// Receive reads until the sender ends the flow.
func (r *TCPReceiver) Receive(c *stream.Conn, m *stream.Meter) error {
	if r.visits != nil {
		return r.visits.Serve(c, r.readVisit, m)
	}
	if r.splicer != nil {
		return r.splicer.receive(c, m)
	}
	message, read, at := r.buf.Bytes(), readBytes(r.opt), 0
	if err := sock.Blocking(c.FD, waitMs*time.Millisecond); err != nil {
		return err
	}
	wait, err := stream.NewWaiting(c.FD, r.opt.Socket)
	if err != nil {
		return err
	}
	defer wait.Close()
	for {
		p := message[at:min(at+read, len(message))]
		n, errno := sock.Recv(c.FD, p, wait.Next(waitMs*time.Millisecond, m))
		m.Wait()
		wait.Took(errno == 0 && n == len(p))
		switch {
		case n > 0 && errno == 0:
			r.touch.Next(p[:n], m)
			payload, err := r.touch.Payload(n)
			m.Bytes(payload)
			if err != nil {
				return stream.ReceiveError(c, "decrypt", err)
			}
			if at += n; r.file != nil {
				if err := r.file.write(message[:at], at == len(message), m); err != nil {
					return err
				}
			}
			if at == len(message) {
				at = 0
			}
			if n < len(p) {
				r.gather.Let(m)
			}
		case errno == 0:
			return errors.Join(r.file.write(message[:at], true, m), c.Aborted())
		case errno != unix.EINTR && errno != unix.EAGAIN:
			return stream.ReceiveError(c, "recv", errno)
		default:
			m.Nothing()
		}
	}
}

// Evidence returns how the receiver waited.
func (r *TCPReceiver) Evidence() stream.Evidence { return stream.Evidence{Figures: r.gather.Figures()} }

// Close frees the buffer, and closes what its flow has made.
func (r *TCPReceiver) Close() error {
	return errors.Join(r.visits.Close(), r.splicer.close(), r.buf.Close())
}

// bufferBytes returns the size of the receiver's buffer.
func bufferBytes(o stream.Options) int { return cmp.Or(o.BufferBytes, o.MessageBytes) }

func readBytes(o stream.Options) int {
	return min(cmp.Or(o.ReadBytes, defaultReadBytes), bufferBytes(o))
}

// readVisit reads what came by the connection of a request.
func (r *TCPReceiver) readVisit(x *stream.Visitor, flags int, m *stream.Meter) (n int, own bool, errno unix.Errno,
	err error) {
	if n, errno = sock.Recv(x.FD, r.buf.Bytes(), flags); errno == 0 && n > 0 {
		_, own = r.visits.Take(x, r.buf.Bytes()[:n], m)
	}
	return n, own, errno, nil
}
