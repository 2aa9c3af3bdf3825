// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"fmt"
	"github.com/zcbench/zcbench/internal/long"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/lab/guest"
)

// hostEnv makes the test binary lab up's command: it tells the test, at the socket that
// it names, where the machine is, and ends with hostStatusWanted when the test hangs up.
const (
	hostEnv          = "ZCBENCH_LAB_HOST"
	hostStatusWanted = 77
)

func hostHelper(path string) int {
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(c, os.Getenv(upEnv))
	io.Copy(io.Discard, c)
	return hostStatusWanted
}

// startUp keeps a machine up for the test's commands. Down returns lab up's exit
// status and what it has said.
func startUp(t *testing.T, o MachineOptions) (down func() (int, string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(hostEnv, path)
	var log strings.Builder
	ended := make(chan int, 1)
	go func() {
		exit, err := Up(t.Context(), UpOptions{MachineOptions: o, Args: []string{os.Args[0]}, Log: &log})
		if err != nil {
			t.Errorf("lab up: %v", err)
			l.Close()
		}
		ended <- exit
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	where, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(upEnv, strings.TrimSpace(where))
	return func() (int, string) {
		c.Close()
		exit := <-ended
		l.Close()
		return exit, log.String()
	}
}

// leftovers are places where a command leaves something that the next must not find.
var leftovers = []string{"/tmp/left", "/dev/shm/left", "/run/left", "/sys/fs/bpf/left", "/sys/fs/cgroup/left", "/left",
	"/root/left",
	guest.OutDir + "/left", "/dev/hugepages/left", "/tmp/mounted/left", "/run/netns/left"}

// leave is a command that leaves all it can.
func leave() int {
	try := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	try(os.MkdirAll("/tmp/mounted", 0o755))
	try(syscall.Mount("tmpfs", "/tmp/mounted", "tmpfs", 0, ""))
	try(syscall.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "")) // covers one of the machine's
	for _, p := range leftovers {
		try(os.Mkdir(p, 0o755))
	}
	try(os.WriteFile("/sys/module/softnic/parameters/inline_dma", []byte("Y"), 0))
	try(os.WriteFile("/proc/sys/kernel/hostname", []byte("left"), 0))
	syscall.SetNonblock(1, true) // PID 1 and the next have the same
	p, err := os.StartProcess("/init", []string{"/init"}, &os.ProcAttr{
		Env: append(os.Environ(), helperEnv+"=hang"), Files: []*os.File{nil, os.Stdout, os.Stderr}})
	try(err)
	p.Release()
	return 5
}

// look is a command that finds whether anything is left.
func look() int {
	bad := 0
	complain := func(format string, args ...any) {
		fmt.Printf(format+"\n", args...)
		bad++
	}
	for _, p := range append(leftovers, "/tmp/mounted") {
		if _, err := os.Lstat(p); !os.IsNotExist(err) {
			complain("%s: %v", p, err)
		}
	}
	for path, want := range map[string]string{
		"/sys/module/softnic/parameters/inline_dma": "N\n", "/proc/sys/kernel/hostname": "lab\n",
		"testdata/carried": "carried into the guest\n",
	} {
		if b, err := os.ReadFile(path); string(b) != want {
			complain("%s: %q, %v", path, b, err)
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, p := range all {
		to, err := os.Readlink(p) // of a kernel thread there is none
		if err == nil && p != "/proc/1/exe" && p != fmt.Sprintf("/proc/%d/exe", os.Getpid()) {
			complain("%s runs %s", p, to)
		}
	}
	if all, _ := filepath.Glob("/run/netns/*"); len(all) != 2 {
		complain("network namespaces: %v", all)
	}
	return bad
}

// Commands of one boot do not see each other.
func TestIntegrationLabUp(t *testing.T) {
	needIntegration(t)
	down := startUp(t, MachineOptions{})
	if exit, _, _, err := execHelper(t, "leave", ExecOptions{}); exit != 5 || err != nil {
		t.Errorf("leave: %d, %v", exit, err)
	}
	if exit, stdout, _, err := execHelper(t, "look", ExecOptions{}); exit != 0 || stdout != "" || err != nil {
		t.Errorf("look: %d, %v; it found:\n%s", exit, err, stdout)
	}
	if exit, stdout, _, err := execHelper(t, "files", ExecOptions{}); exit != 42 ||
		stdout != "to stdout\ncarried into the guest\n" || err != nil {
		t.Errorf("files: %d, %q, %v", exit, stdout, err)
	}
	if exit, err := Exec(t.Context(), ExecOptions{Args: []string{"zcbench"}, Env: []string{helperEnv + "=look"},
		Out: t.TempDir()}); exit != 0 || err != nil {
		t.Errorf("after files: %d, %v", exit, err)
	}
	if exit, log := down(); exit != hostStatusWanted || log != "" {
		t.Errorf("lab up: %d; it said %q", exit, log)
	}
}

// What spoils a machine costs one command.
func TestIntegrationLabUpSpoiled(t *testing.T) {
	needIntegration(t)
	down, thrown := startUp(t, MachineOptions{}), 0
	for _, x := range []struct {
		what  string
		exit  int
		log   string // of lab exec
		limit time.Duration
	}{
		{"warn", ExitTrouble, "WARNING: made by a test", 0},
		{"panic", ExitTrouble, "sysrq triggered crash", 0},
		{"hang", ExitTimeout, "lab: ---", 5 * time.Second},
	} {
		if x.what != "warn" && !long.Wanted() {
			continue // one that hangs is in TestIntegrationLabTimeout, and a panic costs another boot
		}
		thrown++
		exit, _, log, err := execHelper(t, x.what, ExecOptions{Timeout: x.limit})
		if exit != x.exit || err == nil || !strings.Contains(log, x.log) {
			t.Errorf("%s: %d, %v; log:\n%s", x.what, exit, err, log)
		}
		if exit, stdout, log, err := execHelper(t, "look", ExecOptions{}); exit != 0 || stdout != "" || log != "" ||
			err != nil {
			t.Errorf("after %s: %d, %v\n%s%s", x.what, exit, err, stdout, log)
		}
	}
	exit, log := down()
	if n := strings.Count(log, ": discarding the machine and booting another"); exit != hostStatusWanted ||
		n != thrown {
		t.Errorf("lab up: %d; it told of %d machines:\n%s", exit, n, log)
	}
}

// A machine that a command has changed for good is not given to the next command.
func TestIntegrationLabUpChanged(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	down := startUp(t, MachineOptions{})
	for _, what := range []string{"change", "look"} {
		if exit, stdout, _, err := execHelper(t, what, ExecOptions{}); exit != 0 || stdout != "" || err != nil {
			t.Errorf("%s: %d, %v; %s", what, exit, err, stdout)
		}
	}
	if exit, log := down(); exit != hostStatusWanted ||
		!strings.Contains(log, "/etc/hosts has changed; booting another") {
		t.Errorf("lab up: %d; it said %q", exit, log)
	}
}

// An exec with another machine in mind boots its own.
func TestIntegrationLabUpOwnBoot(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	down := startUp(t, MachineOptions{})
	o := ExecOptions{}
	o.CPUs = 1
	if exit, _, log, err := execHelper(t, "look", o); exit != 0 || err != nil ||
		!strings.Contains(log, "cpus 1 was requested, it has 2; starting another") {
		t.Errorf("one CPU: %d, %v; log %q", exit, err, log)
	}
	if exit, log := down(); exit != hostStatusWanted || log != "" {
		t.Errorf("lab up: %d; it said %q", exit, log)
	}
}
