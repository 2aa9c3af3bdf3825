// SPDX-License-Identifier: MIT

package baseline

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

// roundTrips begins a flow of round trips over loopback. The receiver's path answers.
func roundTrips(t *testing.T, request int, o stream.TripOptions, spoil func(*stream.Conn)) (tx *stream.Conn, asks,
	answers *stream.Meter, sent, received <-chan error) {
	return encryptedTrips(t, records.None, request, o, spoil)
}

// encryptedTrips does so with requests and answers encrypted.
func encryptedTrips(t *testing.T, how records.How, request int, o stream.TripOptions,
	spoil func(*stream.Conn)) (tx *stream.Conn, asks, answers *stream.Meter, sent, received <-chan error) {
	t.Helper()
	return tripsBy(t, RoundTrips, how, request, o, spoil)
}

// tripsBy does so by a send mode.
func tripsBy(t *testing.T, by stream.Mode, how records.How, request int, o stream.TripOptions,
	spoil func(*stream.Conn)) (tx *stream.Conn, asks, answers *stream.Meter, sent, received <-chan error) {
	t.Helper()
	payload := streamtest.Payload(t, request*o.InFlight)
	rx, tx, h := streamtest.Flow(t, payload, sock.Options{ZeroCopy: by.Has(stream.ZeroCopySocket)})
	h.MessageBytes, h.ResponseBytes = uint64(request), uint32(o.ResponseBytes)
	if how != records.None {
		h.Encrypted(how, records.TLS13)
	}
	asks, answers = new(stream.Meter), new(stream.Meter)
	asks.Trip(stream.NewTrips(request, o))
	to := stream.Options{MessageBytes: 64 << 10, Touch: stream.TouchVerify, TLS: how}
	from := stream.Options{MessageBytes: request, Trips: o, TLS: how}
	if err := errors.Join(rx.Encrypt(false, to, h, false), rx.EncryptAnswers(),
		tx.Encrypt(true, from, h, false)); err != nil {
		t.Fatal(err)
	}
	a, err := stream.NewAnswers(rx, h)
	if err != nil {
		t.Fatal(err)
	}
	answers.Answer(a)
	received = onThread(func() error {
		r, err := NewTCPReceiver(to)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := r.Attach(rx, h); err != nil {
			return err
		}
		if by.NewLender != nil {
			if err := (sock.Options{ZeroCopy: by.Has(stream.ZeroCopySocket)}).Apply(rx.FD); err != nil {
				return err
			}
			l, err := by.NewLender(stream.Options{}, a.LentBytes())
			if err != nil {
				return err
			}
			a.Lend(l)
			defer a.Close()
		}
		if spoil != nil {
			spoil(rx)
		}
		return errors.Join(r.Receive(rx, answers), a.Err(), a.Drain())
	})
	sent = onThread(func() error {
		s, err := by.NewSender(from)
		if err != nil {
			return err
		}
		defer s.Close()
		return errors.Join(s.Send(tx, payload, asks), tx.EndOfSend())
	})
	return tx, asks, answers, sent, received
}

func onThread(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- f()
	}()
	return done
}

func reached(t *testing.T, m *stream.Meter, n uint64) {
	t.Helper()
	await.Until(t, fmt.Sprintf("round trip %d", n), func() bool { return m.Snapshot().Transactions >= n })
}

func over(t *testing.T, done <-chan error) error {
	t.Helper()
	return await.Chan(t, "the path's return", done)
}

// Every request is answered by its own bytes, of all sizes, one or many in flight, also where one
// direction fills before the other is read; and both ends count the same.
func TestRoundTrips(t *testing.T) {
	for _, x := range []struct {
		request  int
		response int
		inFlight int
		rate     float64
		least    uint64
	}{{1, 1, 1, 0, 2000}, {1, 1, 64, 0, 20000}, {100, 7, 3, 0, 1000}, {7, 1000, 16, 0, 1000},
		{stream.MaxTripBytes, stream.MaxTripBytes, 16, 0, 40},
		{1, stream.MaxTripBytes, 64, 0, 100}, {1, 1, 8, 5000, 500}} {
		t.Run(fmt.Sprintf("%d-%d-%d-%g", x.request, x.response, x.inFlight, x.rate), func(t *testing.T) {
			tx, asks, answers, sent, received := roundTrips(t, x.request, stream.TripOptions{ResponseBytes: x.response,
				InFlight: x.inFlight, PerSecond: x.rate}, nil)
			reached(t, asks, x.least)
			tx.Stop()
			if err := errors.Join(over(t, sent), over(t, received)); err != nil {
				t.Fatal(err)
			}
			a, b := asks.Snapshot(), answers.Snapshot()
			if a.Transactions != b.Transactions || a.Bytes != b.Bytes ||
				a.Bytes != a.Transactions*uint64(x.request) || a.Mismatches+b.Mismatches != 0 {
				t.Errorf("asked %+v, answered %+v", a, b)
			}
			if w := asks.Times(); w.Count() != a.Transactions || w.QuantileUs(1) < w.QuantileUs(.5) ||
				w.QuantileUs(.5) <= 0 {
				t.Errorf("%d times of %d", w.Count(), a.Transactions)
			}
			if (a.PacePieces > 0) != (x.rate > 0) {
				t.Errorf("%+v at a rate of %g", a, x.rate)
			}
		})
	}
}

// It is so of requests and answers in records, by whoever makes them, and the farewell comes behind
// them.
func TestRoundTripsInRecords(t *testing.T) {
	for _, how := range []records.How{records.User, records.Kernel} {
		for _, x := range []struct {
			request, response, inFlight int
			least                       uint64
		}{{1, 1, 1, 500}, {100, 7, 3, 500}, {7, 20000, 16, 300}, {1 << 18, 1 << 18, 16, 40}} {
			t.Run(fmt.Sprintf("%s-%d-%d-%d", how, x.request, x.response, x.inFlight), func(t *testing.T) {
				if how.InKernel() && !records.Loaded() {
					t.Skip("the kernel has no kTLS, or has not loaded it (modprobe tls)")
				}
				recordsOfTrips(t, how, x.request, x.response, x.inFlight, x.least)
			})
		}
	}
}

func recordsOfTrips(t *testing.T, how records.How, request, response, inFlight int, least uint64) {
	rx := make(chan *stream.Conn, 1)
	tx, asks, answers, sent, received := encryptedTrips(t, how, request, stream.TripOptions{ResponseBytes: response,
		InFlight: inFlight}, func(c *stream.Conn) { rx <- c })
	reached(t, asks, least)
	tx.Stop()
	if err := errors.Join(over(t, sent), over(t, received)); err != nil {
		t.Fatal(err)
	}
	a, b := asks.Snapshot(), answers.Snapshot()
	if a.Transactions != b.Transactions || a.Bytes != b.Bytes || a.Mismatches+b.Mismatches != 0 {
		t.Errorf("asked %+v, answered %+v", a, b)
	}
	server := <-rx
	for name, e := range map[string]*stream.Encryption{"receiver": server.TLS, "sender": tx.TLS} {
		if k := e.KeptAnswers; (k != nil) != how.InKernel() || k != nil && (k.Version != records.TLS13 || k.Device) {
			t.Errorf("%s: the answers' keys: %+v", name, k)
		}
	}
	said := stream.Farewell{Bytes: b.Bytes, Verified: true}
	err := server.SendFarewell(said)
	heard, err2 := tx.ReadFarewell(await.Deadline())
	if err != nil || err2 != nil || heard != said {
		t.Errorf("%+v, %v, %v", heard, err, err2)
	}
}

// A rate is kept, and not exceeded.
func TestRoundTripsKeepTheirRate(t *testing.T) {
	kind.Timed(t)
	begun := time.Now()
	tx, asks, _, sent, received := roundTrips(t, 1, stream.TripOptions{ResponseBytes: 1, InFlight: 4, PerSecond: 1000},
		nil)
	reached(t, asks, 300)
	took := time.Since(begun)
	tx.Stop()
	if err := errors.Join(over(t, sent), over(t, received)); err != nil {
		t.Fatal(err)
	}
	if took < 290*time.Millisecond {
		t.Errorf("300 at 1000 per second took %v", took)
	}
}

// A peer that answers wrongly, or more than it was asked, is found out; one that goes ends the
// flow.
func TestRoundTripsWithALiar(t *testing.T) {
	say := func(b string) func(*stream.Conn) {
		return func(c *stream.Conn) { sock.Send(c.FD, []byte(b), unix.MSG_NOSIGNAL) }
	}
	tx, asks, _, sent, received := roundTrips(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: 1}, say("not it, "))
	reached(t, asks, 100)
	tx.Stop()
	if over(t, sent); asks.Snapshot().Mismatches == 0 {
		t.Error("an answer to nothing passed")
	}
	over(t, received)

	_, _, _, sent, received = roundTrips(t, 8, stream.TripOptions{ResponseBytes: 8, InFlight: 1},
		func(c *stream.Conn) { unix.Shutdown(c.FD, unix.SHUT_WR) })
	if err := over(t, sent); err == nil || !stream.BlamesPeer(err) {
		t.Errorf("a receiver that went: %v", err)
	}
	over(t, received)
}

// Round trips allocate nothing, also of modes that do not copy.
func TestRoundTripsDoNotAllocate(t *testing.T) {
	for _, by := range append([]stream.Mode{RoundTrips}, lending...) {
		t.Run(by.Name, func(t *testing.T) { testDoNotAllocate(t, by) })
	}
}

func testDoNotAllocate(t *testing.T, by stream.Mode) {
	tx, asks, _, sent, received := tripsBy(t, by, records.None, 1,
		stream.TripOptions{ResponseBytes: 1, InFlight: 4}, nil)
	reached(t, asks, 500)
	runtime.GC()
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	from := asks.Snapshot().Transactions
	reached(t, asks, from+5000)
	runtime.ReadMemStats(&b)
	if n := b.Mallocs - a.Mallocs; n > 400 { // waiting for them takes some
		t.Errorf("%d allocations in 5000 round trips", n)
	}
	tx.Stop()
	if err := errors.Join(over(t, sent), over(t, received)); err != nil {
		t.Fatal(err)
	}
}
