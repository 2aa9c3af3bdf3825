package stream_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"golang.org/x/sys/unix"
)

func TestReasonOf(t *testing.T) {
	cannot := &stream.Unsupported{Mode: "zcrx", Op: "register", Err: unix.EOPNOTSUPP}
	left := errors.New("restore: mtu of eth0: it is stuck")
	for _, c := range []struct {
		err  error
		want string
	}{
		{left, "restore: mtu of eth0: it is stuck"},
		{cannot, "register: operation not supported"},
		{&stream.Unsupported{Mode: "zcrx", Op: "register", Err: fmt.Errorf("register: %w (EOPNOTSUPP)", unix.EOPNOTSUPP)}, "register: operation not supported (EOPNOTSUPP)"},
		{fmt.Errorf("open: %w", cannot), "register: operation not supported"},
		{errors.Join(cannot, nil), "register: operation not supported"},
		{errors.Join(cannot, left), "register: operation not supported\nrestore: mtu of eth0: it is stuck"},
		{errors.Join(errors.Join(cannot, left), unix.EIO), "register: operation not supported\nrestore: mtu of eth0: it is stuck\ninput/output error"},
		{fmt.Errorf("%w; and %w", left, unix.EIO), "restore: mtu of eth0: it is stuck; and input/output error"},
	} {
		if got := stream.ReasonOf(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
