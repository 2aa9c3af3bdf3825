// SPDX-License-Identifier: MIT

package zcrx

import (
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
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
			if c := meters[i].Snapshot(); c.CopiedBytes != copied[i] || c.ZeroCopyBytes != not[i] || r.members[i].copied != copied[i] || r.members[i].got != 0 {
				t.Errorf("%s: flow %d has %d copied, %d not, want %d, %d", name, i, c.CopiedBytes, c.ZeroCopyBytes, copied[i], not[i])
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
	want("of nobody who is known", [3]uint64{10, 5, 50}, [3]uint64{210, 315, 320})
	if p := r.proof; p.owed != 0 || p.copied != 65 || p.taken != 65+845 {
		t.Errorf("%+v", p)
	}
	r.proof = proof{copiesAll: true}
	bring(0, 1, 2, 3)
	if c := meters[2].Snapshot(); c.CopiedBytes != 53 || c.ZeroCopyBytes != 320 {
		t.Errorf("without a device: %+v", c)
	}
}
