package uring

import "testing"

// drainVariants are the rings that Drain must walk: completions of 16 bytes, of
// 32, and of both in one queue.
var drainVariants = map[string]Options{
	"small": {SQEntries: 8},
	"wide":  {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, CQE32: true},
	"mixed": {SQEntries: 8, SingleIssuer: true, DeferTaskrun: true, CQEMixed: true},
}

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
