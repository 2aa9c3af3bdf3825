// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/uringzc"
	"golang.org/x/sys/unix"
)

// lending are the modes of round trips that send without a copy, and need no NIC for it.
var lending = []stream.Mode{TripsOf(msgzc.TX), TripsOf(uringzc.TX)}

// Requests and answers that are sent without a copy are right, of all sizes, also where memory is
// used again and again while one direction is full; and the kernel tells of each byte what it did
// with it: over loopback, it copied it.
func TestLentRoundTrips(t *testing.T) {
	for _, by := range lending {
		for _, x := range []struct {
			request, response, inFlight int
			rate                        float64
			least                       uint64
		}{{1, 1, 1, 0, 500}, {4096, 8192, 1, 0, 1000}, {100, 7, 3, 0, 1000}, {7, 1000, 16, 0, 5000},
			{stream.MaxTripBytes, stream.MaxTripBytes, 16, 0, 100}, {1, stream.MaxTripBytes, 64, 0, 100},
			{8192, 64, 8, 5000, 500}} {
			name := fmt.Sprintf("%s-%d-%d-%d-%g", by.Name, x.request, x.response, x.inFlight, x.rate)
			t.Run(name, func(t *testing.T) {
				needs(t, by)
				tx, asks, answers, sent, received := tripsBy(t, by, records.None, x.request, stream.TripOptions{
					ResponseBytes: x.response, InFlight: x.inFlight, PerSecond: x.rate}, nil)
				a := answers.Answers()
				reached(t, asks, x.least)
				tx.Stop()
				if err := errors.Join(over(t, sent), over(t, received)); err != nil {
					t.Fatal(err)
				}
				q, r, s := asks.Snapshot(), answers.Snapshot(), a.Sent.Snapshot()
				if q.Transactions != r.Transactions || q.Bytes != q.Transactions*uint64(x.request) ||
					s.Bytes != r.Transactions*uint64(x.response) || q.Mismatches+r.Mismatches != 0 {
					t.Errorf("asked %+v, answered %+v, sent %+v", q, r, s)
				}
				untold := uint64(0)
				for _, f := range a.Evidence().Figures {
					if f.Name == uringzc.UntoldFigure {
						untold = uint64(f.Value)
					}
				}
				if s.ZeroCopyBytes+s.CopiedBytes+untold != s.Bytes || s.CopiedBytes == 0 || s.Completions == 0 ||
					q.CopiedBytes == 0 || q.Completions == 0 {
					t.Errorf("%d untold; answers %+v; requests %+v", untold, s, q)
				}
			})
		}
	}
}

// An answer is not written where the kernel still has an older one: a peer that takes nothing ends
// that only when it reads.
func TestLentAnswersKeepTheirMemory(t *testing.T) {
	for _, by := range lending {
		t.Run(by.Name, func(t *testing.T) {
			needs(t, by)
			testLentAnswersKeepTheirMemory(t, by)
		})
	}
}

// slowLender lends to a kernel that lets go of nothing until it is waited for.
type slowLender struct {
	stream.Lender
	holds  bool
	wrote  map[int]bool // offsets
	waited int
}

func (l *slowLender) LetGo() uint64 {
	if l.holds {
		return 0
	}
	return l.Lender.LetGo()
}

func (l *slowLender) Room(off, n int) ([]byte, error) {
	if l.holds && l.wrote[off] {
		return nil, errors.New("written while the kernel has it")
	}
	l.wrote[off] = true
	return l.Lender.Room(off, n)
}

func (l *slowLender) Await(c *stream.Conn, m *stream.Meter) error {
	l.waited++
	l.holds = l.waited < 3
	return l.Lender.Await(c, m)
}

func testLentAnswersKeepTheirMemory(t *testing.T, by stream.Mode) {
	const size = 256 << 10
	p := streamtest.Payload(t, size)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{ZeroCopy: true})
	h.MessageBytes, h.ResponseBytes = size, size
	if err := (sock.Options{ZeroCopy: true}).Apply(rx.FD); err != nil {
		t.Fatal(err)
	}
	drained := streamtest.Sink(tx)
	if err := <-onThread(func() error {
		a, err := stream.NewAnswers(rx, h)
		if err != nil {
			return err
		}
		l, err := by.NewLender(stream.Options{}, 4*size)
		if err != nil {
			return err
		}
		slow := &slowLender{Lender: l, holds: true, wrote: map[int]bool{}}
		a.Lend(slow)
		m := new(stream.Meter)
		m.Answer(a)
		touch := stream.NewToucher(stream.TouchNone, p.PeriodBytes())
		for k := range uint64(6) {
			touch.Next(p.Message(k), m)
			m.Bytes(size)
		}
		if slow.waited < 3 || len(slow.wrote) != 4 {
			t.Errorf("it waited %d times, and wrote at %d offsets", slow.waited, len(slow.wrote))
		}
		err = errors.Join(a.Err(), a.Drain(), unix.Shutdown(rx.FD, unix.SHUT_WR), a.Close())
		return err
	}); err != nil {
		t.Error(err)
	}
	<-drained
}

// A receiver whose answers are all lent sleeps until the kernel lets go of some, also while the
// socket has room for more: to wait for that room would be to spin.
func TestLentAnswersSleep(t *testing.T) {
	kind.Timed(t)
	for _, by := range lending {
		t.Run(by.Name, func(t *testing.T) {
			needs(t, by)
			testLentAnswersSleep(t, by)
		})
	}
}

func testLentAnswersSleep(t *testing.T, by stream.Mode) {
	const size, window, most = 16 << 10, 400 * time.Millisecond, 200 // waits; signals cut some short
	p := streamtest.Payload(t, size)
	rx, tx, h := streamtest.Flow(t, p, sock.Options{RcvBuf: 32 << 10})
	h.MessageBytes, h.ResponseBytes = size, size
	if err := (sock.Options{ZeroCopy: true, SndBuf: 2 << 20}).Apply(rx.FD); err != nil {
		t.Fatal(err)
	}
	a, err := stream.NewAnswers(rx, h)
	if err != nil {
		t.Fatal(err)
	}
	done := onThread(func() error {
		l, err := by.NewLender(stream.Options{}, 16*size)
		if err != nil {
			return err
		}
		a.Lend(l)
		m := new(stream.Meter)
		m.Answer(a)
		touch := stream.NewToucher(stream.TouchNone, p.PeriodBytes())
		for k := range uint64(24) {
			touch.Next(p.Message(k), m)
			m.Bytes(size)
		}
		return errors.Join(a.Err(), a.Drain(), unix.Shutdown(rx.FD, unix.SHUT_WR), a.Close())
	})
	// The peer takes nothing, so what the kernel holds fills the lender's memory, not the socket.
	await.Until(t, "answers fill their memory", func() bool {
		s := a.Sent.Snapshot()
		return s.Bytes-s.ZeroCopyBytes-s.CopiedBytes > 15*size && s.Waits > 0
	})
	before := a.Sent.Snapshot()
	time.Sleep(window)
	after := a.Sent.Snapshot()
	if n := after.Waits - before.Waits; n > most || after.Bytes == 24*size {
		t.Errorf("%d waits in %v, most %d; before %+v, after %+v", n, window, most, before, after)
	}
	if room, _ := new(sock.Waiter).Wait(rx.FD, unix.POLLOUT, 0); room&unix.POLLOUT == 0 {
		t.Error("the socket is full: this is no test")
	}
	drained := streamtest.Sink(tx)
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-drained
}

// needs skips a test of a mode that this kernel does not have.
func needs(t *testing.T, m stream.Mode) {
	t.Helper()
	err := m.Support("")
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		t.Skipf("%v; %s", err, fault.Fix(err))
	} else if err != nil {
		t.Fatal(err)
	}
}
