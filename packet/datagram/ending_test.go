// SPDX-License-Identifier: MIT

package datagram

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
)

// junk sends datagrams without end until it is stopped: each has the bytes that next says.
func junk(t *testing.T, fd int, next func() []byte) (stop func()) {
	t.Helper()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			default:
			}
			await.Pause("far less than a receiver waits for more", time.Millisecond)
			_, _ = sock.Send(fd, next(), 0)
		}
	}()
	return func() { close(over); <-done }
}

// What a flow's address and port go on to send, be it not of the flow or there already, does not
// hide the end from any receiver, and is counted as what it is.
func TestJunkDoesNotHideTheEnd(t *testing.T) {
	all, options := withEngines(rxModes...)
	for i, mode := range all {
		for _, again := range []bool{false, true} {
			o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
			opt := options[i]
			opt.MessageBytes = 64
			var m stream.Meter
			done := onThread(func() error {
				r, err := mode.NewReceiver(opt)
				if err != nil {
					return err
				}
				defer r.Close()
				if err := r.Attach(o.rx[0], o.hello[0]); err != nil {
					return err
				}
				return r.Receive(o.rx[0], &m)
			})
			tx, b := o.tx[0], make([]byte, 64)
			for seq := range uint64(3) {
				put(b, tx.Key, seq)
				if _, errno := sock.Send(tx.FD, b, 0); errno != 0 {
					t.Fatal(errno)
				}
			}
			if !again {
				put(b, tx.Key+1, 7)
			}
			stop := junk(t, tx.FD, func() []byte { return b })
			await.Until(t, "the flow's datagrams come, and junk", func() bool {
				c := m.Snapshot()
				return c.Packets >= 3 && c.Corrupted+c.Duplicated > 0
			})
			tx.Sent = 5 // two were lost
			if err := tx.EndOfSend(); err != nil {
				t.Fatal(err)
			}
			err := ended(t, done)
			stop()
			c := m.Snapshot()
			if err != nil || c.Packets-c.Duplicated != 3 || again != (c.Duplicated > 0) ||
				again == (c.Corrupted > 0) || o.rx[0].Sent != 5 {
				t.Errorf("%s, again %v: %v, %+v, %d sent", mode.Name, again, err, c, o.rx[0].Sent)
			}
		}
	}
}
