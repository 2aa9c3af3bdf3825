// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var messageSizes = []int{1, 64, 4096, 4097, 131072, 300_000, 1 << 20, 64 << 20}

func newPayload(t testing.TB, size int) *Payload {
	t.Helper()
	p, err := NewPayload(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// patternAt is the pattern of n bytes from flow position pos, by its definition.
func patternAt(pos uint64, n, period int) []byte {
	b := make([]byte, n)
	for i := range b {
		at := (pos + uint64(i)) % uint64(period)
		b[i] = byte(patternWord(at/8) >> (8 * (at % 8)))
	}
	return b
}

func TestMessageHasThePatternOfItsPosition(t *testing.T) {
	for _, size := range messageSizes {
		p := newPayload(t, size)
		for _, k := range []uint64{0, 1, 2, 3, 100, 1e6 + 7} {
			n := min(size, 3*4096)
			if got := p.Message(k); len(got) != size ||
				!bytes.Equal(got[:n], patternAt(k*uint64(size), n, p.PeriodBytes())) {
				t.Errorf("size %d: message %d does not begin with the pattern of its position", size, k)
			} else if !bytes.Equal(got[size-n:], patternAt((k+1)*uint64(size)-uint64(n), n, p.PeriodBytes())) {
				t.Errorf("size %d: message %d does not end with the pattern of its position", size, k)
			}
		}
	}
}

func TestPeriodIsAPrimeNumberOfPages(t *testing.T) {
	for _, size := range messageSizes {
		period := periodFor(size)
		pages := period / 4096
		if period%4096 != 0 || period > MaxPeriodBytes || pages < 3 {
			t.Fatalf("size %d: period of %d bytes", size, period)
		}
		for d := 2; d*d <= pages; d++ {
			if pages%d == 0 {
				t.Errorf("size %d: period of %d pages is a multiple of %d", size, pages, d)
			}
		}
		if size >= 31*4096 && period > size {
			t.Errorf("size %d: the period of %d bytes is longer than the message", size, period)
		}
	}
}

// A page that shows the bytes of a place some pages away is seen.
func TestDisplacedPagesDiffer(t *testing.T) {
	for _, size := range []int{1, 61 * 4096, 127 * 4096, 251 * 4096} {
		period := periodFor(size)
		want := patternAt(0, 4096, period)
		for pages := 1; pages <= 1<<20; pages *= 2 {
			if bytes.Equal(want, patternAt(uint64(pages)*4096, 4096, period)) {
				t.Errorf("period of %d pages: a page displaced by %d pages looks right", period/4096, pages)
			}
		}
		if !bytes.Equal(want, patternAt(uint64(period), 4096, period)) {
			t.Errorf("period of %d pages: the pattern does not repeat", period/4096)
		}
	}
}

// The kernel says how much of the memory it maps by huge pages: none, if it was asked before
// there was a page in any, or not at all. How many it has to give is its own affair.
func TestPayloadIsInHugePages(t *testing.T) {
	p := newPayload(t, 8<<20)
	err := unix.Madvise(p.Memory(), unix.MADV_COLLAPSE)
	p.Close()
	if err != nil { // EINVAL: before Linux 6.1, or without CONFIG_TRANSPARENT_HUGEPAGE
		t.Skipf("the kernel makes no huge pages of written memory now (MADV_COLLAPSE): %v", err)
	}
	newPayload(t, 8<<20)
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, of, there := strings.Cut(string(smaps), "/memfd:zcbench-payload")
	_, size, told := strings.Cut(of, "ShmemPmdMapped:")
	if !there || !told {
		t.Fatal("/proc/self/smaps does not tell of the payload")
	}
	if kb := strings.Fields(size)[0]; kb == "0" {
		t.Error("none of the payload is in huge pages")
	}
}

func TestPayloadCloseTwice(t *testing.T) {
	p := newPayload(t, 4097)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
