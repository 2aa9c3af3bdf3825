// SPDX-License-Identifier: MIT

package nicqueue

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Only where there is no table is a queue taken that others may use, and the run says so.
func TestNoTable(t *testing.T) {
	refused := func(errno unix.Errno) error {
		return &fault.Error{Op: "read the RSS indirection table of eth0", Err: errno}
	}
	for name, x := range map[string]struct {
		err, reading error
		want         bool
	}{
		"no table":          {refused(unix.EOPNOTSUPP), refused(unix.EOPNOTSUPP), true},
		"it cannot be set":  {refused(unix.EOPNOTSUPP), nil, false},
		"one queue":         {refused(unix.EINVAL), refused(unix.EOPNOTSUPP), false},
		"in a reset":        {refused(unix.EBUSY), refused(unix.EBUSY), false},
		"table not to tell": {&fault.Error{Op: "read", Err: nic.ErrTableHidden}, nil, false},
	} {
		if got := noTable(x.err, x.reading); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	q := &Queue{Queue: nic.Queue{ID: 3}, Dev: &nic.Device{Name: "eth0"}}
	if got := q.Notes(); got != nil {
		t.Error(got)
	}
	q.unfenced, q.bound = true, true
	if got := strings.Join(q.Notes(), "\n"); !strings.Contains(got,
		"RX queue 3 was not kept free of other flows: eth0 has no RSS table") || !strings.Contains(got, "EFAULT") {
		t.Error(got)
	}
}
