// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// A command whose reader has stopped to read, as a pager does, ends by the first signal all the
// same.
func TestStuckReader(t *testing.T) {
	lines := [][]string{{"explain"}, {"explain", "ENOBUFS"}, {"doctor"}, {"power", "--source", "list"}, {}}
	var add func(c *cobra.Command, path []string)
	add = func(c *cobra.Command, path []string) {
		lines = append(lines, append(path[:len(path):len(path)], "--help"))
		for _, sub := range c.Commands() {
			add(sub, append(path[:len(path):len(path)], sub.Name()))
		}
	}
	add(command(), nil)
	if len(lines) < 25 {
		t.Fatalf("%d command lines", len(lines))
	}
	for i, args := range lines {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(filepath.Join(built.Dir(t), "zcbench"), args...)
			cmd.Stdout = []func(*testing.T) *os.File{fullPipe, fullSocket}[i/2%2](t)
			p := built.StartCommand(t, cmd)
			await.Until(t, "a command that waits for its reader", func() bool { return polls(p.Process.Pid) })
			p.Signal([]syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[i%2])
			if status := p.Wait(await.Hang); status != 1 || !strings.Contains(p.Err.String(),
				"interrupted, and nobody reads it") {
				t.Errorf("exit status %d: %s", status, p.Err.String())
			}
		})
	}
}

// fullPipe is the end of a pipe that has no room, and whose reader takes nothing.
func fullPipe(t *testing.T) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	room, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, room)); err != nil {
		t.Fatal(err)
	}
	return w
}

// fullSocket is [fullPipe] of a socket: programs that start others pass those too.
func fullSocket(t *testing.T) *os.File {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "reader"), os.NewFile(uintptr(fds[1]), "writer")
	t.Cleanup(func() { r.Close(); w.Close() })
	for err == nil {
		err = unix.Sendto(fds[1], make([]byte, 4096), unix.MSG_DONTWAIT, nil)
	}
	if err != unix.EAGAIN {
		t.Fatal(err)
	}
	return w
}

// polls reports whether a thread of a process is in poll(2), which on some machines is ppoll(2).
func polls(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		n, _, _ := strings.Cut(string(b), " ")
		if n == fmt.Sprint(pollNumber) || n == fmt.Sprint(unix.SYS_PPOLL) {
			return true
		}
	}
	return false
}

// pollNumber is that of poll(2) on x86, which others do not have.
const pollNumber = 7
