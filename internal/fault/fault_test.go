// SPDX-License-Identifier: MIT

package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

func TestReason(t *testing.T) {
	cannot := &fault.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EOPNOTSUPP}
	left := errors.New("restore: mtu of eth0: it is stuck")
	for _, c := range []struct {
		err  error
		want string
	}{
		{left, "restore: mtu of eth0: it is stuck"},
		{cannot, "register: operation not supported (EOPNOTSUPP)"},
		{&fault.Unsupported{Mode: "zcrx", Op: "register", Err: fmt.Errorf("register: %w (EOPNOTSUPP)",
			unix.EOPNOTSUPP)}, "register: operation not supported (EOPNOTSUPP)"},
		{fmt.Errorf("open: %w", cannot), "register: operation not supported (EOPNOTSUPP)"},
		{errors.Join(cannot, nil), "register: operation not supported (EOPNOTSUPP)"},
		{errors.Join(cannot, left),
			"register: operation not supported (EOPNOTSUPP)\nrestore: mtu of eth0: it is stuck"},
		{errors.Join(errors.Join(cannot, left), unix.EIO),
			"register: operation not supported (EOPNOTSUPP)\nrestore: mtu of eth0: it is stuck\ninput/output error"},
		{fmt.Errorf("%w; and %w", left, unix.EIO), "restore: mtu of eth0: it is stuck; and input/output error"},
	} {
		if got := fault.Reason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorSaysAllItKnows(t *testing.T) {
	for _, c := range []struct {
		err  *fault.Error
		want string
	}{
		{&fault.Error{Op: "no carrier"}, "no carrier"},
		{&fault.Error{Op: "bind eth0", Err: unix.EOPNOTSUPP, Ack: "split is off"},
			"bind eth0: operation not supported (EOPNOTSUPP): split is off"},
		{&fault.Error{Op: "bind eth0", Err: fmt.Errorf("x: %w", unix.EPERM)}, "bind eth0: x: operation not permitted"},
		{&fault.Error{Op: "bind eth0", Err: unix.Errno(4000)}, "bind eth0: errno 4000 (errno 4000)"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestFixAndBlame(t *testing.T) {
	err := fmt.Errorf("open: %w", &fault.Error{Op: "x", How: "do y", Peer: true})
	if got := fault.Fix(err); got != "do y" {
		t.Errorf("fix %q", got)
	}
	if !fault.BlamesPeer(err) || fault.BlamesPeer(unix.EIO) {
		t.Error("the peer is blamed wrongly")
	}
	if got := fault.Fix(unix.EIO); got != "" {
		t.Errorf("fix %q of an errno alone", got)
	}
}
