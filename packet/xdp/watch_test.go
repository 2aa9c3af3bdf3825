// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
)

// watched is a rung whose thread watches, as in a flow.
type watched struct {
	*receiver
	l     *ladder
	m     stream.Meter
	conn  *stream.Conn
	far   int // the sender's end of the connection
	ended chan error
}

func watchRung(t *testing.T, w way) *watched {
	t.Helper()
	x := &watched{l: newLadder(t), ended: make(chan error, 1)}
	var err error
	if x.receiver, err = newReceiver("a rung", w)(stream.Options{MessageBytes: 18,
		NIC: stream.NICQueue{Dev: x.l.pair.SUT.Dev}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	x.frameBytes = x.l.shortest()
	in(t, x.l.pair.SUT.Netns, func() (any, error) { return nil, x.place(x.l.Tuples) })
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	x.conn, x.far = &stream.Conn{FD: fds[0]}, fds[1]
	go func() { x.ended <- x.Receive(x.conn, &x.m) }()
	return x
}

// takesBack gives the sender's interface a program, without which it takes no frames.
func (x *watched) takesBack(t *testing.T) {
	t.Helper()
	r := in(t, x.l.pair.TG.Netns, func() (*Rung, error) {
		return OpenRung(Options{Dev: x.l.pair.TG.Dev, Tuples: x.l.Tuples, FrameBytes: MinFrameBytes, Touch: TouchRead})
	})
	t.Cleanup(func() { r.Close() })
}

// send has frames come, and returns how many got to the receiver's interface.
func (x *watched) send(t *testing.T) uint64 {
	t.Helper()
	before := x.l.stats(x.l.pair.TG).TxDropped
	g := x.l.generator(GeneratorOptions{Frames: someFrames})
	in(t, x.l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
	return someFrames - (x.l.stats(x.l.pair.TG).TxDropped - before)
}

// While a flow lasts whoever asks gets what the program has counted by then, and the path's thread
// does nothing for it. Counts only grow, also for several that ask at once; nobody reads a rung
// that is closed.
func TestIntegrationCountedByTheProgram(t *testing.T) {
	for name, w := range map[string]way{"drop": {xdp: true, action: Drop}, "send back": {xdp: true, action: TX}} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			x := watchRung(t, w)
			x.takesBack(t)
			stop, asked := make(chan struct{}), sync.WaitGroup{}
			for range 3 {
				asked.Go(func() {
					for last := uint64(0); ; {
						n := x.m.Snapshot().Packets
						if n < last {
							t.Errorf("%d packets after %d", n, last)
						}
						if last = n; closed(stop) {
							return
						}
					}
				})
			}
			came := x.send(t)
			waitFor(t, "all that came, while nobody has ended the flow", func() bool {
				return x.m.Snapshot().Packets+refusedOf(x.receiver) == came
			})
			n, now := x.m.Snapshot().Waits, time.Now()
			if most := 100 + uint64(now.Sub(began)/wakeEvery); n > most {
				t.Errorf("the path's thread woke %d times, want %d at most", n, most)
			}
			b, err := stream.Ended{Packets: came}.AppendBinary(nil)
			if _, werr := unix.Write(x.far, b); err != nil || werr != nil {
				t.Fatal(err, werr)
			}
			if err := <-x.ended; err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			close(stop)
			asked.Wait()
			x.refresh(&x.m) // one that was under way
			if n := x.m.Snapshot().Packets; n == 0 || n > came {
				t.Errorf("%d packets, and %d came", n, came)
			}
		})
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func refusedOf(r *receiver) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.after.refused
}

// What cannot be read while the flow lasts ends it, with the reason.
func TestIntegrationCountsCannotBeRead(t *testing.T) {
	x := watchRung(t, way{xdp: true, action: TX})
	waitFor(t, "the thread", func() bool { return x.m.Snapshot().Waits > 0 })
	x.mu.Lock()
	x.after.route.Close()
	x.mu.Unlock()
	x.m.Snapshot()
	if err := await.Chan(t, "the flow ends", x.ended); !errors.Is(err, unix.EBADF) {
		t.Errorf("%v", err)
	}
}
