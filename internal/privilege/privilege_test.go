// SPDX-License-Identifier: MIT

package privilege

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const childEnv = "ZCBENCH_PRIVILEGE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	os.Exit(m.Run())
}

// child says of each kind of privilege what this package says, and what the kernel does.
func child() {
	s := Look()
	for _, x := range attempts {
		r := s.Lacks(x.over, x.cap)
		fmt.Printf("%s %v %v\n", x.name, r == Granted, x.try() == nil)
	}
	fmt.Println("fix", Fix(Machine, unix.CAP_NET_ADMIN))
}

var attempts = []struct {
	name string
	over Over
	cap  Cap
	try  func() error
}{
	{"machine", Machine, unix.CAP_NET_ADMIN, func() error { // net/core/sock.c: SO_RCVBUFFORCE, capable()
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<20)
	}},
	{"net", Net, unix.CAP_NET_RAW, func() error { // net/ipv4/af_inet.c: inet_create, ns_capable()
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"file", File, unix.CAP_DAC_OVERRIDE, func() error { // fs/proc/proc_sysctl.c: test_perm
		fd, err := unix.Open("/proc/sys/kernel/printk", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{"own", Own, unix.CAP_SYS_ADMIN, func() error { return unix.Unshare(unix.CLONE_NEWUTS) }},
}

// inside runs child with the attributes given.
func inside(t *testing.T, attr *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
		t.Skipf("no user namespaces here: %v", err)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestTheKernelAgrees tries what each half of a capability allows, in user namespaces of several
// makes: what this package says is what the kernel does.
func TestTheKernelAgrees(t *testing.T) {
	if s := Look(); os.Geteuid() != 0 || s.Lacks(Machine, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW,
		unix.CAP_SYS_ADMIN) != Granted {
		t.Skipf("needs root of the machine: makes user namespaces: %+v", s)
	}
	root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	many := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 100000, Size: 65536}}
	all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 4294967295}}
	users := func(m []syscall.SysProcIDMap, flags uintptr) *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | flags, UidMappings: m, GidMappings: m,
			GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{}}
	}
	const outside = "run on the host, or as root outside"
	for _, x := range []struct {
		name string
		attr *syscall.SysProcAttr
		want []string // what is granted
		fix  string
	}{
		{"root", &syscall.SysProcAttr{}, []string{"machine", "net", "file", "own"}, "CAP_NET_ADMIN is there, so "},
		{"a user", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, nil,
			"run as root or with CAP_NET_ADMIN"},
		{"root without capabilities of its own", users(root, 0), []string{"file", "own"}, outside},
		{"root of a namespace of its own", users(root, syscall.CLONE_NEWNET), []string{"net", "file", "own"}, outside},
		{"unprivileged container", users(many, syscall.CLONE_NEWNET), []string{"net", "own"}, outside},
		{"unprivileged container in the host's network", users(many, 0), []string{"own"}, outside},
		{"all users mapped", users(all, syscall.CLONE_NEWNET), []string{"net", "file", "own"}, outside},
	} {
		t.Run(x.name, func(t *testing.T) {
			out := inside(t, x.attr)
			for _, a := range attempts {
				granted := strings.Contains(" "+strings.Join(x.want, " ")+" ", " "+a.name+" ")
				if want := fmt.Sprintf("%s %v %v\n", a.name, granted, granted); !strings.Contains(out, want) {
					t.Errorf("want %q in\n%s", want, out)
				}
			}
			if _, fix, _ := strings.Cut(out, "fix "); !strings.Contains(fix, x.fix) {
				t.Errorf("fix %q, want %q", fix, x.fix)
			}
		})
	}
}

func TestLacks(t *testing.T) {
	const admin, all = Cap(unix.CAP_NET_ADMIN), uint64(1)<<41 - 1
	host := State{Known: true, Effective: all, Bounding: all, FirstUsers: true, NetOurs: true, RootHere: true,
		RootItself: true}
	for _, x := range []struct {
		name string
		s    func(*State)
		over Over
		caps []Cap
		want Reason
	}{
		{"root", func(*State) {}, Machine, []Cap{admin}, Granted},
		{"container that drops it", func(s *State) { s.Effective, s.Bounding = 0, 0 }, Net, []Cap{admin}, dropped},
		{"root that has put it down", func(s *State) { s.Effective = 0 }, Machine, []Cap{admin}, dropped},
		{"user", func(s *State) { s.UID, s.Effective = 7, 0 }, Machine, []Cap{admin}, NotRoot},
		{"user in a container", func(s *State) { s.UID, s.Effective, s.Bounding = 7, 0, 0 }, Machine, []Cap{admin},
			dropped},
		{"user with no_new_privs", func(s *State) { s.UID, s.Effective, s.NoNewPrivs = 7, 0, true }, Own, []Cap{admin},
			noNewPrivs},
		{"one of two", func(s *State) { s.Effective = 1 << admin }, Machine, []Cap{admin, unix.CAP_BPF}, dropped},
		{"the greater one", func(s *State) { s.Effective = 1 << unix.CAP_SYS_ADMIN }, Machine,
			[]Cap{unix.CAP_BPF, unix.CAP_PERFMON}, Granted},
		{"not the greater one", func(s *State) { s.Effective = 1 << unix.CAP_SYS_ADMIN }, Machine,
			[]Cap{unix.CAP_SYSLOG}, dropped},
		{"users, machine", func(s *State) { s.FirstUsers = false }, Machine, []Cap{admin}, OfUsers},
		{"users, own network", func(s *State) { s.FirstUsers = false }, Net, []Cap{admin}, Granted},
		{"users, own network, dropped", func(s *State) { s.FirstUsers, s.Effective = false, 0 }, Net, []Cap{admin},
			dropped},
		{"users, made by the caller", func(s *State) { s.FirstUsers, s.Effective, s.NetMade = false, 0, true }, Net,
			[]Cap{admin}, Granted},
		{"users, host's network", func(s *State) { s.FirstUsers, s.NetOurs = false, false }, Net, []Cap{admin},
			foreignNet},
		{"users, files", func(s *State) { s.FirstUsers, s.RootHere, s.RootItself = false, false, false }, File,
			[]Cap{unix.CAP_DAC_OVERRIDE}, OfUsers},
		{"nothing known", func(s *State) { *s = State{} }, Net, []Cap{admin}, Unknown},
	} {
		s := host
		x.s(&s)
		if got := s.Lacks(x.over, x.caps...); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

func TestStatus(t *testing.T) {
	var s State
	if !s.status("Name:\tx\nCapEff:\t0000000000003000\nCapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\n") ||
		s.Effective != 0x3000 || s.Bounding != 1<<41-1 || !s.NoNewPrivs || !s.Seccomp {
		t.Errorf("%+v", s)
	}
	if new(State).status("CapEff:\tx\nCapBnd:\t0\n") || new(State).status("") {
		t.Error("read out of nothing")
	}
}

// TestReasonsHaveWords: each names the capabilities, and never tells root to be root.
func TestReasonsHaveWords(t *testing.T) {
	for _, r := range Reasons {
		if c := r.Cause(unix.CAP_BPF, unix.CAP_NET_ADMIN); !strings.Contains(c, "CAP_BPF and CAP_NET_ADMIN") {
			t.Errorf("%d: cause %q", r, c)
		}
		if d := r.Do(unix.CAP_BPF); d == "" || strings.Contains(d, "run as root or") != (r == NotRoot || r == Unknown) {
			t.Errorf("%d: %q", r, d)
		}
	}
}
