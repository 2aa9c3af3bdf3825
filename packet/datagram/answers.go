// SPDX-License-Identifier: MIT

package datagram

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
)

// answers are a receiver's to the requests of its flow, a datagram for each that came and is right:
// also for one that came twice. An answer has its request's number, with a tag of its own, and the
// rest of the request's bytes, as many times as it takes. It is made of the bytes that came.
//
// What came together is answered by one call. An answer that the kernel does not take for want of
// room below the socket is lost like one that is lost on the way: nothing is sent twice.
type answers struct {
	key   uint64
	size  int
	buf   *stream.Buffer
	batch *sock.Batch
	wait  sock.Waiter
	n     int // that are ready
	most  int
	err   error
}

// answersBytes is how much of answers waits for one call, unless one answer is longer.
const answersBytes = 64 << 10

// newAnswers prepares the answers of a flow; nil: it asks for none.
func newAnswers(c *stream.Conn, h stream.Hello) (*answers, error) {
	size := int(h.ResponseBytes)
	switch {
	case size == 0:
		return nil, nil
	case size < minBytes || size > maxBytes:
		return nil, fmt.Errorf("the sender wishes answers of %d bytes: datagrams have %d..%d", size, minBytes, maxBytes)
	}
	most := max(min(stream.MaxBatch, answersBytes/size), 1)
	buf, err := stream.NewBuffer(most * size)
	if err != nil {
		return nil, err
	}
	return &answers{key: answerKey(c.Key), size: size, buf: buf, batch: sock.NewBatch(most, false), most: most}, nil
}

// answerKey derives what the tags of answers are made of: a request that comes back as it was is
// none.
func answerKey(key uint64) uint64 { return mix(key + 1) }

// add makes the answer to a request that is right.
func (a *answers) add(c *stream.Conn, seq uint64, request []byte, m *stream.Meter) {
	if a.n == a.most {
		a.send(c, m)
	}
	p := a.buf.Bytes()[a.n*a.size:][:a.size:a.size]
	put(p, a.key, seq)
	for to, from := p[headerBytes:], request[headerBytes:]; len(to) > 0; {
		to = to[copy(to, from):]
	}
	a.batch.Set(a.n, p)
	a.n++
}

// send sends what is ready.
func (a *answers) send(c *stream.Conn, m *stream.Meter) {
	for at := 0; at < a.n && a.err == nil; {
		n, errno := a.call(c, at)
		m.Call()
		switch errno {
		case 0:
			m.Transactions(uint64(n))
			at += n
		case unix.EAGAIN:
			a.wait.Wait(c.FD, unix.POLLOUT, waitMs)
			m.Wait()
			a.err = c.Aborted()
		case unix.EINTR:
		case unix.ENOBUFS:
			at++
		default:
			a.err = stream.AnswerError(c, errno)
		}
	}
	a.n = 0
}

// call sends the answers from one on.
func (a *answers) call(c *stream.Conn, at int) (n int, errno unix.Errno) {
	const flags = unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL
	if a.n-at == 1 {
		_, errno = sock.Send(c.FD, a.buf.Bytes()[at*a.size:][:a.size], flags)
		return 1, errno
	}
	return a.batch.SendFrom(c.FD, at, a.n, flags)
}

// Close frees the memory; nil has none.
func (a *answers) Close() error {
	if a == nil {
		return nil
	}
	return a.buf.Close()
}
