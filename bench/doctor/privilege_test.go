// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

const inUsersEnv = "ZCBENCH_DOCTOR_IN_USERS"

// TestDoctorAndRunAgree is issue 48, point 14: the doctor called root's capability of a user
// namespace good, and then the call that was refused said "run as root".
func TestDoctorAndRunAgree(t *testing.T) {
	if os.Getenv(inUsersEnv) != "" {
		tellInUsers()
		return
	}
	one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	for _, flags := range []uintptr{syscall.CLONE_NEWUSER, syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestDoctorAndRunAgree$")
		cmd.Env = append(os.Environ(), inUsersEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, UidMappings: one, GidMappings: one}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
			t.Skipf("no user namespaces here: %v", err)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		told := 0
		for line := range strings.Lines(string(out)) {
			what, words, ok := strings.Cut(line, " -- ")
			if !ok {
				continue
			}
			told++
			if !strings.Contains(words, "user namespace") ||
				!strings.Contains(words, "run on the host, or as root outside") ||
				strings.Contains(words, "run as root") {
				t.Errorf("%s: %s", what, words)
			}
		}
		if told < 4 {
			t.Errorf("%#x: only %d answers:\n%s", flags, told, out)
		}
	}
}

// tellInUsers prints what the doctor says, and what calls of a run say.
func tellInUsers() {
	for _, c := range []wire.Check{capabilities(), probing(privilege.Look())} {
		fmt.Println("doctor:", c.Name, c.Status, "--", c.Found, c.Fix)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer unix.Close(fd)
	for _, o := range []sock.Options{{BusyPollUs: 50}, {RcvBuf: 1 << 30}} {
		err := o.Apply(fd)
		fmt.Println("run:", err, "--", fault.Fix(err))
	}
	if f := uring.Probe().Zcrx; f.Errno == unix.EPERM {
		fmt.Println("run:", f.Reason, "--", f.Fix)
	}
}

// What a container lacks is named, and who has it all is not told to be root.
func TestCapabilities(t *testing.T) {
	all := privilege.State{Known: true, Effective: 1<<41 - 1, Bounding: 1<<41 - 1, FirstUsers: true, NetOurs: true}
	for _, x := range []struct {
		name               string
		s                  func(*privilege.State)
		status, found, fix string
	}{
		{"root", func(*privilege.State) {}, "ok", "CAP_NET_ADMIN", ""},
		{"root behind a filter", func(s *privilege.State) { s.Seccomp = true }, "ok", "seccomp filter is in force", ""},
		{"user", func(s *privilege.State) { s.UID, s.Effective = 7, 0 }, "warn", "no CAP_NET_ADMIN (uid 7)",
			"run as root or with CAP_NET_ADMIN, or: setcap"},
		{"container", func(s *privilege.State) { s.Effective, s.Bounding = 0, 0 }, "warn", "took it away", "--cap-add"},
		{"service", func(s *privilege.State) { s.UID, s.Effective, s.NoNewPrivs = 7, 0, true }, "warn", "no_new_privs",
			"without no_new_privs"},
		{"rootless", func(s *privilege.State) { s.FirstUsers = false }, "warn", "only over this network namespace",
			"as root outside"},
		{"nothing known", func(s *privilege.State) { s.Known = false }, "warn", "/proc does not tell", "run as root"},
	} {
		s := all
		x.s(&s)
		c := capabilitiesOf(s)
		if c.Status != x.status || !strings.Contains(c.Found, x.found) || !strings.Contains(c.Fix, x.fix) {
			t.Errorf("%s: %+v", x.name, c)
		}
		complete(t, []wire.Check{c, probing(s)})
	}
}
