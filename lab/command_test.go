// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func static(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "m.go")
	if err := os.WriteFile(src, []byte("package main\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "m")
	cmd := exec.Command("go", "build", "-o", bin, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func TestNewCommand(t *testing.T) {
	bin := static(t)
	c, err := newCommand([]string{bin, "-test.testlogfile=/tmp/l", "-test.coverprofile=c.out", "-test.trace=/t/x",
		"a=b"}, "/nonexistent", "/src")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{bin, "-test.coverprofile=c.out", "-test.trace=/t/x", "a=b"}, c.args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/src/c.out", "/t/x"}, c.returns); diff != "" {
		t.Error(diff)
	}
	if c.carry != bin {
		t.Errorf("carries %q", c.carry)
	}
	// This program is in the guest already.
	if c, err = newCommand([]string{bin}, bin, "/"); err != nil || c.carry != "" || c.args[0] != "/init" {
		t.Errorf("itself: %+v, %v", c, err)
	}
	if c, err = newCommand([]string{"zcbench"}, bin, "/"); err != nil || c.args[0] != "/init" {
		t.Errorf("zcbench: %+v, %v", c, err)
	}
}

func TestNewCommandRefuses(t *testing.T) {
	var nf *notFoundError
	if _, err := newCommand([]string{"there-is-no-such-program"}, "/", "/"); !errors.As(err, &nf) {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := newCommand([]string{"sh"}, "/", "/"); !errors.Is(err, errDynamic) {
		t.Errorf("the system's shell: %v, want a word on dynamic linking", err)
	}
	script := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := newCommand([]string{script}, "/", "/"); err == nil {
		t.Error("a script was accepted: the guest has no shell")
	}
}

// What is there and cannot run in the guest is 126, what is not there 127, as of env(1) and
// timeout(1): only the lab's own trouble is 125. No machine boots for any of them.
func TestExecOfWhatCannotRun(t *testing.T) {
	dir := t.TempDir()
	script, plain, here := filepath.Join(dir, "s"), filepath.Join(dir, "plain"), filepath.Join(dir, "other")
	for path, mode := range map[string]os.FileMode{script: 0o755, plain: 0o644} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		what, name string
		want       int
	}{
		{"dynamic", "sh", exitNotExec}, {"dynamic, by its path", "/bin/sh", exitNotExec},
		{"a script", script, exitNotExec},
		{"no permission", plain, exitNotExec}, {"a folder", dir, exitNotExec},
		{"not there", here, exitNotFind}, {"not in PATH", "there-is-no-such-program", exitNotFind},
		{"in a file, as env has it", script + "/x", exitNotExec},
	} {
		exit, err := Exec(t.Context(), ExecOptions{Args: []string{x.name}})
		if exit != x.want || err == nil {
			t.Errorf("%s (%s): status %d, %v; want %d", x.what, x.name, exit, err, x.want)
		}
	}
}

// What zcbench reads passwords from stays on the host; so does all that no test in
// the guest looks at.
func TestGuestEnv(t *testing.T) {
	for name, value := range map[string]string{
		"ZCBENCH_REDFISH_PASSWORD": "s3cret", "ZCBENCH_SNMP_AUTH_PASSWORD": "s3cret",
		"ZCBENCH_SNMP_COMMUNITY": "s3cret",
		"ZCBENCH_SSH":            "ssh -F s3cret", "ZCBENCH_LEASE_DIR": "/s3cret", "ZCBENCH_OF_TOMORROW": "s3cret",
		"AWS_SECRET":          "s3cret",
		"ZCBENCH_LEASE_KILLS": "50", "ZCBENCH_LEASE_SEED": "1", "ZCBENCH_TEST_LONG": "1", "GOMAXPROCS": "2",
	} {
		t.Setenv(name, value)
	}
	env := strings.Join(guestEnv([]string{"ZCBENCH_SNMP_USER=asked for"}), "\n") + "\n"
	if strings.Contains(env, "s3cret") {
		t.Errorf("the guest gets\n%s", env)
	}
	for _, want := range []string{"ZCBENCH_LEASE_KILLS=50", "ZCBENCH_LEASE_SEED=1", "ZCBENCH_TEST_LONG=1",
		"GOMAXPROCS=2", "ZCBENCH_SNMP_USER=asked for"} {
		if !strings.Contains(env, want+"\n") {
			t.Errorf("the guest lacks %s", want)
		}
	}
}
