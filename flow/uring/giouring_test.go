// SPDX-License-Identifier: MIT

//go:build giouring

package uring

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// Our structures and giouring's are the same memory.
func TestGiouringLayout(t *testing.T) {
	for _, c := range []struct{ ours, theirs reflect.Type }{
		{reflect.TypeFor[sqe](), reflect.TypeFor[giouring.SubmissionQueueEntry]()},
		{reflect.TypeFor[CQE](), reflect.TypeFor[giouring.CompletionQueueEvent]()},
		{reflect.TypeFor[params](), reflect.TypeFor[giouring.Params]()},
	} {
		a, b := fields(c.ours), fields(c.theirs)
		if c.ours.Size() != c.theirs.Size() {
			t.Errorf("%v has %d bytes, %v %d", c.ours, c.ours.Size(), c.theirs, c.theirs.Size())
		}
		for at, size := range a {
			// Unions are one field here and other ones there: what begins at a place
			// in ours does so in theirs.
			if b[at] == 0 {
				t.Errorf("%v: nothing begins at %d, where %v has %d bytes", c.theirs, at, c.ours, size)
			}
		}
	}
}

// fields are the offsets of a type's numbers, with their sizes.
func fields(t reflect.Type) map[uintptr]uintptr {
	all := map[uintptr]uintptr{}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Type.Kind() == reflect.Struct:
			for at, size := range fields(f.Type) {
				all[f.Offset+at] = size
			}
		case f.Type.Kind() == reflect.Array:
			all[f.Offset] = f.Type.Elem().Size()
		default:
			all[f.Offset] = f.Type.Size()
		}
	}
	return all
}

// A ring of the engine giouring is giouring's own: entries, completions and
// positions are those in the memory that it mapped, of the descriptor that it
// made, and no others.
func TestGiouringIsGiouring(t *testing.T) {
	testEngine = Giouring
	defer func() { testEngine = "" }()
	for name, o := range variants {
		t.Run(name, func(t *testing.T) {
			before := mappings(t)
			r := newRing(t, o)
			g, ok := r.engine.(*gio)
			if !ok {
				t.Fatalf("the ring stands on a %T", r.engine)
			}
			theirs := reflect.ValueOf(g.ring).Elem()
			if fd := int(theirs.FieldByName("ringFd").Int()); fd != r.FD() || fd < 0 {
				t.Errorf("descriptor %d, giouring's is %d", r.FD(), fd)
			}
			if r.cq.cqes != nil {
				t.Error("the ring has a mapping of its own")
			}
			if n := mappings(t); n > before+8 { // two of the queues, one of the timeouts, and what the runtime maps
				t.Errorf("mappings: %d before, %d after", before, n)
			}
			sqes := inside{theirs.FieldByName("sqRing").Elem().FieldByName("sqes").Pointer(),
				uintptr(r.SQEntries()) * unsafe.Sizeof(sqe{})}
			cqes := inside{theirs.FieldByName("cqRing").Elem().FieldByName("cqes").Pointer(),
				uintptr(r.CQEntries()) * unsafe.Sizeof(CQE{})}
			if o.CQE32 {
				cqes.size *= 2
			}
			for i := range uint64(20) {
				s := r.GetSQE()
				if !sqes.has(unsafe.Pointer(s)) {
					t.Fatal("an entry that is not giouring's")
				}
				s.Nop(i)
				if g.ring.SQReady() != 1 {
					t.Fatalf("giouring has %d entries to submit, we have 1", g.ring.SQReady())
				}
				if n, err := r.SubmitAndGetEvents(); n != 1 || err != nil {
					t.Fatalf("submitted %d: %v", n, err)
				}
				// The completion that giouring shows is the one that we take.
				theirs, err := g.ring.PeekCQE()
				if err != nil || r.CQReady() != 1 || !cqes.has(unsafe.Pointer(r.CQEAt(0))) ||
					unsafe.Pointer(theirs) != unsafe.Pointer(r.CQEAt(0)) || theirs.UserData != i {
					t.Fatalf("round %d: %+v, %v; ours %+v of %d", i, theirs, err, *r.CQEAt(0), r.CQReady())
				}
				r.Advance(1)
				if g.ring.CQReady() != 0 {
					t.Fatal("giouring has the completion still")
				}
			}
		})
	}
}

// inside is a piece of memory.
type inside struct{ at, size uintptr }

func (m inside) has(p unsafe.Pointer) bool { return uintptr(p)-m.at < m.size }

// The registered descriptor is giouring's: it enters by it, and gives it back.
func TestGiouringRegistersItself(t *testing.T) {
	testEngine = Giouring
	defer func() { testEngine = "" }()
	r := newRing(t, Options{SQEntries: 4, RegisterFD: true})
	g := r.engine.(*gio)
	if i := g.enterFD(); i == r.FD() || i < 0 || i > 15 {
		t.Errorf("giouring enters by %d, the descriptor is %d", i, r.FD())
	}
	up := rsrcUpdate{offset: uint32(g.enterFD())}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// The place is free again: another ring gets it.
	next := newRing(t, Options{SQEntries: 4, RegisterFD: true})
	if i := next.engine.(*gio).enterFD(); uint32(i) != up.offset {
		t.Errorf("the next ring of this thread is %d, not %d", i, up.offset)
	}
}

// A wait that giouring calls over before its time goes on.
func TestGiouringEndOfWait(t *testing.T) {
	for _, c := range []struct {
		errno     unix.Errno
		submitted int
		early     bool
		want      unix.Errno
	}{{unix.ETIME, 0, false, unix.ETIME}, {unix.ETIME, 0, true, unix.EINTR}, {unix.ETIME, 2, true, 0},
		{unix.ETIME, 2, false, 0}, {0, 0, true, 0}, {unix.EINTR, 0, true, unix.EINTR},
		{unix.EBADF, 0, true, unix.EBADF}} {
		if got := endOfWait(c.errno, c.submitted, c.early); got != c.want {
			t.Errorf("%v, %d submitted, early %v: %v, want %v", c.errno, c.submitted, c.early, got, c.want)
		}
	}
}
