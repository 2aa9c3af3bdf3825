// SPDX-License-Identifier: MIT

package program

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/veth"
)

// here is the namespace of the test itself.
func here(t *testing.T) *veth.Netns {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("entering a network namespace needs root")
	}
	ns, err := veth.OpenNetns("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func nothing() error { return nil }

// An exit status is no error of Wait, and what before sets is inherited.
func TestStart(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", "nice; exit 3")
	cmd.Stdout = &out
	p, err := Start(here(t), cmd, func() error { return syscall.Setpriority(syscall.PRIO_PROCESS, 0, 7) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil || strings.TrimSpace(out.String()) != "7" || cmd.ProcessState.ExitCode() != 3 ||
		!p.HasEnded() {
		t.Errorf("%v, nice value %q, status %d, ended %v", err, &out, cmd.ProcessState.ExitCode(), p.HasEnded())
	}
}

func TestStartFails(t *testing.T) {
	ns, no := here(t), errors.New("no")
	if _, err := Start(ns, exec.Command("/bin/true"), func() error { return no }); !errors.Is(err, no) {
		t.Errorf("before failed: %v", err)
	}
	if _, err := Start(ns, exec.Command("/nonexistent"), nothing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such program: %v", err)
	}
}

// Kill ends a program's children too: they would keep its output open, and Wait waiting.
func TestKill(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", "sleep 1000 & sleep 1000")
	cmd.Stdout = &out
	p, err := Start(here(t), cmd, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if p.HasEnded() {
		t.Error("it has ended by itself")
	}
	await.Return(t, "the end of what is killed", p.Kill)
	if err := p.Wait(); err == nil {
		t.Error("a killed program ended well")
	}
}
