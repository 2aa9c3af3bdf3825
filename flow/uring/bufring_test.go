// SPDX-License-Identifier: MIT

package uring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestBufRingRefused(t *testing.T) { eachEngine(t, testBufRingRefused) }

func testBufRingRefused(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4})
	for _, o := range []BufRingOptions{
		{Entries: 0, Size: 1}, {Entries: 3, Size: 1}, {Entries: 65536, Size: 1}, {Entries: 4, Size: 0},
		{Entries: 4, Size: 1 << 31},
	} {
		if _, err := r.NewBufRing(o); err == nil {
			t.Errorf("made a group of %+v", o)
		}
	}
	if _, err := r.NewBufRing(BufRingOptions{Group: 2, Entries: 4, Size: 64}); err != nil {
		t.Fatal(err)
	}
	maps := mappings(t)
	_, err := r.NewBufRing(BufRingOptions{Group: 2, Entries: 4, Size: 64})
	if !errors.Is(err, unix.EEXIST) || !strings.Contains(told(err), "pbuf ring 2") ||
		!strings.Contains(told(err), "choose another") || strings.Contains(told(err), "thread") {
		t.Errorf("error %s", told(err))
	}
	if n := mappings(t); n > maps+2 {
		t.Errorf("mappings: %d before, %d after", maps, n)
	}
}

// A ring that is another thread's says so, and whose it is: nobody looks for a group then.
func TestBufRingElsewhere(t *testing.T) { eachEngine(t, testBufRingElsewhere) }

func testBufRingElsewhere(t *testing.T) {
	o := BufRingOptions{Entries: 4, Size: 64}
	for name, disabled := range map[string]bool{"made": false, "enabled": true} {
		r, own := newRing(t, Options{SQEntries: 4, SingleIssuer: true, Disabled: disabled}), unix.Gettid()
		if disabled {
			if err := r.Enable(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		onDoomedThread(func() { _, err = r.NewBufRing(o) })
		if !errors.Is(err, unix.EEXIST) || !strings.Contains(told(err), fmt.Sprintf("the ring is thread %d's",
			own)) || strings.Contains(told(err), "choose another") {
			t.Errorf("%s here, and a group made elsewhere: %s", name, told(err))
		}
		if _, err := r.NewBufRing(o); err != nil {
			t.Errorf("%s here: %v", name, err)
		}
	}
}

func TestBufRingDescriptors(t *testing.T) { eachEngine(t, testBufRingDescriptors) }

func testBufRingDescriptors(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4})
	b, err := r.NewBufRing(BufRingOptions{Entries: 8192, Size: 128})
	if err != nil {
		t.Fatal(err)
	}
	raw := b.descMem.Bytes()
	for i := range 8192 {
		d := raw[i*16:]
		if bid := binary.NativeEndian.Uint16(d[12:]); int(bid) != i {
			t.Fatalf("place %d holds buffer %d", i, bid)
		}
		want := uint64(uintptr(unsafe.Pointer(&b.Bytes(uint16(i))[0])))
		if addr := binary.NativeEndian.Uint64(d); addr != want {
			t.Fatalf("buffer %d at %#x, want %#x", i, addr, want)
		}
	}
	if tail := binary.NativeEndian.Uint16(raw[14:]); tail != 8192 {
		t.Errorf("tail %d", tail)
	}
	if b.Ready() != 8192 || b.Entries() != 8192 || b.Size() != 128 {
		t.Errorf("%d of %d buffers of %d bytes", b.Ready(), b.Entries(), b.Size())
	}
	if err = errors.Join(b.Close(), b.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestAddTwicePanics(t *testing.T) { eachEngine(t, testAddTwicePanics) }

func testAddTwicePanics(t *testing.T) {
	r := newRing(t, Options{SQEntries: 4})
	b, err := r.NewBufRing(BufRingOptions{Entries: 4, Size: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("added twice without a panic")
		}
	}()
	b.Recycle(1)
}

func TestMemoryPages(t *testing.T) {
	for _, p := range []Pages{PagesBase, PagesTransparent, PagesHuge} {
		m, err := NewMemory(3<<20, p)
		if p == PagesHuge && errors.Is(err, unix.ENOMEM) {
			if !strings.Contains(told(err), "vm.nr_hugepages=2") {
				t.Errorf("error %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b := m.Bytes()
		if len(b) != 3<<20 || cap(b) != 3<<20 {
			t.Errorf("pages %d: %d bytes", p, len(b))
		}
		if p != PagesBase && uintptr(unsafe.Pointer(&b[0]))%hugePage != 0 {
			t.Errorf("pages %d: begins at %p", p, &b[0])
		}
		b[0], b[len(b)-1] = 1, 1
		if err = errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := NewMemory(0, PagesBase); err == nil {
		t.Error("memory of no bytes")
	}
}
