// SPDX-License-Identifier: MIT

package labtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// victim is a run of zcbench that is to be killed (kill -9) with all that it has started. They are
// in a cgroup of their own, so that none is missed whose parent is dead, or that comes meanwhile:
// what survived would hold the lease, or restore what is to be found.
type victim struct {
	cmd   *exec.Cmd
	group string
	said  bytes.Buffer
	ended chan struct{}
}

// startVictim starts a run from the lab's other end by mode tcp, longer than it takes to kill it,
// which ends with the test at the latest.
func startVictim(t *testing.T, rx string, args ...string) *victim {
	t.Helper()
	group, err := os.MkdirTemp("/sys/fs/cgroup", "victim-")
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{group: group, ended: make(chan struct{}), cmd: exec.Command("zcbench", append([]string{"run", "--tg",
		"netns:" + TXNS, "--rx", rx, "--tx", "tcp", "--duration", "2m", "--sample-interval", "0"}, args...)...)}
	dir, err := os.Open(group)
	if err != nil {
		t.Fatal(errors.Join(err, os.Remove(group)))
	}
	defer dir.Close()
	v.cmd.Stdout, v.cmd.Stderr, v.cmd.WaitDelay = &v.said, &v.said, 10*time.Second
	v.cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, os.Remove(group)))
	}
	go func() {
		_ = v.cmd.Wait()
		close(v.ended)
	}()
	t.Cleanup(func() { v.kill(t) })
	return v
}

// until waits for something that the run does.
func (v *victim) until(t *testing.T, what string, so func() bool) {
	t.Helper()
	over := false
	await.Until(t, what, func() bool {
		select {
		case <-v.ended:
			over = true
		default:
		}
		return over || so()
	})
	if over {
		t.Fatalf("%s: the run has ended, and said %s", what, &v.said)
	}
}

// kill kills all of them, once, and waits until they are gone.
func (v *victim) kill(t *testing.T) {
	t.Helper()
	if v.group == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(v.group, "cgroup.kill"), []byte("1"), 0); err != nil {
		t.Error(err)
	}
	if !await.So(func() bool { return !errors.Is(os.Remove(v.group), unix.EBUSY) }) {
		t.Errorf("killed %v ago, these are still there: %s", await.Hang, v.left())
	}
	v.group = ""
	await.Chan(t, "the end of a run that was killed", v.ended)
}

// left says who is still there, and where in the kernel.
func (v *victim) left() (out string) {
	pids, err := os.ReadFile(filepath.Join(v.group, "cgroup.procs"))
	for pid := range strings.FieldsSeq(string(pids)) {
		name, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		stack, serr := os.ReadFile("/proc/" + pid + "/stack")
		out += fmt.Sprintf("\n%s %q %s %v", pid, name, stack, serr)
	}
	return fmt.Sprint(out, err)
}

// restore has zcbench put back what was left, and returns what it said.
func restore(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(await.Context(t), "zcbench", append([]string{"restore"}, args...)...)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("zcbench %q, which is killed after %v: %w: %s", cmd.Args[1:], await.Hang, err, out)
	}
	return string(out), err
}
