package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/wire"
)

func TestSleepUntil(t *testing.T) {
	for _, d := range []int64{-5 * ms, 0, 30 * ms} {
		began := counter.Monotonic()
		if err := sleepUntil(context.Background(), began+d); err != nil {
			t.Fatal(err)
		}
		if slept := counter.Monotonic() - began; slept < d || slept > max(d, 0)+500*ms {
			t.Errorf("slept %d ns, not %d", slept, d)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stream.ErrAborted)
	for _, d := range []int64{-1, int64(time.Hour)} {
		if err := sleepUntil(ctx, counter.Monotonic()+d); err != stream.ErrAborted {
			t.Errorf("called off: %v", err)
		}
	}
}

// The shorter wish counts; without one the flow lasts as long as the default.
func TestDurationIsAgreed(t *testing.T) {
	const long = 60 * time.Second
	for _, c := range []struct{ rx, tx time.Duration }{
		{200 * time.Millisecond, 0}, {0, 200 * time.Millisecond}, {200 * time.Millisecond, long}, {long, 200 * time.Millisecond}, {200 * time.Millisecond, 200 * time.Millisecond},
	} {
		r, s := runBoth(t, rxSpec("tcp", mib), txSpec("tcp", mib), short(c.rx), short(c.tx))
		checkMoved(t, r, s, "tcp")
		for _, res := range []wire.EndResult{r, s} {
			if d := time.Duration(res.FlowNs); d < 195*time.Millisecond || d > 5*time.Second {
				t.Errorf("receiver wishes %v, sender %v: lasted %v", c.rx, c.tx, d)
			}
		}
	}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		e := &End{spec: wire.EndSpec{Role: role}}
		if got := (&run{end: e}).stopNs(); got != int64(DefaultDuration) {
			t.Errorf("%s without any wish: %v", role, time.Duration(got))
		}
	}
}

// errBusy is an attempt that other work on this machine spoiled: the edges came
// late.
var errBusy = errors.New("the machine has other work")

// A flow on a schedule starts, is measured and stops when told.
func TestScheduleIsHonoured(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) {
			var err error
			for range 3 {
				if err = onSchedule(t, tx); !errors.Is(err, errBusy) {
					break
				}
			}
			if errors.Is(err, errBusy) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func onSchedule(t *testing.T, tx string) error {
	rxEnd, txEnd := openBoth(t, rxSpec("tcp", mib), txSpec(tx, mib))
	now := counter.Monotonic() + 50*ms
	sch := wire.Schedule{StartNs: now, FromNs: now + 150*ms, ToNs: now + 450*ms, StopNs: now + 550*ms, PeerWaitNs: 5000 * ms, StallNs: 3000 * ms, MaxCopiedFrac: all}
	r, s := runEnds(t, rxEnd, txEnd, sch, sch)
	for _, res := range []wire.EndResult{r, s} {
		early, late := res.FromNs-sch.FromNs, res.ToNs-sch.ToNs
		if res.FromNs != 0 && (early < 0 || late < 0) {
			t.Errorf("%s: the window began %d us late and ended %d us late", tx, early/1000, late/1000)
		}
		switch w := res.Window.Bytes; {
		case res.FromNs != 0 && (early > 50*ms || late > 50*ms):
			return fmt.Errorf("%w: the window began %d us late and ended %d us late", errBusy, early/1000, late/1000)
		case res.Verdict != results.OK:
			return fmt.Errorf("%s: %s", res.Verdict, res.Reason)
		case w == 0 || w >= res.Total.Bytes || *res.Host.Bytes != w:
			return fmt.Errorf("%d bytes in the window of %d in all; the host says %d", w, res.Total.Bytes, *res.Host.Bytes)
		case deref(res.Host.DurationS) < 0.2 || deref(res.Host.DurationS) > 0.4:
			return fmt.Errorf("a window of %v s", deref(res.Host.DurationS))
		}
	}
	if s.FlowNs < 400*ms || s.FlowNs > 700*ms {
		return fmt.Errorf("the flow lasted %v, not 550 ms", time.Duration(s.FlowNs))
	}
	return nil
}

func TestReceiverWaitsNoLongerThanTold(t *testing.T) {
	r := open(t, rxSpec("tcp", mib))
	res := within(t, background(context.Background(), r, wire.Schedule{PeerWaitNs: 100 * ms}), 2*time.Second)
	if res.Verdict != results.Failed || !strings.Contains(res.Reason, "wait for the sender") || res.Fix == "" || res.FlowNs != 0 {
		t.Errorf("%+v", res)
	}
}

func TestSenderWaitsNoLongerThanTold(t *testing.T) {
	res := within(t, background(context.Background(), open(t, txSpec("tcp", mib)), wire.Schedule{PeerWaitNs: 100 * ms}), 2*time.Second)
	if res.Verdict != results.Failed || !strings.Contains(res.Reason, "connection refused") || !strings.Contains(res.Fix, "start the receiver") {
		t.Errorf("%s %q; fix %q", res.Verdict, res.Reason, res.Fix)
	}
}

// A sender that never ends the flow is ended after the grace.
func TestGraceOfTheReceiver(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		r := open(t, rxSpec(rx, mib))
		sch := short(100 * time.Millisecond)
		sch.GraceNs = 200 * ms
		res := background(context.Background(), r, sch)
		sendForEver(t, r)
		got := within(t, res, 2*time.Second)
		if got.Verdict != results.Failed || !strings.Contains(got.Reason, "did not end the flow within 200ms") || strings.Contains(got.Reason, "\n") {
			t.Errorf("%s: %s %q", rx, got.Verdict, got.Reason)
		}
	}
}

// A receiver that stops reading before the end does not hold a sender for ever.
func TestGraceOfTheSender(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) {
			t.Parallel()
			p := peerPort(t)
			s := txSpec(tx, mib)
			s.Addr = p.Addr().String()
			sch := short(200 * time.Millisecond)
			sch.GraceNs = 300 * ms
			res := background(context.Background(), open(t, s), sch)
			receiveAt(t, p, stream.Welcome{}) // and never reads
			got := within(t, res, 3*time.Second)
			if got.Verdict != results.Failed || got.Reason == "" || strings.Contains(got.Reason, "\n") || got.Fix == "" {
				t.Errorf("%s %q; fix %q", got.Verdict, got.Reason, got.Fix)
			}
			t.Logf("%s", fmt.Sprintf("%s; %s", got.Reason, got.Fix))
		})
	}
}
