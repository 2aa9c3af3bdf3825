// SPDX-License-Identifier: MIT

package remedytest

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// What does not name the object, is another errno, or has other words than the table, is found.
func TestCheck(t *testing.T) {
	good := remedy.Error(remedy.RingSet, "set the ring rx of eth0", unix.EOPNOTSUPP, remedy.On{Dev: "eth0"})
	for name, x := range map[string]struct {
		err  error
		good bool
	}{
		"good":        {good, true},
		"wrapped":     {errors.Join(good), true},
		"no object":   {&fault.Error{Op: "set a ring", Err: unix.EOPNOTSUPP, How: good.How}, false},
		"other errno": {&fault.Error{Op: "set a ring of eth0", Err: unix.EINVAL, How: good.How}, false},
		"other words": {&fault.Error{Op: "set a ring of eth0", Err: unix.EOPNOTSUPP, How: "buy another NIC"}, false},
		"no words":    {&fault.Error{Op: "set a ring of eth0", Err: unix.EOPNOTSUPP}, false},
		"nil":         {nil, false},
	} {
		if err := Check(remedy.RingSet, "eth0", unix.EOPNOTSUPP, x.err); (err == nil) != x.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every errno that a call is said to give comes, and none twice.
func TestErrnos(t *testing.T) {
	all := errnos(remedy.RingSet)
	for i, e := range all {
		if i > 0 && all[i-1] >= e {
			t.Errorf("%v", all)
		}
	}
	// own, of ethtool, of netlink, of every call
	for _, want := range []unix.Errno{unix.EOPNOTSUPP, unix.EPERM, unix.ENODEV, unix.EBADF} {
		ok := false
		for _, e := range all {
			ok = ok || e == want
		}
		if !ok {
			t.Errorf("no %v among %v", want, all)
		}
	}
}
