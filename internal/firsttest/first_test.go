// SPDX-License-Identifier: MIT

package firsttest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestThread(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SCHED_FIFO needs root")
	}
	Thread(t)
	got, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Policy != unix.SCHED_FIFO || got.Flags&unix.SCHED_FLAG_RESET_ON_FORK == 0 {
		t.Errorf("policy %d, flags %#x", got.Policy, got.Flags)
	}
}
