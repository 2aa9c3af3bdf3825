// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
)

// tripping begins round trips of so many bytes over loopback, whose receiver's end is the test's.
func tripping(t *testing.T, size int, o stream.TripOptions) (rx, tx *stream.Conn, h stream.Hello, m *stream.Meter,
	sent <-chan error) {
	t.Helper()
	all := open(t, "127.0.0.1:0", 1, size, sock.Options{})
	p, err := stream.NewPayload(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	rx, tx, h, m = all.rx[0], all.tx[0], all.hello[0], new(stream.Meter)
	h.ResponseBytes = uint32(o.ResponseBytes)
	m.TripPackets(stream.NewPacketTrips(size, o))
	sent = onThread(func() error {
		s, err := newTripSender(stream.Options{MessageBytes: size, Trips: o})
		if err != nil {
			return err
		}
		defer s.Close()
		return s.Send(tx, p, m)
	})
	return rx, tx, h, m, sent
}

// answering reads requests and gives each to answer, with an answer that is right, until done.
func answering(t *testing.T, rx *stream.Conn, h stream.Hello, done *bool, answer func(seq uint64, right []byte)) {
	t.Helper()
	if err := sock.Blocking(rx.FD, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	a, err := newAnswers(rx, h)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	buf := make([]byte, h.MessageBytes+1)
	for limit := await.Deadline(); !*done && time.Now().Before(limit); {
		n, errno := sock.Recv(rx.FD, buf, 0)
		if errno != 0 {
			continue
		}
		seq, ok := parse(buf[:n], rx.Key)
		if !ok || n != int(h.MessageBytes) {
			t.Fatalf("a request of %d bytes, %v", n, ok)
		}
		a.add(rx, seq, buf[:n], new(stream.Meter))
		a.n = 0
		answer(seq, a.buf.Bytes()[:a.size])
	}
}

func reply(c *stream.Conn, p []byte) { sock.Send(c.FD, p, unix.MSG_NOSIGNAL) }

// Of requests some are answered, some are not, some twice and some too late: each is counted as
// what it is, none is sent again, and the flow ends.
func TestTripsThatAreLost(t *testing.T) {
	for _, inFlight := range []int{1, 8} {
		o := stream.TripOptions{ResponseBytes: 40, InFlight: inFlight, Timeout: 10 * time.Millisecond}
		rx, tx, h, m, sent := tripping(t, 18, o)
		var done bool
		var answered, unanswered, twice, late int
		seen := map[uint64]bool{}
		answering(t, rx, h, &done, func(seq uint64, right []byte) {
			if seen[seq] {
				t.Errorf("request %d came twice", seq)
			}
			seen[seq] = true
			switch {
			case seq >= 400:
				reply(rx, right)
				answered++
				tx.Stop()
				done = true
			case seq%50 == 7:
				unanswered++
			case seq%50 == 17:
				reply(rx, right)
				reply(rx, right)
				answered++
				twice++
			case seq%50 == 27:
				await.Pause("the answer is to be too late", 15*time.Millisecond)
				reply(rx, right)
				late++
			default:
				reply(rx, right)
				answered++
			}
		})
		// Whatever is still in flight is given up.
		if err := ended(t, sent); err != nil {
			t.Fatal(err)
		}
		c := m.Snapshot()
		if c.Transactions+c.TripsLost != c.Packets || c.Packets != tx.Sent || int(c.TripsLost) < unanswered+late ||
			int(c.AnswersLate) < twice || c.Corrupted != 0 {
			t.Errorf("%d in flight: %+v; %d answered, %d not, %d twice, %d late", inFlight, c, answered, unanswered,
				twice, late)
		}
		if w := m.Times(); w.Count() != c.Packets || w.QuantileUs(1) < 10e3*(1-stream.TimesError) {
			t.Errorf("%d times of %d, the longest %g us", w.Count(), c.Packets, w.QuantileUs(1))
		}
	}
}

// What is no answer to a request is corrupted, whatever is wrong with it, and ends no request.
func TestTripsWithALiar(t *testing.T) {
	wrong := []func(p []byte) []byte{
		func(p []byte) []byte { return p[:len(p)-1] },
		func(p []byte) []byte { return append(p, 0) },
		func(p []byte) []byte { p[3] ^= 1; return p },
		func(p []byte) []byte { p[9] ^= 1; return p },
		func(p []byte) []byte { p[headerBytes] ^= 1; return p },
		func(p []byte) []byte { p[len(p)-1] ^= 1; return p },
	}
	rx, tx, h, m, sent := tripping(t, 64, stream.TripOptions{ResponseBytes: 200, InFlight: 1,
		Timeout: 5 * time.Millisecond})
	var done bool
	n := 0
	answering(t, rx, h, &done, func(seq uint64, right []byte) {
		if n < len(wrong) {
			reply(rx, wrong[n](append([]byte(nil), right...)))
			n++
			return
		}
		ahead := append([]byte(nil), right...) // of a request that was not sent
		put(ahead, answerKey(rx.Key), seq+1000)
		reply(rx, ahead)
		// Who is told to stop has answers that are late for no longer than a moment.
		await.Until(t, "all that is wrong is counted", func() bool { return int(m.Snapshot().Corrupted) > len(wrong) })
		reply(rx, right)
		tx.Stop()
		done = true
	})
	if err := ended(t, sent); err != nil && !errors.Is(err, stream.ErrAborted) {
		t.Fatal(err)
	}
	if c := m.Snapshot(); int(c.Corrupted) != len(wrong)+1 || int(c.TripsLost) < len(wrong) {
		t.Errorf("%+v, want %d corrupted", c, len(wrong)+1)
	}
}

// A request without an answer is waited for once, although other datagrams come meanwhile and end
// calls that wait, with one in flight and with two. One that waits anew takes 1.75 times as long as
// it may, each time. Beside two busy loops on two CPUs none of 80 waits was 1.3 times as long, so
// fewer than one of 25 is; all of four tries are in fewer than one run of 300,000. The runtime's
// preemption, which ends calls, too, is off.
func TestTripsAreWaitedForOnce(t *testing.T) {
	kind.Timed(t)
	const off = "asyncpreemptoff=1"
	if os.Getenv("GODEBUG") != off {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
		// so many that timers do not wait for those that sleep
		cmd.Env = append(os.Environ(), "GODEBUG="+off, "GOMAXPROCS=8")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	const timeout = 100 * time.Millisecond
	for _, inFlight := range []int{1, 2} {
		least := math.Inf(1)
		for tries := 0; tries < 4 && least > 1.3; tries++ {
			times := longestTrip(t, inFlight, timeout)
			t.Logf("%d in flight: %.2f times as long", inFlight, times)
			least = min(least, times)
		}
		if least < 1-stream.TimesError || least > 1.3 {
			t.Errorf("%d in flight: an answer that was to be given up after %v was waited for %.2f times as long",
				inFlight, timeout, least)
		}
	}
}

// longestTrip makes round trips whose first request is not answered, with junk instead near the end
// of its time, and is for how long that one was waited for, in timeouts.
func longestTrip(t *testing.T, inFlight int, timeout time.Duration) float64 {
	t.Helper()
	rx, tx, h, m, sent := tripping(t, 18, stream.TripOptions{ResponseBytes: 18, InFlight: inFlight, Timeout: timeout})
	var done bool
	var ends sync.WaitGroup
	answering(t, rx, h, &done, func(seq uint64, right []byte) {
		if seq == 0 {
			junk := append([]byte(nil), right[:len(right)-1]...)
			ends.Go(func() {
				await.Pause("the junk is to end a wait that has not long to go", timeout*3/4)
				reply(rx, junk)
			})
			return
		}
		if m.Snapshot().TripsLost > 0 {
			tx.Stop()
			done = true
		}
		reply(rx, right)
	})
	ends.Wait()
	if err := ended(t, sent); err != nil {
		t.Fatal(err)
	}
	c := m.Snapshot()
	if c.TripsLost == 0 {
		t.Errorf("%d in flight: %+v", inFlight, c)
	}
	if c.Corrupted == 0 { // the junk came when all was over, and has ended no call
		return math.Inf(1)
	}
	return m.Times().QuantileUs(1) / float64(timeout.Microseconds())
}
