// SPDX-License-Identifier: MIT

package symbol

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"golang.org/x/sys/unix"
)

const maps = `00400000-004a3000 r--p 00000000 fe:00 1234    /usr/bin/a program
004a3000-00542000 r-xp 000a3000 fe:00 1234    /usr/bin/a program
c000000000-c000400000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00000000 00:00 0
7ffe8e5f6000-7ffe8e5f8000 r-xp 00000000 00:00 0                          [vdso]
`

func TestMaps(t *testing.T) {
	all, err := parseMaps(strings.NewReader(maps))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[0] != (mapping{0x4a3000, 0x542000, 0xa3000, "fe:00", 1234, "/usr/bin/a program"}) ||
		all[1].path != "" || all[2].path != "[vdso]" {
		t.Errorf("%+v", all)
	}
	for addr, want := range map[uint64]uint64{0x4a2fff: 0, 0x4a3000: 0x4a3000, 0x541fff: 0x4a3000, 0x542000: 0,
		0x7ffe8e5f7000: 0x7ffe8e5f6000} {
		if m, ok := find(all, addr); m.from != want || ok != (want != 0) {
			t.Errorf("%#x is in %+v (%v)", addr, m, ok)
		}
	}
	for _, wrong := range []string{"x", "1-2 r-x 0 0:0 0", "1-2 r-xp 0 0:0 x", "1-g r-xp 0 0:0 0", "12 r-xp 0 0:0 0"} {
		if _, err := parseMaps(strings.NewReader(wrong + "\n")); err == nil ||
			!strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func FuzzMaps(f *testing.F) {
	f.Add(maps)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseMaps(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range all {
			if _, ok := find(all, m.from); !ok {
				t.Fatalf("%+v is not found", m)
			}
		}
	})
}

// A kernel that hides its addresses is told from one that cannot be read, with what is set and
// what to set.
func TestHidden(t *testing.T) {
	read := fmt.Errorf("read the kernel's symbols: %w", kallsyms.ErrHidden)
	user := privilege.State{Known: true, UID: 7, Bounding: 1<<41 - 1, FirstUsers: true}
	root := privilege.State{Known: true, Effective: 1<<41 - 1, Bounding: 1<<41 - 1}
	for _, x := range []struct {
		is  string
		err error
		s   privilege.State
		how string
	}{{"0\n", nil, user, "run as root or with CAP_SYSLOG"}, {"1\n", nil, user, "run as root or with CAP_SYSLOG"},
		{"2\n", nil, user, "sysctl -w kernel.kptr_restrict=1, and run as root or with CAP_SYSLOG"},
		{"1\n", nil, root, root.Fix(privilege.Machine, unix.CAP_SYSLOG)}, // of a user namespace
		{"", os.ErrPermission, user,
			"run as root or with CAP_SYSLOG; if that is so, sysctl -w kernel.kptr_restrict=1"}} {
		err := hidden(read, func() ([]byte, error) { return []byte(x.is), x.err }, x.s)
		is := strings.TrimSpace(x.is)
		if is == "" {
			is = "unknown"
		}
		if !errors.Is(err, kallsyms.ErrHidden) || !strings.Contains(err.Error(), "kernel.kptr_restrict is "+is) ||
			fault.Fix(err) != x.how {
			t.Errorf("%q: %v; fix: %s", x.is, err, fault.Fix(err))
		}
	}
	root.FirstUsers = true
	err := hidden(read, func() ([]byte, error) { return []byte("2\n"), nil }, root)
	if how := fault.Fix(err); how != "sysctl -w kernel.kptr_restrict=1" {
		t.Error(how)
	}
	if err := hidden(os.ErrNotExist, nil, user); err != os.ErrNotExist {
		t.Error(err)
	}
}

// This process's own functions have their names, and so has a process that ended.
func TestOwnProcess(t *testing.T) {
	n, err := New()
	if errors.Is(err, kallsyms.ErrHidden) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("map_files needs root")
	}
	pc := reflect.ValueOf(parseMaps).Pointer()
	want := runtime.FuncForPC(pc).Name()
	for _, x := range []struct {
		addr    uint64
		returns bool
	}{{uint64(pc), false}, {uint64(pc) + 1, true}} {
		if f := n.User(os.Getpid(), x.addr, x.returns); f.Name != want || f.Kernel || f.Module == "" {
			t.Errorf("%#x: %+v, want %s", x.addr, f, want)
		}
	}
	if f := n.User(os.Getpid(), 1, false); f.Name != "[unknown]" {
		t.Errorf("address 1: %+v", f)
	}
	if f := n.User(1<<30, 1, false); f.Name != "[ended]" || n.Comm(1<<30) != "pid 1073741824" {
		t.Errorf("a process that is not there: %+v, %s", f, n.Comm(1<<30))
	}
	if n.Comm(os.Getpid()) == "" || n.Comm(0) != "swapper" {
		t.Errorf("comms %q, %q", n.Comm(os.Getpid()), n.Comm(0))
	}
	if f := n.Kernel(1, false); f.Name != "[unknown]" || !f.Kernel {
		t.Errorf("kernel address 1: %+v", f)
	}
}
