// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

const pageSize = 4096

// newNoDevice is an interface queue without a NIC, on the ring r.
func newNoDevice(t testing.TB, r *Ring, pages, refill int) *Zcrx {
	t.Helper()
	m := newMemory(t, pages*pageSize)
	o := ZcrxOptions{NoDevice: true, Area: ZcrxArea{Bytes: m.Bytes()}, RefillEntries: refill}
	o.Stats = Probe().ZcrxStats.Supported
	z, err := r.NewZcrx(o)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func needNoDevice(t testing.TB) {
	t.Helper()
	if f := Probe().ZcrxFlush; !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
}

// Options that no kernel takes are refused before it is asked.
func TestZcrxOptions(t *testing.T) { eachEngine(t, testZcrxOptions) }

func testZcrxOptions(t *testing.T) {
	r := newRing(t, zcrxRing)
	area := ZcrxArea{Bytes: newMemory(t, 16*pageSize).Bytes()}
	for name, o := range map[string]ZcrxOptions{
		"no area":       {RefillEntries: 8},
		"no refill":     {Area: area},
		"odd buffer":    {Area: area, RefillEntries: 8, BufLen: 5000},
		"short buffer":  {Area: area, RefillEntries: 8, BufLen: 2048},
		"area and size": {Area: ZcrxArea{Bytes: area.Bytes[:3*pageSize]}, RefillEntries: 8, BufLen: 2 * pageSize},
	} {
		if _, err := r.NewZcrx(o); err == nil || !strings.HasPrefix(err.Error(), "uring: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the errno of a refused registration means depends on what was asked for.
func TestZcrxExplain(t *testing.T) {
	for _, c := range []struct {
		o     ZcrxOptions
		errno unix.Errno
		want  string
	}{
		{ZcrxOptions{}, unix.EPERM, "CAP_NET_ADMIN"},
		{ZcrxOptions{}, unix.ENODEV, "no such interface"},
		{ZcrxOptions{}, unix.EOPNOTSUPP, "driver"},
		{ZcrxOptions{BufLen: 16384}, unix.EOPNOTSUPP, "leave out --rx-buf-len"},
		{ZcrxOptions{BufLen: 16384}, unix.ERANGE, "huge pages"},
		{ZcrxOptions{}, unix.ERANGE, "no such queue"},
		{ZcrxOptions{}, unix.EINVAL, "tcp-data-split"},
		{ZcrxOptions{NoDevice: true}, unix.EINVAL, "7.1"},
		{ZcrxOptions{Stats: true}, unix.EINVAL, "7.2"},
		{ZcrxOptions{BufLen: 16384}, unix.EINVAL, "7.0"},
		{ZcrxOptions{}, unix.EEXIST, "provider"},
		{ZcrxOptions{}, unix.EBUSY, "AF_XDP"},
		{ZcrxOptions{}, unix.ENODATA, "does not hand the provider"},
		{ZcrxOptions{}, unix.ENOMEM, "memory"},
	} {
		if err := c.o.explain(&Ring{}, c.errno); !strings.Contains(told(err), c.want) || !errors.Is(err, c.errno) {
			t.Errorf("%v with %+v: %q does not say %q", c.errno, c.o, told(err), c.want)
		}
	}
}

// A kernel refuses the registration on a ring without the flags it needs.
func TestZcrxOnPlainRing(t *testing.T) { eachEngine(t, testZcrxOnPlainRing) }

func testZcrxOnPlainRing(t *testing.T) {
	if f := Probe().Zcrx; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	fds := openFDs(t)
	r := newRing(t, Options{SQEntries: 4})
	_, err := r.NewZcrx(ZcrxOptions{IfIndex: 1, Area: ZcrxArea{Bytes: newMemory(t, 16*pageSize).Bytes()},
		RefillEntries: 8})
	if !errors.Is(err, unix.EINVAL) || !strings.Contains(told(err), "DeferTaskrun") {
		t.Errorf("registered on a plain ring: %v", err)
	}
	if n := openFDs(t); n != fds+1 {
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
}

// Loopback has no queue that could take a provider.
func TestZcrxOnLoopback(t *testing.T) { eachEngine(t, testZcrxOnLoopback) }

func testZcrxOnLoopback(t *testing.T) {
	if f := Probe().Zcrx; !f.Supported {
		t.Skipf("%s: %s", f.Name, f.Reason)
	}
	r := newRing(t, zcrxRing)
	_, err := r.NewZcrx(ZcrxOptions{IfIndex: 1, Area: ZcrxArea{Bytes: newMemory(t, 16*pageSize).Bytes()},
		RefillEntries: 8})
	if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(told(err), "driver") {
		t.Errorf("registered on lo: %v", err)
	}
}

// noDeviceRings are the rings that zero-copy receive runs on.
var noDeviceRings = map[string]Options{
	"cqe32": {SQEntries: 8, CQEntries: 64, SingleIssuer: true, DeferTaskrun: true, CQE32: true, SubmitAll: true},
	"mixed": {SQEntries: 8, CQEntries: 64, SingleIssuer: true, DeferTaskrun: true, CQEMixed: true, NoSQArray: true,
		RegisterFD: true},
}

// receiver takes a flow from an interface queue without a NIC, of which the
// application must flush the refill ring.
type receiver struct {
	t       *testing.T
	r       *Ring
	z       *Zcrx
	fd      int
	f       flow
	got     int
	ended   bool
	nospc   int
	nomem   int
	pending [][2]uint64 // refilled when the ring has room: offset and length
}

func (v *receiver) step() {
	if _, err := v.r.SubmitAndWait(1, -1); err != nil {
		v.t.Fatal(err)
	}
	rearm := false
	d := v.r.Drain()
	for d.Next() {
		c := d.CQE()
		switch {
		case c.More():
			b := v.z.Bytes(c, d.Extra())
			if i := firstDifference(b, v.f.at(v.got, len(b))); i >= 0 {
				v.t.Fatalf("byte %d of the flow is wrong", v.got+i)
			}
			v.got += len(b)
			v.pending = append(v.pending, [2]uint64{d.Extra()[0], uint64(len(b))})
		case c.Errno() == unix.ENOSPC:
			v.nospc++
			rearm = true
		case c.Errno() == unix.ENOMEM:
			v.nomem++
			rearm = true
		case c.Res == 0:
			v.ended = true
		default:
			v.t.Fatalf("after %d bytes: %v", v.got, c.Errno())
		}
	}
	d.Done()
	for len(v.pending) > 0 && v.z.Refill(v.pending[0][0], uint32(v.pending[0][1])) {
		v.pending = v.pending[1:]
	}
	v.z.Publish()
	if err := v.z.Flush(); err != nil {
		v.t.Fatal(err)
	}
	if rearm {
		v.r.GetSQE().RecvZC(v.fd, v.z.ID(), 7)
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// All of a flow arrives in the area, through a refill ring of 4, an area of 8
// pages and a completion queue that overflows.
func TestZcrxNoDevice(t *testing.T) { eachEngine(t, testZcrxNoDevice) }

func testZcrxNoDevice(t *testing.T) {
	needNoDevice(t)
	total := long.Rounds(3, 8) << 20
	for name, o := range noDeviceRings {
		for _, size := range []struct{ pages, refill, cq int }{{256, 256, 1024}, {8, 4, 64}, {256, 64, 8}} {
			t.Run(name, func(t *testing.T) {
				o := o
				o.CQEntries = uint32(size.cq)
				r := newRing(t, o)
				z := newNoDevice(t, r, size.pages, size.refill)
				tx, rx := tcpPair(t)
				f := newFlow()
				go func() { _ = f.send(tx, total) }()
				v := &receiver{t: t, r: r, z: z, fd: rx, f: f}
				r.GetSQE().RecvZC(rx, z.ID(), 7)
				for !v.ended {
					v.step()
				}
				if v.got != total {
					t.Errorf("%d bytes of %d", v.got, total)
				}
				// TCP may move some bytes to a packet's linear part, which is not counted.
				if _, n := z.Copies(); z.Counts() && (n > uint64(total) || n < uint64(total)/100*99) {
					t.Errorf("the kernel says that it copied %d bytes of %d", n, total)
				}
				t.Logf("%d pages, refill ring of %d, CQ of %d: -ENOSPC %d times, -ENOMEM %d times", size.pages,
					z.RefillEntries(), size.cq, v.nospc, v.nomem)
			})
		}
	}
}

func TestZcrxRefillFull(t *testing.T) { eachEngine(t, testZcrxRefillFull) }

func testZcrxRefillFull(t *testing.T) {
	needNoDevice(t)
	r := newRing(t, zcrxRing)
	z := newNoDevice(t, r, 16, 4)
	if z.RefillEntries() != 4 || z.RefillSpace() != 4 || z.Buffers() != 16 || z.BufLen() != pageSize {
		t.Fatalf("refill ring of %d, %d free; %d buffers of %d", z.RefillEntries(), z.RefillSpace(), z.Buffers(),
			z.BufLen())
	}
	for range 4 {
		if !z.Refill(0, 1) {
			t.Fatal("full too early")
		}
	}
	if z.Refill(0, 1) || z.RefillSpace() != 0 {
		t.Error("more entries than there are")
	}
	z.Publish()
	// Nobody has these buffers: the kernel ignores them but empties the ring.
	if err := z.Flush(); err != nil || z.RefillSpace() != 4 {
		t.Errorf("flushed: %d free, %v", z.RefillSpace(), err)
	}
}

// A path without a NIC flushes all the time.
func TestZcrxFlushAllocates(t *testing.T) { eachEngine(t, testZcrxFlushAllocates) }

func testZcrxFlushAllocates(t *testing.T) {
	needNoDevice(t)
	z := newNoDevice(t, newRing(t, zcrxRing), 16, 4)
	if n := testing.AllocsPerRun(100, func() {
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestZcrxExport(t *testing.T) { eachEngine(t, testZcrxExport) }

func testZcrxExport(t *testing.T) {
	needNoDevice(t)
	fds := openFDs(t)
	r := newRing(t, zcrxRing)
	z := newNoDevice(t, r, 16, 16)
	fd, err := z.Export()
	if err != nil {
		t.Fatal(err)
	}
	if n := openFDs(t); n != fds+2 {
		t.Errorf("descriptors: %d before, %d with the ring and the export", fds, n)
	}
	if err := unix.Close(fd); err != nil {
		t.Error(err)
	}
	if err := z.ArmEvent(zcrxCopy); err == nil {
		t.Error("armed an event that was not told")
	}
}
