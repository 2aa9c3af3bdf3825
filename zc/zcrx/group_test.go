// SPDX-License-Identifier: MIT

package zcrx

import (
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// What the kernel counts for a queue belongs to the flows that came elsewhere, also when they are
// not the first that bring something, and when the count is ahead of what was taken.
func TestAccountOfSeveral(t *testing.T) {
	var meters [3]stream.Meter
	r := &Receiver{proof: proof{counts: true}, z: new(uring.Zcrx)}
	for i := range meters {
		r.members = append(r.members, &member{meter: &meters[i], came: true})
	}
	bring := func(counted uint64, got ...int) {
		r.proof.owed += counted
		for i, n := range got {
			r.members[i].got = n
		}
		r.accountAll(&meters[0])
	}
	want := func(name string, copied, not [3]uint64) {
		t.Helper()
		for i := range meters {
			if c := meters[i].Snapshot(); c.CopiedBytes != copied[i] || c.ZeroCopyBytes != not[i] ||
				r.members[i].copied != copied[i] || r.members[i].got != 0 {
				t.Errorf("%s: flow %d has %d copied, %d not, want %d, %d", name, i, c.CopiedBytes, c.ZeroCopyBytes,
					copied[i], not[i])
			}
		}
	}
	bring(0, 100, 200, 300)
	want("none copied", [3]uint64{}, [3]uint64{100, 200, 300})
	r.members[2].elsewhere = true
	bring(50, 100, 100, 0)
	want("counted, and not taken yet", [3]uint64{}, [3]uint64{200, 300, 300})
	bring(0, 10, 10, 60)
	want("taken", [3]uint64{0, 0, 50}, [3]uint64{210, 310, 310})
	r.members[2].elsewhere = false
	bring(15, 10, 10, 10)
	want("of nobody who is known", [3]uint64{5, 5, 55}, [3]uint64{215, 315, 315})
	if p := r.proof; p.owed != 0 || p.copied != 65 || p.taken != 65+845 {
		t.Errorf("%+v", p)
	}
	r.proof = proof{copiesAll: true}
	bring(0, 1, 2, 3)
	if c := meters[2].Snapshot(); c.CopiedBytes != 58 || c.ZeroCopyBytes != 315 {
		t.Errorf("without a device: %+v", c)
	}
}

// several is a receiver of so many flows whose kernel counts, and what its kernel and they do: so
// many bytes are counted as copied, and each flow brings some.
func several(n int) (r *Receiver, bring func(counted uint64, got ...int)) {
	r = &Receiver{proof: proof{counts: true}, z: new(uring.Zcrx)}
	for range n {
		r.members = append(r.members, &member{meter: new(stream.Meter), came: true})
	}
	return r, func(counted uint64, got ...int) {
		r.proof.owed += counted
		for i, n := range got {
			r.members[i].got = n
		}
		r.accountAll(r.members[0].meter)
	}
}

// Copies of nobody who is known are shared by bytes: 0.4 % of a queue's bytes are 0.4 % of each of
// its flows, to the byte, also where a batch has too few of them for a byte each.
func TestCopiesAreShared(t *testing.T) {
	for _, c := range []struct {
		counted uint64 // of a batch
		got     []int
		off     float64
	}{
		{1049, []int{65536, 65536, 65536, 65536}, 0},
		{1, []int{4096, 4096, 4096, 4096}, 0},
		{3, []int{4096, 4096, 4096, 4096}, 0},
		{0, []int{4096, 4096}, 0},
		{8192, []int{4096, 4096}, 0},
		{400, []int{75000, 25000}, 0},
		{7, []int{1000, 0, 1000}, 200},
	} {
		const batches = 1200
		r, bring := several(len(c.got))
		whole := uint64(0)
		for _, n := range c.got {
			whole += uint64(n)
		}
		if n := testing.AllocsPerRun(batches-1, func() { bring(c.counted, c.got...) }); n != 0 {
			t.Errorf("%+v: %v allocations a batch", c, n)
		}
		sum := uint64(0)
		for i, m := range r.members {
			k, want := m.meter.Snapshot(), float64(c.counted)*batches*float64(c.got[i])/float64(whole)
			if math.Abs(float64(k.CopiedBytes)-want) > c.off {
				t.Errorf("%+v: flow %d has %d copied bytes, its share is %.1f", c, i, k.CopiedBytes, want)
			}
			if k.CopiedBytes+k.ZeroCopyBytes != uint64(c.got[i])*batches || m.copied != k.CopiedBytes ||
				m.taken != uint64(c.got[i])*batches {
				t.Errorf("%+v: flow %d: %+v, of %d bytes", c, i, k, c.got[i]*batches)
			}
			sum += k.CopiedBytes
		}
		if sum != c.counted*batches || r.proof.copied != sum || r.proof.owed != 0 {
			t.Errorf("%+v: %d copied in all, %+v", c, sum, r.proof)
		}
	}
}

// What was counted beyond the bytes of a flow that came elsewhere, and has ended, is of the others.
func TestCopiesBeyondOneThatEnded(t *testing.T) {
	r, bring := several(2)
	r.members[1].elsewhere = true
	bring(130, 100, 90)
	if r.members[0].copied != 0 || r.members[1].copied != 90 || r.proof.owed != 40 {
		t.Errorf("it goes on: %d, %d copied, %d owed", r.members[0].copied, r.members[1].copied, r.proof.owed)
	}
	r.members[1].ended = true
	bring(0, 50, 10)
	if r.members[0].copied != 30 || r.members[1].copied != 100 || r.proof.owed != 0 {
		t.Errorf("it has ended: %d, %d copied, %d owed", r.members[0].copied, r.members[1].copied, r.proof.owed)
	}
}

// What the page pool gives away is shared by what the flows claim: 0.4 % of all is 0.4 % of each,
// nothing of one that is known to have been copied, and all of it together.
func TestUnseenIsShared(t *testing.T) {
	for _, c := range []struct {
		unseen        uint64
		taken, copied []uint64
		want          []uint64
	}{
		{16, []uint64{1000, 1000, 1000, 1000}, make([]uint64, 4), []uint64{4, 4, 4, 4}},
		{17, []uint64{1000, 1000, 1000, 1000}, make([]uint64, 4), []uint64{4, 4, 4, 5}},
		{3000, []uint64{1000, 2000}, make([]uint64, 2), []uint64{1000, 2000}},
		{30, []uint64{5000, 1000, 2000}, []uint64{5000, 0, 0}, []uint64{0, 10, 20}},
		{0, []uint64{5000}, []uint64{5000}, []uint64{0}},
		{3 << 50, []uint64{1 << 60, 1 << 60, 1 << 60}, make([]uint64, 3), []uint64{1 << 50, 1 << 50, 1 << 50}},
	} {
		r, _ := several(len(c.taken))
		r.pool.unseen = c.unseen
		for i, m := range r.members {
			m.taken, m.copied = c.taken[i], c.copied[i]
			r.proof.taken, r.proof.copied = r.proof.taken+m.taken, r.proof.copied+m.copied
		}
		for i, m := range r.members {
			if n := r.unseenOf(m); n != c.want[i] {
				t.Errorf("%+v: flow %d has %d", c, i, n)
			}
		}
	}
}

// The notes say that copies are the queue's, and how they were shared; none where there are none.
func TestSharingIsTold(t *testing.T) {
	r, bring := several(4)
	r.queue = &nicqueue.Queue{}
	r.queue.ID = 3
	bring(0, 100, 100, 100, 100)
	if notes := r.sharing(); len(notes) != 0 {
		t.Errorf("without copies: %q", notes)
	}
	r.proof.copied, r.pool.unseen = 50, 60
	notes := r.sharing()
	if len(notes) != 2 || !strings.Contains(notes[0], "50 bytes of RX queue 3") ||
		!strings.Contains(notes[1], "60 bytes of RX queue 3") {
		t.Fatalf("%q", notes)
	}
	for _, note := range notes {
		if !strings.Contains(note, "the queue's 4 flows together") || !strings.Contains(note, "divided by bytes") {
			t.Errorf("%q", note)
		}
	}
	if r.proof.counts = false; len(r.sharing()) != 1 {
		t.Errorf("a kernel that does not count: %q", r.sharing())
	}
}

// A flow that ends while others go on is told so then: its end is its own, and not the last one's.
func TestEndOfOneOfSeveral(t *testing.T) {
	r := &Receiver{}
	flows := []*stream.Flow{{N: 0}, {N: 1}}
	for _, f := range flows {
		r.members = append(r.members, &member{conn: &stream.Conn{}, flow: f, meter: &f.Meter})
	}
	end := func(i int) {
		t.Helper()
		if err := r.judgeMember(r.members[i], uring.CQE{}); err != nil || !r.members[i].ended {
			t.Fatalf("flow %d: %v, ended: %v", i, err, r.members[i].ended)
		}
	}
	if end(1); r.ended || flows[1].EndNs() == 0 || flows[0].EndNs() != 0 {
		t.Errorf("all have ended: %v; ends %d, %d", r.ended, flows[0].EndNs(), flows[1].EndNs())
	}
	if end(0); !r.ended || flows[0].EndNs() < flows[1].EndNs() {
		t.Errorf("all have ended: %v; ends %d, %d", r.ended, flows[0].EndNs(), flows[1].EndNs())
	}
}
