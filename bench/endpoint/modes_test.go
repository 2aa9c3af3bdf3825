// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/pairwise"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// Every receive mode takes what every send mode sends: each byte, in its place,
// in messages of all sizes, over IPv4 and IPv6. The short run has every pair of two
// of these, the long one all combinations.
func TestAllModesMovePayload(t *testing.T) {
	sizes := []int{1, 64, 4 * kib, 4*kib + 1, 128 * kib, mib, 64 * mib}
	ips := []string{"127.0.0.1:0", "[::1]:0"}
	receivers, senders := runnable(t, stream.RX), runnable(t, stream.TX)
	rows := pairwise.Cover
	if long.Wanted() {
		rows = pairwise.Product
	}
	for _, row := range rows(len(sizes), len(ips), len(receivers), len(senders)) {
		size, ip, rx, tx := sizes[row[0]], ips[row[1]], receivers[row[2]], senders[row[3]]
		t.Run(fmt.Sprintf("%d/%s/%s-%s", size, ip, rx, tx), func(t *testing.T) {
			spec := rxSpec(rx, size)
			spec.Addr = ip
			r, s := runBoth(t, spec, txSpec(tx, size), some(size), some(size))
			checkMoved(t, r, s, tx)
		})
	}
}

// some is a schedule of a flow of two messages, or many small ones: by its bytes, as a busy
// machine may move none in any short time.
func some(message int) wire.Schedule { return bounded(uint64(max(2*message, 64*kib)), time.Hour) }

// checkMoved checks what must hold for every good flow.
func checkMoved(t testing.TB, r, s wire.EndResult, tx string) {
	t.Helper()
	if r.Verdict != results.OK || s.Verdict != results.OK {
		t.Fatalf("receiver %s: %s; sender %s: %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
	}
	if r.Total.Bytes == 0 || r.Total.Bytes != s.Total.Bytes || s.PeerBytes == nil || *s.PeerBytes != r.Total.Bytes {
		t.Errorf("sent %d bytes, received %d, told %v", s.Total.Bytes, r.Total.Bytes, s.PeerBytes)
	}
	if r.Total.Mismatches != 0 {
		t.Errorf("%d wrong bytes, first at %d", r.Total.Mismatches, r.Total.FirstMismatch-1)
	}
	c := s.Total
	if m, _ := modes.Find(stream.TX, tx); m.Has(stream.ZeroCopy) {
		if c.Completions == 0 || c.CopiedCompletions != c.Completions || c.CopiedBytes != c.Bytes ||
			c.ZeroCopyBytes != 0 {
			t.Errorf("loopback copies all: %+v", c)
		}
	} else if c.ZeroCopyBytes+c.CopiedBytes+c.Completions != 0 {
		t.Errorf("%s claims evidence: %+v", tx, c)
	}
}

// The two ends need not agree on sizes.
func TestUnequalMessageAndReadSizes(t *testing.T) {
	for _, rx := range runnable(t, stream.RX) {
		for _, c := range []struct{ rxSize, read, txSize int }{{1 * mib, 0, 100}, {100, 0, mib}, {8 * kib, 7, 9 * kib},
			{5 * kib, mib, 300 * kib}} {
			spec := rxSpec(rx, c.rxSize)
			spec.Cell.ReadBytes = c.read
			sch := some(c.txSize)
			r, s := runBoth(t, spec, txSpec("tcp", c.txSize), sch, sch)
			checkMoved(t, r, s, "tcp")
		}
	}
}

func TestZeroCopyThatCopiedIsInvalid(t *testing.T) {
	for _, tx := range runnable(t, stream.TX) {
		m, _ := modes.Find(stream.TX, tx)
		if !m.Has(stream.ZeroCopy) {
			continue
		}
		for _, limit := range []wire.Frac{nil, new(float64)} {
			sch := some(mib)
			sch.MaxCopiedFrac = limit
			r, s := runBoth(t, rxSpec("tcp", mib), txSpec(tx, mib), some(mib), sch)
			if s.Verdict != results.Invalid || !strings.Contains(s.Reason, "copied 100.0 %") ||
				!strings.Contains(s.Reason, tx) || !strings.Contains(s.Fix, "--max-copied") {
				t.Errorf("%s: %s: %s; fix %q", tx, s.Verdict, s.Reason, s.Fix)
			}
			if r.Verdict != results.OK {
				t.Errorf("%s: the receiver, which makes no such claim: %s: %s", tx, r.Verdict, r.Reason)
			}
		}
	}
}

// Nothing stays behind after a flow, or after many. In the short run those of all
// pairs of modes are the many.
func TestModesLeaveNothingBehind(t *testing.T) {
	const size = 8*mib + 1
	once := func(rx, tx string) {
		r, s := runBoth(t, rxSpec(rx, size), txSpec(tx, size), some(size), some(size))
		checkMoved(t, r, s, tx)
	}
	once("tcp", "tcp") // what the process makes once
	first := streamtest.Holding(t)
	for _, rx := range runnable(t, stream.RX) {
		for _, tx := range runnable(t, stream.TX) {
			before := streamtest.Holding(t)
			for range long.Rounds(1, 3) {
				once(rx, tx)
			}
			streamtest.NoMore(t, before, 2*size)
		}
	}
	streamtest.NoMore(t, first, 2*size)
}

// Every engine that is built in serves what uses io_uring, is on record for it,
// and leaves nothing behind.
func TestEngines(t *testing.T) {
	const size = 8*mib + 1
	once := func(t *testing.T, tx, engine string) {
		rx, tx1 := rxSpec("uring", size), txSpec(tx, size)
		rx.Cell.UringEngine, tx1.Cell.UringEngine = engine, engine
		r, s := runBoth(t, rx, tx1, some(size), some(size))
		checkMoved(t, r, s, tx)
		if r.Host.Env.UringEngine != engine || s.Host.Env.UringEngine != engine {
			t.Errorf("on record: receiver %q, sender %q", r.Host.Env.UringEngine, s.Host.Env.UringEngine)
		}
	}
	have := runnable(t, stream.RX)
	streamtest.EachEngine(t, func(t *testing.T, engine string) {
		for _, tx := range []string{"uring", "uring-zc"} {
			if !slices.Contains(have, "uring") || !slices.Contains(runnable(t, stream.TX), tx) {
				t.Skipf("without uring or %s", tx)
			}
			once(t, tx, engine) // what the process makes once
			before := streamtest.Holding(t)
			once(t, tx, engine)
			once(t, tx, engine)
			streamtest.NoMore(t, before, 2*size)
		}
	})
	r, s := runBoth(t, rxSpec("tcp", size), txSpec("tcp", size), some(size), some(size))
	if r.Host.Env.UringEngine+s.Host.Env.UringEngine != "" {
		t.Errorf("tcp has engines on record: %q, %q", r.Host.Env.UringEngine, s.Host.Env.UringEngine)
	}
}
