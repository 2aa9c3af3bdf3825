// SPDX-License-Identifier: MIT

package uring

import "testing"

// drainVariants are the rings that Drain must walk: completions of 16 bytes, of
// 32, and of both in one queue.
var drainVariants = map[string]Options{
	"small": {SQEntries: 8},
	"wide":  {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, CQE32: true},
	"mixed": {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, CQEMixed: true},
}

// nopCQE32 makes a nop complete with 32 bytes (IORING_NOP_CQE32, 6.18).
const nopCQE32 = 1 << 5

func TestDrain(t *testing.T) { eachEngine(t, testDrain) }

func testDrain(t *testing.T) {
	for name, o := range drainVariants {
		t.Run(name, func(t *testing.T) {
			if o.CQEMixed && !Probe().CQEMixed.Supported {
				t.Skip("this kernel has no IORING_SETUP_CQE_MIXED (Linux 6.18)")
			}
			r := newRing(t, o)
			next := uint64(0)
			for round := uint64(0); round < 100; round++ { // runs around the queue
				for i := range uint64(5) {
					s := r.GetSQE().Nop(round*5 + i)
					if o.CQEMixed && i%2 == 1 {
						s.OpFlags |= nopCQE32
					}
				}
				if _, err := r.SubmitAndGetEvents(); err != nil {
					t.Fatal(err)
				}
				d := r.Drain()
				for d.Next() {
					if c := d.CQE(); c.UserData != next || c.Res != 0 {
						t.Fatalf("completion %+v, want %d", *c, next)
					}
					wide := o.CQE32 || o.CQEMixed && (next%5)%2 == 1
					if (d.Extra() != nil) != wide {
						t.Fatalf("completion %d: second half %v", next, d.Extra())
					}
					next++
				}
				d.Done()
			}
			if next != 500 || r.Overflow() != 0 {
				t.Errorf("%d completions of 500, %d lost", next, r.Overflow())
			}
		})
	}
}

// Done gives back what was walked over, no more.
func TestDrainPartly(t *testing.T) { eachEngine(t, testDrainPartly) }

func testDrainPartly(t *testing.T) {
	r := newRing(t, Options{SQEntries: 8})
	for i := range uint64(4) {
		r.GetSQE().Nop(i)
	}
	if _, err := r.SubmitAndGetEvents(); err != nil {
		t.Fatal(err)
	}
	d := r.Drain()
	d.Next()
	d.Next()
	d.Done()
	if r.CQReady() != 2 {
		t.Fatalf("%d completions left of 4 after 2", r.CQReady())
	}
	if d.Next(); d.CQE().UserData != 2 {
		t.Errorf("the walk went on at %d, not at 2", d.CQE().UserData)
	}
}

func TestDrainAllocates(t *testing.T) { eachEngine(t, testDrainAllocates) }

func testDrainAllocates(t *testing.T) {
	r := newRing(t, Options{SQEntries: 8})
	if n := testing.AllocsPerRun(100, func() {
		r.GetSQE().Nop(1)
		if _, err := r.SubmitAndGetEvents(); err != nil {
			t.Fatal(err)
		}
		d := r.Drain()
		for d.Next() {
			_ = d.Extra()
		}
		d.Done()
	}); n != 0 {
		t.Errorf("%v allocations per round", n)
	}
}

// GiveBack moves over payload of its request, and stops where it must. The
// kernel's part is played by hand: it runs everywhere.
func TestGiveBack(t *testing.T) {
	const user, other = 7, 8
	type piece struct {
		user  uint64
		res   int32
		flags uint32
	}
	good := piece{user, 100, cqeMore}
	for name, c := range map[string]struct {
		pieces []piece
		filled uint32 // entries that the kernel has not taken
		want   int
	}{
		"all":            {[]piece{good, good, good}, 0, 3},
		"other request":  {[]piece{good, {other, 100, cqeMore}, good}, 0, 1},
		"last of all":    {[]piece{good, good, {user, 100, 0}}, 0, 2},
		"error":          {[]piece{{user, -28, 0}, good}, 0, 0},
		"empty":          {[]piece{{user, 0, cqeMore}, good}, 0, 0},
		"ring gets full": {[]piece{good, good, good}, 2, 2},
		"ring is full":   {[]piece{good}, 4, 0},
		"none":           {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const start = 1<<32 - 1 // positions run over
			var head, tail uint32 = start, start + c.filled
			r := &Ring{cq: completionQueue{cqes: make([]CQE, 16), mask: 7, shift: 1, wide: true, next: start}}
			z := &Zcrx{ring: r, head: &head, tail: &tail, rqes: make([]zcrxRqe, 4),
				next: tail}
			d := drain{r: r, at: start, cur: start, end: start + uint32(len(c.pieces))}
			for i, p := range c.pieces {
				e := r.cq.at(start + uint32(i))
				*e = CQE{UserData: p.user, Res: p.res, Flags: p.flags}
				*e.extra() = [2]uint64{9<<zcrxAreaShift | uint64(i)<<12, 0}
			}
			pieces, bytes := z.GiveBack(&d, user)
			if pieces != c.want || bytes != uint64(100*c.want) || d.at-start != uint32(c.want) ||
				z.next-tail != uint32(c.want) {
				t.Fatalf("%d pieces of %d bytes, want %d; walk moved by %d, ring by %d", pieces, bytes, c.want,
					d.at-start, z.next-tail)
			}
			for i := range c.want {
				e := z.rqes[(tail+uint32(i))&3]
				if e.off != 9<<zcrxAreaShift|uint64(i)<<12 || e.len != 100 {
					t.Errorf("entry %d: %x, %d bytes", i, e.off, e.len)
				}
			}
			if d.Next() != (c.want < len(c.pieces)) {
				t.Error("what was not moved over is lost, or there is more than was there")
			}
		})
	}
}
