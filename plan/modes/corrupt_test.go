// SPDX-License-Identifier: MIT

package modes

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/internal/await"
)

// corruptions are what a sender, a NIC or a kernel can do to a flow of right
// bytes, with the flow position of the first byte that is then wrong, or may be.
var corruptions = []struct {
	name string
	do   func([]byte) []byte
	from int // no byte before it is wrong
	most int // bytes that are wrong at most; 0: any number
}{
	{"one bit", func(b []byte) []byte { b[300_001] ^= 0x04; return b }, 300_001, 1},
	{"the last bit", func(b []byte) []byte { b[len(b)-1] ^= 0x80; return b }, flowBytes - 1, 1},
	{"two pages swapped", func(b []byte) []byte { return swap(b, 40<<12, 97<<12, 4096) }, 40 << 12, 8192},
	{"neighbouring pages swapped", func(b []byte) []byte { return swap(b, 40<<12, 41<<12, 4096) }, 40 << 12, 8192},
	{"two bytes swapped", func(b []byte) []byte { return swap(b, 1000, 1001, 1) }, 1000, 2},
	{"a byte dropped", func(b []byte) []byte { return slices.Delete(b, 500_000, 500_001) }, 500_000, 0},
	{"a page dropped", func(b []byte) []byte { return slices.Delete(b, 60<<12, 61<<12) }, 60 << 12, 0},
	{"a byte duplicated", func(b []byte) []byte { return slices.Insert(b, 70_000, b[69_999]) }, 70_000, 0},
	{"a page duplicated", func(b []byte) []byte { return slices.Insert(b, 90<<12, slices.Clone(b[89<<12:90<<12])...) },
		90 << 12, 0},
	{"shifted from the beginning", func(b []byte) []byte { return append([]byte{0}, b...) }, 0, 0},
	{"shifted by a page", func(b []byte) []byte { return b[4096:] }, 0, 0},
	{"a page of an earlier message", func(b []byte) []byte { copy(b[200<<12:201<<12], b[72<<12:]); return b },
		200 << 12, 4096},
	{"zeros", func(b []byte) []byte { clear(b[120<<12 : 121<<12]); return b }, 120 << 12, 4096},
}

// flowBytes is how much the flows below carry.
const flowBytes = 8*messageBytes + 123

func swap(b []byte, i, j, n int) []byte {
	t := slices.Clone(b[i : i+n])
	copy(b[i:i+n], b[j:j+n])
	copy(b[j:], t)
	return b
}

// A sender whose bytes are not those of their positions is found out by every
// receiver that looks: a bit, a page that stands elsewhere, a byte that is missing
// or there twice.
func TestCorruptingSenderIsFoundOut(t *testing.T) {
	each(t, stream.RX, func(t *testing.T, p stream.Mode) {
		if p.Has(stream.NoPayload) {
			t.Skip("does not see payload")
		}
		right := verified(t, p, func(b []byte) []byte { return b })
		if right.Mismatches != 0 || right.Bytes != flowBytes {
			t.Fatalf("nothing wrong: %+v", right)
		}
		for _, c := range corruptions {
			got := verified(t, p, c.do)
			switch first := int(got.FirstMismatch) - 1; {
			case got.Mismatches == 0:
				t.Errorf("%s: not found", c.name)
			case first < c.from || first > c.from+64: // one byte of 256 is right by chance
				t.Errorf("%s: the first wrong byte is said to be %d, want %d", c.name, first, c.from)
			case c.most > 0 && got.Mismatches > uint64(c.most), c.most == 0 &&
				got.Mismatches < (flowBytes-uint64(c.from))/2:
				t.Errorf("%s: %d wrong bytes, want at most %d, or most of those behind it", c.name, got.Mismatches,
					c.most)
			}
		}
	})
}

// verified is what a receiver counts of a flow whose bytes corrupt has changed.
func verified(t *testing.T, p stream.Mode, corrupt func([]byte) []byte) stream.Counters {
	t.Helper()
	payload, m := streamtest.Payload(t, messageBytes), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, payload, sock.Options{})
	var flow []byte
	for k := uint64(0); len(flow) < flowBytes; k++ {
		flow = append(flow, payload.Message(k)...)
	}
	flow = corrupt(flow[:flowBytes])
	done := receive(p, stream.Options{MessageBytes: messageBytes, Touch: stream.TouchVerify}, rx, h, m)
	for limit := await.Deadline(); len(flow) > 0; {
		n, errno := sock.Send(tx.FD, flow, unix.MSG_NOSIGNAL)
		if n > 0 {
			flow = flow[n:]
		}
		if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR || time.Now().After(limit) {
			t.Fatalf("send: %v", errno)
		}
	}
	if err := tx.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, done); err != nil {
		t.Fatal(err)
	}
	return m.Snapshot()
}
