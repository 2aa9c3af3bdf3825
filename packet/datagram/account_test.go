// SPDX-License-Identifier: MIT

package datagram

import (
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

const testKey = 0x1234567890abcdef

func newAccount(size int) *account {
	return &account{key: testKey, size: size, slots: uint64(slotsFor(size))}
}

// taken is what an account counts of numbers that come in that order.
func taken(t *testing.T, a *account, numbers ...uint64) stream.Counters {
	t.Helper()
	m, b := new(stream.Meter), make([]byte, a.size)
	for _, n := range numbers {
		if put(b, a.key, n); a.take(b, m) {
			m.Packets(1)
		}
	}
	return m.Snapshot()
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestAccount(t *testing.T) {
	for name, x := range map[string]struct {
		numbers                        []uint64
		packets, outOfOrder, duplicate uint64
	}{
		"in order":                     {upTo(1000), 1000, 0, 0},
		"one missing":                  {[]uint64{0, 1, 3, 4}, 4, 0, 0},
		"one late":                     {[]uint64{0, 1, 3, 2, 4}, 5, 1, 0},
		"one twice in a row":           {[]uint64{0, 1, 1, 2}, 4, 0, 1},
		"one twice, later":             {[]uint64{0, 1, 2, 3, 1}, 5, 0, 1},
		"late, and then twice":         {[]uint64{0, 2, 1, 1}, 4, 1, 1},
		"the first is missing":         {[]uint64{1, 2, 0}, 3, 1, 0},
		"far ahead, and back":          {[]uint64{0, window + 5, window + 4, 5, 0}, 5, 3, 0},
		"farther back than it reaches": {[]uint64{window + 64, 3, 3}, 3, 2, 0},
		"the edge of what is known":    {[]uint64{known, 1, 1, 0, 0}, 5, 3, 1},
		"over a word":                  {[]uint64{63, 64, 127, 128, 64, 65}, 6, 1, 1},
	} {
		c := taken(t, newAccount(18), x.numbers...)
		if c.Packets != x.packets || c.OutOfOrder != x.outOfOrder || c.Duplicated != x.duplicate || c.Corrupted != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// A number that is too late leaves no trace where one still to come has its bit: that one is none
// that came twice. Up to there each is known, wherever in its word the last one lies.
func TestTooLateLeavesNoTrace(t *testing.T) {
	for last := uint64(2 * window); last < 2*window+64; last++ {
		for back := uint64(known - 2); back < window; back++ {
			late := last - back // next is one more than last
			c := taken(t, newAccount(18), last, late, late, late+window+1, late+window)
			want := stream.Counters{Packets: 5, OutOfOrder: 3}
			if back < known {
				want.OutOfOrder, want.Duplicated = 2, 1
			}
			if c != want {
				t.Fatalf("%d after %d: %+v, want %+v", late, last, c, want)
			}
		}
	}
}

// Whatever is lost, doubled and late within the window, each is counted as what it is.
func TestAccountOfAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var numbers []uint64
		for n := range uint64(3 * window / 8) {
			for range r.IntN(3) { // not at all, once or twice
				numbers = append(numbers, n)
			}
		}
		for range len(numbers) / 4 {
			i := r.IntN(len(numbers) - 1)
			j := min(i+r.IntN(200), len(numbers)-1)
			numbers[i], numbers[j] = numbers[j], numbers[i]
		}
		var want stream.Counters
		seen, highest := map[uint64]bool{}, int64(-1)
		for _, n := range numbers {
			want.Packets++
			switch {
			case seen[n]:
				want.Duplicated++
			case int64(n) < highest:
				want.OutOfOrder++
			}
			seen[n], highest = true, max(highest, int64(n))
		}
		if got := taken(t, newAccount(18), numbers...); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
}

func TestCorrupted(t *testing.T) {
	a, m, size := newAccount(64), new(stream.Meter), 64
	a.touch = stream.NewToucher(stream.TouchVerify, 31*4096)
	p, err := stream.NewPayload(size)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := newSlots(size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.fill(&stream.Conn{Key: testKey}, p)
	fresh := func(seq uint64) []byte { return append([]byte(nil), s.put(seq)...) }
	for n := range uint64(3000) {
		if !a.take(fresh(n), m) {
			t.Fatalf("datagram %d is refused: %+v", n, m.Snapshot())
		}
	}
	wrong := []func() []byte{
		func() []byte { return nil },
		func() []byte { return fresh(3000)[:headerBytes-1] },
		func() []byte { return fresh(3000)[:size-1] },
		func() []byte { return append(fresh(3000), 0) },
		func() []byte { b := fresh(3000); b[0] ^= 1; return b },           // the number
		func() []byte { b := fresh(3000); b[7] ^= 1; return b },           // the number
		func() []byte { b := fresh(3000); b[11] ^= 0x80; return b },       // the tag
		func() []byte { b := fresh(3000); b[headerBytes] ^= 1; return b }, // the payload
		func() []byte { b := fresh(3000); b[size-1] ^= 1; return b },
		func() []byte { b := fresh(3000); put(b, testKey, 3001); return b },         // of another place
		func() []byte { b := fresh(3000); put(b, testKey+1, 3000); return b },       // of another flow
		func() []byte { b := make([]byte, size); put(b, testKey, 1<<63); return b }, // no flow is so long
	}
	for i, f := range wrong {
		if before := m.Snapshot().Corrupted; a.take(f(), m) || m.Snapshot().Corrupted != before+1 {
			t.Errorf("%d: not found out: %+v", i, m.Snapshot())
		}
	}
	if c := m.Snapshot(); c.OutOfOrder != 0 || c.Duplicated != 0 {
		t.Errorf("%+v", c)
	}
	if !a.take(fresh(3000), m) {
		t.Error("the right one is refused after all that")
	}
}

// Tags of neighbouring numbers and keys have nothing in common.
func TestTags(t *testing.T) {
	seen := map[uint32]bool{}
	for key := range uint64(100) {
		for seq := range uint64(100) {
			seen[tagOf(keyOf(stream.Cookie{byte(key)}, int(key)), seq)] = true
		}
	}
	if len(seen) < 9990 { // of 10000, by chance some 0.01 are equal
		t.Errorf("%d tags of 10000", len(seen))
	}
}

func TestSlots(t *testing.T) {
	for _, size := range []int{minBytes, 64, 100, 1472, 9000, maxBytes} {
		n := slotsFor(size)
		if n < stream.MaxBatch || n > maxSlots || n&(n-1) != 0 || n > minSlots && n*size > slotBytes {
			t.Errorf("%d bytes: %d slots", size, n)
		}
		s, err := newSlots(size)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct{ seq, want int }{{0, 5}, {n - 5, 5}, {n - 3, 3}, {3*n - 1, 1}} {
			p, got := s.run(uint64(x.seq), 5)
			if got != x.want || len(p) != got*size {
				t.Errorf("%d bytes: a run from %d on has %d datagrams and %d bytes, want %d", size, x.seq, got, len(p),
					x.want)
			}
			for i := range got {
				if seq, ok := parse(p[i*size:], 0); !ok || seq != uint64(x.seq+i) {
					t.Errorf("%d bytes: datagram %d is %d, %v", size, x.seq+i, seq, ok)
				}
			}
		}
		s.Close()
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte{}, uint64(0))
	b := make([]byte, 18)
	put(b, testKey, 7)
	f.Add(b, uint64(5))
	f.Fuzz(func(t *testing.T, p []byte, next uint64) {
		a, m := newAccount(18), new(stream.Meter)
		a.next = next % mostPackets
		ok := a.take(p, m)
		if c := m.Snapshot(); ok == (c.Corrupted == 1) {
			t.Errorf("%v, %+v", ok, c)
		}
	})
}
