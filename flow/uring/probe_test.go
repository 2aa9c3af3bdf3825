// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

func TestProbe(t *testing.T) {
	Probe() // makes the Go runtime open what it keeps, such as its epoll
	fds, maps := openFDs(t), mappings(t)
	fs := Probe()
	for _, f := range fs.List() {
		t.Logf("%-28s %-5v since %-5s %s %s", f.Name, f.Supported, f.Kernel, f.Reason, f.Fix)
		if f.Name == "" || f.Kernel == "" {
			t.Errorf("a feature without a name or kernel: %+v", f)
		}
		if f.Supported != (f.Err() == nil) {
			t.Errorf("%s: supported %v but error %v", f.Name, f.Supported, f.Err())
		}
		if !f.Supported && (f.Reason == "" || f.Fix == "") {
			t.Errorf("%s: no reason or no fix: %+v", f.Name, f)
		}
	}
	if !fs.Ring.Supported && (fs.RecvMultishot.Supported || fs.SendZC.Supported) {
		t.Error("features without a ring")
	}
	if n := openFDs(t); n != fds {
		t.Errorf("descriptors: %d before, %d after", fds, n)
	}
	if n := mappings(t); n > maps+4 { // the Go runtime maps some of its own
		t.Errorf("mappings: %d before, %d after", maps, n)
	}
}

func TestFeatureJudge(t *testing.T) {
	f := Feature{Name: "IORING_X", Kernel: "6.5"}
	f.judge(&fault.Error{Op: "attempt", Err: unix.EINVAL})
	if f.Supported || f.Errno != unix.EINVAL || !strings.Contains(f.Fix, "Linux 6.5") {
		t.Errorf("EINVAL judged as %+v", f)
	}
	if !errors.Is(f.Err(), unix.EINVAL) {
		t.Errorf("error %v is not EINVAL", f.Err())
	}
	f = Feature{Name: "IORING_OP_SEND_ZC", Kernel: "6.0"}
	f.judge(errNoLoopback)
	if !strings.Contains(f.Fix, "lo up") || f.Err() == nil {
		t.Errorf("no loopback judged as %+v", f)
	}
}

// openFDs counts the open descriptors of this process.
func openFDs(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// mappings counts the memory mappings of this process.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// The first feature that is not there is the mode's reason, with its fix.
func TestLacking(t *testing.T) {
	has := Feature{Name: "has", Supported: true}
	no := Feature{Name: "no", Errno: unix.EINVAL, Fix: "use another kernel"}
	if err := Lacking("m", has, has); err != nil {
		t.Error(err)
	}
	u := (*fault.Unsupported)(nil)
	if err := Lacking("m", has, no, Feature{Name: "later"}); !errors.As(err, &u) || u.Mode != "m" || u.Op != "no" ||
		u.How != no.Fix || !errors.Is(err, unix.EINVAL) {
		t.Errorf("%+v", err)
	}
}

// A registration without a NIC that a kernel refuses says nothing of header split, and asks for the
// release that has what was to be tried, not for that of the way to try it.
func TestNotWithoutNIC(t *testing.T) {
	refused := &fault.Error{Op: "register zcrx interface queue", Err: unix.EINVAL,
		How: "header split is off: use Linux 7.1 or later (ZCRX_REG_NODEV)"}
	for _, x := range []struct {
		older, want string
	}{{withoutNIC("6.19"), "use Linux 6.19 or later; whether"}, {"use Linux 7.2 or later", "use Linux 7.2 or later"},
		{"", refused.How}} {
		var f Feature
		f.judge(notWithoutNIC(refused, x.older))
		if !strings.HasPrefix(f.Fix, x.want) || f.Errno != unix.EINVAL ||
			f.Reason != "register zcrx interface queue: invalid argument" {
			t.Errorf("%+v: %+v", x, f)
		}
	}
	denied := &fault.Error{Op: "register", Err: unix.EPERM, How: "run as root"}
	if err := notWithoutNIC(denied, withoutNIC("6.19")); fault.Fix(err) != "run as root" {
		t.Errorf("%v", err)
	}
}
