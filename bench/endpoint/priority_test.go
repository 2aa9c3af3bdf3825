// SPDX-License-Identifier: MIT

package endpoint

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHurryIsUndone(t *testing.T) {
	nice := func() int {
		p, err := unix.Getpriority(unix.PRIO_PROCESS, unix.Gettid())
		if err != nil {
			t.Fatal(err)
		}
		return 20 - p
	}
	want := nice()
	calm := hurry()
	meanwhile, tid := nice(), unix.Gettid()
	calm()
	p, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err != nil {
		t.Fatal(err)
	}
	if 20-p != want {
		t.Errorf("nice %d afterwards, %d before", 20-p, want)
	}
	if unix.Geteuid() == 0 && meanwhile != -20 {
		t.Errorf("nice %d meanwhile, root may have -20", meanwhile)
	}
}

// A thread's own policy stays: that of a batch meanwhile and afterwards, and one of real time as it
// is.
func TestHurryKeepsThePolicy(t *testing.T) {
	for _, x := range []unix.SchedAttr{{Policy: unix.SCHED_BATCH, Nice: 3}, {Policy: unix.SCHED_FIFO, Priority: 1}} {
		got := make(chan [3]*unix.SchedAttr)
		go func() { // the thread ends with its policy
			runtime.LockOSThread()
			x.Size = unix.SizeofSchedAttr
			if unix.SchedSetAttr(0, &x, 0) != nil {
				got <- [3]*unix.SchedAttr{}
				return
			}
			before, _ := unix.SchedGetAttr(0, 0)
			calm := hurry()
			meanwhile, _ := unix.SchedGetAttr(0, 0)
			calm()
			after, _ := unix.SchedGetAttr(0, 0)
			got <- [3]*unix.SchedAttr{before, meanwhile, after}
		}()
		a := <-got
		switch {
		case a[0] == nil:
			t.Logf("policy %d is not allowed here", x.Policy)
		case a[1].Policy != x.Policy || *a[2] != *a[0] || x.Policy == unix.SCHED_FIFO && *a[1] != *a[0]:
			t.Errorf("before %+v, meanwhile %+v, afterwards %+v", *a[0], *a[1], *a[2])
		}
	}
}
