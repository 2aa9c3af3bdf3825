// SPDX-License-Identifier: MIT

package remedy

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// place is a file and a function of the kernel; or "none", where it is zcbench that gives up.
var place = regexp.MustCompile(`^([a-z][\w./-]+\.[ch]: \w+|none: .)`)

// TestMostHaveAFix: a row without one is an exception. Those that one missing capability makes are
// one, as in docs/errors.md, and so are those that one list makes for several calls.
func TestMostHaveAFix(t *testing.T) {
	var all, without []string
	for _, r := range once(table()) {
		row := fmt.Sprintf("%s, %s: %s", fault.ErrnoName(r.Errno), r.Cause, r.Do)
		if slices.Contains(all, row) {
			continue
		}
		all = append(all, row)
		if r.Do == "" {
			without = append(without, row)
		}
	}
	if 5*len(without) > len(all) {
		t.Errorf("%d of %d rows have no fix:\n%s", len(without), len(all), strings.Join(without, "\n"))
	}
	t.Logf("%d of %d", len(without), len(all))
}

// TestRowsAreWhole holds every row to what docs/errors.md and docs/fixes.md say of it.
func TestRowsAreWhole(t *testing.T) {
	last := map[string]bool{} // a row without a state ends its (call, errno)
	for i, r := range table() {
		key := fmt.Sprintf("%s, %s", r.Call, fault.ErrnoName(r.Errno))
		switch {
		case r.Cause == "" || r.Kernel == "":
			t.Errorf("row %d (%s) wants a cause and the kernel's place", i, key)
		case !place.MatchString(r.Kernel):
			t.Errorf("%s: want FILE: FUNCTION of the kernel, not %q", key, r.Kernel)
		case r.Errno != 0 && strings.HasPrefix(fault.ErrnoName(r.Errno), "errno"):
			t.Errorf("%s: no errno %d", key, r.Errno)
		case r.Effect == harmless && r.Undo != "", r.Effect != harmless && r.Undo == "":
			t.Errorf("%s: effect %d, undone by %q", key, r.Effect, r.Undo)
		case r.If != nil && (r.If.Name == "" || r.If.From == "" || r.If.Holds == nil):
			t.Errorf("%s: a state wants a name, what is read, and a look", key)
		case last[key]:
			t.Errorf("%s: a row stands after the one that always holds", key)
		}
		last[key] = r.If == nil
	}
}

func TestErrorKeepsAFix(t *testing.T) {
	err := Error(Connect, "connect to a", &fault.Error{Op: "x", Err: unix.ENETUNREACH, How: "do y"}, On{})
	if err.How != "do y" || !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("%v: %q", err, err.How)
	}
	if err := Error(Connect, "connect to a", unix.ENETUNREACH, On{}); !strings.Contains(err.How, "no route") {
		t.Errorf("%v: %q", err, err.How)
	}
	if err := Error(Connect, "connect to a", unix.EXDEV, On{}); err.How != NoFix {
		t.Errorf("%v: %q", err, err.How)
	}
}

// Names from elsewhere may stand in commands that somebody pastes.
func TestNamesInCommands(t *testing.T) {
	dev := On{Dev: "$(reboot)"}
	if got := dev.fill("ip link set DEV up"); got != "ip link set '$(reboot)' up" {
		t.Error(got)
	}
	zone := On{Remote: netip.MustParseAddrPort("[fe80::1%`id`]:5201")}
	if got := zone.fill("ip route get ADDRESS, port PORT"); got != "ip route get 'fe80::1%`id`', port 5201" {
		t.Error(got)
	}
	if words, _ := smallOnlyIn(&unix.TCPInfo{State: 1, Snd_mss: 1448, Pmtu: 1500, Unacked: 1, Backoff: 1,
		Bytes_sent: 9999}, zone); !strings.Contains(words, "-s 1452 'fe80::1%`id`' shows") {
		t.Error(words)
	}
	name := On{Value: "a;b", Path: "/sys/fs/cgroup/a b/cpu.max"}
	if got := name.fill("modprobe tcp_VALUE; cat PATH"); got != "modprobe 'tcp_a;b'; cat '/sys/fs/cgroup/a b/cpu.max'" {
		t.Error(got)
	}
	command := On{Value: "sysctl -w vm.nr_hugepages=3 (before: 1)"}
	if got := command.fill("reserve them: VALUE"); got != "reserve them: "+command.Value {
		t.Error(got)
	}
}

// The table is made once: a sender that waits for its receiver asks it 50 times a second and flow.
// Who is given rows cannot change it.
func TestTableIsMadeOnce(t *testing.T) {
	if first, again := &table()[0], &table()[0]; first != again {
		t.Error("it is made again for each question")
	}
	want := How(Connect, unix.ECONNREFUSED, On{})
	rows := Rows(Connect)
	for i := range rows {
		rows[i].Cause, rows[i].Do = "changed", "changed"
	}
	if got := How(Connect, unix.ECONNREFUSED, On{}); got != want {
		t.Errorf("%q, was %q", got, want)
	}
}
