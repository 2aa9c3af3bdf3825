// SPDX-License-Identifier: MIT

package stream

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// queue is a listener whose connections the test makes.
type queue chan net.Conn

func (q queue) Accept() (net.Conn, error) {
	if c, ok := <-q; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (q queue) Close() error   { close(q); return nil }
func (q queue) Addr() net.Addr { return nil }

// patient is a port with room for so many that are in their handshake, and with the limits that
// users have; come makes one more connection. It is for a test with a clock of its own.
func patient(t *testing.T, room int) (p *Port, come func() net.Conn) {
	t.Helper()
	handshake, hello := handshakeTime, helloTime
	handshakeTime, helloTime = usually.handshake, usually.hello
	q := make(queue, 1<<14) // as many wait in it
	p = &Port{ln: q, cookie: NewCookie(), room: room, flow: make(chan accepted, 1), taken: make([]bool, 1), left: 1}
	go p.acceptLoop(p.ln)
	t.Cleanup(func() {
		p.Close()
		synctest.Wait()
		handshakeTime, helloTime = handshake, hello
	})
	return p, func() net.Conn {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close() })
		q <- far
		return near
	}
}

// closed waits until the port has closed c, and says when.
func closed(c net.Conn) time.Time {
	c.Read(make([]byte, 1))
	return time.Now()
}

// One that says a byte at a time, or nothing, is closed after the time that a hello may take.
func TestSlowStranger(t *testing.T) {
	for name, says := range map[string]bool{"silent": false, "slow": true} {
		synctest.Test(t, func(t *testing.T) {
			p, come := patient(t, 8)
			c, begun := come(), time.Now()
			go func() {
				for says {
					if _, err := c.Write([]byte("Z")); err != nil {
						return
					}
					time.Sleep(handshakeTime / 10)
				}
			}()
			if d := closed(c).Sub(begun); d != handshakeTime || d > soon {
				t.Errorf("%s: closed after %v", name, d)
			}
			if synctest.Wait(); p.Strangers() != 1 {
				t.Errorf("%s: %d strangers", name, p.Strangers())
			}
			time.Sleep(handshakeTime) // until it has noticed
		})
	}
}

// Where there is no room those that came first go first, and none of them before it had its time.
func TestFirstGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, come := patient(t, 8)
		begun := time.Now()
		var first [8]net.Conn
		for i := range first {
			first[i] = come()
			time.Sleep(helloTime / 20)
		}
		ninth := come()
		out := closed(first[0])
		if d := out.Sub(begun); d < helloTime || d > helloTime+helloTime/20 {
			t.Errorf("the first was closed after %v", d)
		}
		for _, c := range first[1:] {
			c.Close()
		}
		if d := closed(ninth).Sub(out); d != handshakeTime { // there is room again
			t.Errorf("the last was closed %v after it had come in", d)
		}
	})
}

// soon is long before a sender gives up (15 s).
const soon = 10 * time.Second

// Behind thousands of silent connections the last is heard soon.
func TestBehindACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const crowd = 10_000
		_, come := patient(t, 4096)
		for range crowd {
			come()
		}
		last, begun := come(), time.Now()
		if _, err := last.Write(make([]byte, helloSize)); err != nil { // no hello: it is told so at once
			t.Error(err)
		}
		if d := closed(last).Sub(begun); d > soon {
			t.Errorf("behind %d connections the last was heard after %v", crowd, d)
		}
	})
}
