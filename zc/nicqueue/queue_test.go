// SPDX-License-Identifier: MIT

package nicqueue

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"golang.org/x/sys/unix"
)

// A mode's error keeps the errno for errors.Is, the kernel's text, and the fix.
func TestUnsupported(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		is   error
		want string
		fix  string
	}{
		"nic": {&fault.Error{Op: "bind", Err: unix.EINVAL, Ack: "tcp-data-split is disabled", How: "ethtool -G"},
			unix.EINVAL, "devmem is not supported here: bind: invalid argument: tcp-data-split is disabled",
			"ethtool -G"},
		"uring": {&fault.Error{Op: "io_uring_register", Err: unix.EPERM, How: "run as root"}, unix.EPERM,
			"devmem is not supported here: io_uring_register: operation not permitted (EPERM)", "run as root"},
		"dmabuf": {&fault.Error{Op: "make a udmabuf", Err: dmabuf.ErrLimit, How: "echo"}, dmabuf.ErrLimit,
			"devmem is not supported here: make a udmabuf: above the kernel's limit", "echo"},
		"other": {errors.New("broken"), nil, "devmem is not supported here: broken", ""},
	} {
		err := Unsupported("devmem", c.err)
		if c.is != nil && !errors.Is(err, c.is) || err.Error() != c.want || fault.Fix(err) != c.fix {
			t.Errorf("%s: %v; fix: %s", name, err, fault.Fix(err))
		}
	}
}

// Where there is no queue to be had, the first missing thing has a name and
// nothing is kept.
func TestTakeRefused(t *testing.T) {
	for dev, want := range map[string]string{"lo": "lo", "no-such-if": "find interface no-such-if"} {
		q, err := Take("devmem", stream.NICQueue{Dev: dev})
		var u *fault.Unsupported
		if q != nil || !errors.As(err, &u) || u.Mode != "devmem" || !strings.Contains(err.Error(), want) ||
			fault.Fix(err) == "" {
			t.Errorf("%s: %+v, %v; fix: %s", dev, q, err, fault.Fix(err))
		}
	}
}

func TestProbeRefused(t *testing.T) {
	asked := false
	err := Probe("devmem", "no-such-if", func(*nic.Device) error { asked = true; return nil })
	if !errors.Is(err, unix.ENODEV) || asked {
		t.Errorf("%v, driver asked: %v", err, asked)
	}
}
