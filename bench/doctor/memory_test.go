// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

func TestMemory(t *testing.T) {
	ok, short := memory(func(int64) string { return "" }),
		memory(func(int64) string { return "the control group has too little" })
	if ok.Status != "ok" || short.Status != "warn" || !strings.Contains(short.Found, "too little") ||
		!strings.Contains(short.Fix, "--memory") {
		t.Errorf("%+v, %+v", ok, short)
	}
	complete(t, []wire.Check{ok, short})
}

// A ring that the kernel has no memory for is a doubt before a run, with the words of the run.
func TestRingMemory(t *testing.T) {
	if s := privilege.Look(); s.Lacks(privilege.Machine, unix.CAP_IPC_LOCK) != privilege.Granted {
		t.Skipf("needs CAP_IPC_LOCK, which is then not what helps: %+v", s)
	}
	var c wire.Check
	err := denied.Run(unix.SYS_IO_URING_SETUP, unix.ENOMEM, func() { c = ringMemory(uring.NewBest) })
	if err != nil {
		t.Fatal(err)
	}
	if c.Status != "warn" || !strings.Contains(c.Found, "ENOMEM") || !strings.Contains(c.Fix, "--cq-entries") ||
		strings.Contains(c.Fix, "CAP_IPC_LOCK") {
		t.Errorf("%+v", c)
	}
	complete(t, []wire.Check{c, ringMemory(uring.NewBest)})
}
