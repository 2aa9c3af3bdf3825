// SPDX-License-Identifier: MIT

package remedy

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// TestNeeds: each reason has a row, and root that has the capability is not told to be root.
func TestNeeds(t *testing.T) {
	n := need{call: "x", over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_ADMIN}, or: "leave it out",
		kernel: "a.c: b"}
	rows := n.rows()
	if len(rows) != len(privilege.Reasons)+2 || rows[len(rows)-1].If != nil {
		t.Fatalf("%d rows", len(rows))
	}
	if s := privilege.Look(); s.Seccomp || s.Lacks(privilege.Net, unix.CAP_NET_ADMIN) != privilege.Granted {
		t.Skipf("needs root, and no seccomp filter: %+v", s)
	}
	hold := func() (which []string) {
		for _, r := range rows[:len(rows)-1] {
			if _, ok := r.If.Holds(On{}); ok {
				which = append(which, r.Do)
			}
		}
		return which
	}
	if got := hold(); got != nil {
		t.Errorf("root lacks nothing, but %q", got)
	}
	var got []string
	if err := denied.Run(unix.SYS_GETPRIORITY, unix.EPERM, func() { got = hold() }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.Contains(got[0], "seccomp profile") {
		t.Errorf("behind a filter: %q", got)
	}
}
