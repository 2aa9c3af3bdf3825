// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
)

// A receiver whose buffers are of another size than the sender's datagrams says so, with both.
func TestOtherSizeIsRefused(t *testing.T) {
	all, options := withEngines(rxModes...)
	for i, m := range all {
		o := open(t, "127.0.0.1:0", 1, 1400, sock.Options{})
		opt := options[i]
		opt.MessageBytes = 64
		err := ended(t, onThread(func() error {
			r, err := m.NewReceiver(opt)
			if err != nil {
				return err
			}
			defer r.Close()
			return r.Attach(o.rx[0], o.hello[0])
		}))
		if err == nil || !strings.Contains(err.Error(), "datagrams of 1400 bytes, but 64 are expected") ||
			!strings.Contains(fault.Fix(err), "--message-size") {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// A socket buffer that is full time and again costs no datagram, and none its place: what the
// kernel did not take is sent again, and before what follows.
func TestFullSocketKeepsOrder(t *testing.T) {
	tx, txo := withEngines(txModes...)
	for i, s := range tx {
		const size = 1400
		o := open(t, "127.0.0.1:0", 1, size, sock.Options{RcvBuf: 16 << 20, SndBuf: 8 << 10})
		txo[i].MessageBytes = size
		p, err := stream.NewPayload(size)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var m stream.Meter
		done := onThread(func() error {
			path, err := s.NewSender(txo[i])
			if err != nil {
				return err
			}
			defer path.Close()
			return path.Send(o.tx[0], p, &m)
		})
		a, got := newAccount(size), new(stream.Meter)
		a.key = o.rx[0].Key
		b := make([]byte, 2*size)
		var w sock.Waiter
		for n := 0; n < 3000; {
			w.Wait(o.rx[0].FD, unix.POLLIN, 100)
			for n < 3000 { // a sender that is faster never leaves the queue empty
				l, errno := sock.Recv(o.rx[0].FD, b, unix.MSG_DONTWAIT)
				if errno != 0 {
					break
				}
				if n++; !a.take(b[:l], got) {
					t.Fatalf("%s: datagram %d is wrong", s.Name, n)
				}
			}
		}
		o.tx[0].Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Errorf("%s: %v", s.Name, err)
		}
		if c := got.Snapshot(); c.OutOfOrder+c.Duplicated+c.Corrupted != 0 {
			t.Errorf("%s: %+v", s.Name, c)
		}
	}
}

// A path ends when the run is called off, and when its sender breaks off.
func TestPathsEnd(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	for i, m := range rx {
		for _, broken := range []bool{false, true} {
			o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
			opt := rxo[i]
			opt.MessageBytes = 64
			done := onThread(func() error {
				r, err := m.NewReceiver(opt)
				if err != nil {
					return err
				}
				defer r.Close()
				if err := r.Attach(o.rx[0], o.hello[0]); err != nil {
					return err
				}
				return r.Receive(o.rx[0], new(stream.Meter))
			})
			await.Pause("it is to be under way", 10*time.Millisecond)
			if broken {
				o.tx[0].Close()
			} else {
				o.rx[0].Abort()
			}
			if err := ended(t, done); !stream.BlamesPeer(err) || broken == errors.Is(err, stream.ErrAborted) {
				t.Errorf("%s, broken off %v: %v", m.Name, broken, err)
			}
		}
	}
	tx, txo := withEngines(txModes...)
	for i, m := range tx {
		o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
		opt := txo[i]
		opt.MessageBytes = 64
		p, err := stream.NewPayload(64)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		done := onThread(func() error {
			s, err := m.NewSender(opt)
			if err != nil {
				return err
			}
			defer s.Close()
			return s.Send(o.tx[0], p, new(stream.Meter))
		})
		await.Pause("it is to be under way", 10*time.Millisecond)
		o.tx[0].Abort()
		if err := ended(t, done); !errors.Is(err, stream.ErrAborted) {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// Calls do not allocate.
func TestPathsDoNotAllocate(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	tx, txo := withEngines(txModes...)
	for i := range max(len(rx), len(tx)) {
		r, s := i%len(rx), i%len(tx)
		t.Run(rx[r].Name+" from "+tx[s].Name, func(t *testing.T) {
			o := open(t, "127.0.0.1:0", 1, 64, sock.Options{})
			ro, so := rxo[r], txo[s]
			ro.MessageBytes, so.MessageBytes = 64, 64
			p, err := stream.NewPayload(64)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var mr, ms stream.Meter
			received := onThread(func() error {
				path, err := rx[r].NewReceiver(ro)
				if err != nil {
					return err
				}
				defer path.Close()
				if err := path.Attach(o.rx[0], o.hello[0]); err != nil {
					return err
				}
				return path.Receive(o.rx[0], &mr)
			})
			sending := onThread(func() error {
				path, err := tx[s].NewSender(so)
				if err != nil {
					return err
				}
				defer path.Close()
				return path.Send(o.tx[0], p, &ms)
			})
			calls := func() uint64 { return min(mr.Snapshot().Calls, ms.Snapshot().Calls) }
			await.Until(t, "it is under way", func() bool { return calls() > 50 })
			runtime.GC()
			c0, n0 := calls(), mallocs()
			await.Until(t, "a thousand calls are made", func() bool { return calls() > c0+1000 })
			n, c := mallocs()-n0, calls()-c0
			if n > c/20 { // the runtime itself allocates now and then
				t.Errorf("%d allocations in %d calls", n, c)
			}
			o.tx[0].Stop()
			if err := ended(t, sending); err != nil {
				t.Error(err)
			}
			o.tx[0].EndOfSend()
			if err := ended(t, received); err != nil {
				t.Error(err)
			}
			if got := mr.Snapshot(); got.Corrupted != 0 || got.Packets > ms.Snapshot().Packets {
				t.Errorf("received %+v of %+v", got, ms.Snapshot())
			}
		})
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
