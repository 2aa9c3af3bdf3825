// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// What is to be kept and does not read now is not lost: nothing is changed that may disturb it.
// What a driver says each time hinders nobody.
func TestUnreadKept(t *testing.T) {
	for _, x := range []struct {
		err    error
		passes bool
	}{
		{unix.EIO, true},
		{os.ErrDeadlineExceeded, true},
		{fmt.Errorf("ethtool has not answered request 3: %w", os.ErrDeadlineExceeded), true},
		{rtnl.ErrOtherAnswer, true},
		{&fault.Error{Op: "read the rings", Err: fmt.Errorf("request 3 of ethtool: %w", rtnl.ErrOtherAnswer)}, true},
		{unix.EOPNOTSUPP, false},
		{errors.New("no such field"), false},
	} {
		m := newMachine()
		m.unread["rss"] = x.err
		l := m.lease(t)
		err := l.Apply(Want{"eth0", "channels", "2"})
		if x.passes && (!errors.Is(err, x.err) || len(m.log) != 0) {
			t.Errorf("%v: applied: %v, did %q", x.err, err, m.log)
		}
		if !x.passes && (err != nil || m.values["channels"] != "2") {
			t.Errorf("%v: applied: %v, did %q", x.err, err, m.log)
		}
	}
}

// Whose a kept setting is must be known before the next change, also after it has read once.
func TestUnreadLater(t *testing.T) {
	impatient(t)
	for _, passing := range []error{os.ErrDeadlineExceeded, rtnl.ErrOtherAnswer} {
		m := newMachine()
		l := m.lease(t)
		if err := l.Apply(Want{"eth0", "channels", "2"}); err != nil {
			t.Fatal(err)
		}
		m.unread["rss"], m.log = passing, nil
		if err := l.Add(Want{"eth0", "mtu", "4148"}); !errors.Is(err, passing) || len(m.log) != 0 {
			t.Errorf("%v: added: %v, did %q", passing, err, m.log)
		}
		delete(m.unread, "rss")
		if err := l.Restore(); err != nil || m.values["channels"] != "4" {
			t.Errorf("%v: restored: %v, %v", passing, err, m.values)
		}
	}
}
