// SPDX-License-Identifier: MIT

package endpoint

import (
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
