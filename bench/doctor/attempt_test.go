// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/uring"
	"golang.org/x/sys/unix"
)

// The rung that decides says what the kernel answered, and the command that helps.
func TestAttempt(t *testing.T) {
	below := []wire.Check{{Name: "kernel", Status: "ok", Command: "none"}, {Name: "capability", Status: "lacking",
		Errno: "EPERM", Fix: "run as root", Command: "sudo"}, {Name: "XDP", Status: "lacking", Command: "xdp off"}}
	for _, x := range []struct {
		err  error
		want wire.Check
	}{
		{nil, wire.Check{Status: "ok", Found: "works"}},
		{&fault.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EOPNOTSUPP, How: "other NIC"},
			wire.Check{Status: "lacking", Found: "register: operation not supported (EOPNOTSUPP)", Errno: "EOPNOTSUPP",
				Fix: "other NIC"}},
		{&fault.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EEXIST, How: "detach it: xdp off"},
			wire.Check{Status: "lacking", Found: "register: file exists (EEXIST)", Errno: "EEXIST",
				Fix: "detach it: xdp off", Command: "xdp off"}},
		{errors.New("it does not"), wire.Check{Status: "lacking", Found: "it does not", Errno: "EPERM",
			Fix: "run as root", Command: "sudo"}},
	} {
		got := attempt(x.err, below)
		x.want.Name, x.want.Needed = "attempt", got.Needed
		if got != x.want || got.Needed == "" {
			t.Errorf("%v: %+v, want %+v", x.err, got, x.want)
		}
	}
	c := feature(uring.Feature{Kernel: "6.15", Errno: unix.EINVAL, Reason: "io_uring_setup: invalid argument",
		Fix: "use Linux 6.15 or later"})
	if c.Status != "lacking" || c.Errno != "EINVAL" || c.Needed != "Linux 6.15" {
		t.Errorf("%+v", c)
	}
}

// A doubt is told once: the attempt says where.
func TestDoubtIsToldOnce(t *testing.T) {
	doubt := &fault.Doubt{Mode: "zcrx", Why: "nobody knows", How: "run it"}
	got := attempt(doubt, []wire.Check{{Name: "kernel", Status: "ok"}, {Name: "memory providers", Status: "warn",
		Found: "nobody knows", Fix: "run it"}})
	if got.Status != "warn" || got.Found != "only a run can tell: see memory providers" || got.Fix != "" {
		t.Errorf("%+v", got)
	}
	if got := attempt(doubt, nil); got.Status != "warn" || got.Found != "nobody knows" || got.Fix != "run it" {
		t.Errorf("told nowhere else: %+v", got)
	}
}

// What works is not lacking for the table of drivers.
func TestAttemptOverrulesTable(t *testing.T) {
	table := func() []wire.Check {
		return []wire.Check{{Name: "driver", Status: "lacking", Found: "idpf", Fix: "another NIC"}}
	}
	if got := overruled(nil, table())[0]; got.Status != "warn" || got.Fix != "" ||
		got.Found != "idpf: not known to do it, but the attempt works" {
		t.Errorf("%+v", got)
	}
	if got := overruled(unix.EOPNOTSUPP, table())[0]; got != table()[0] {
		t.Errorf("%+v", got)
	}
}
