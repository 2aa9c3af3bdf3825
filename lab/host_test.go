// SPDX-License-Identifier: MIT

package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

func TestRunHostStatus(t *testing.T) {
	for _, x := range []struct {
		want int
		args []string
	}{
		{0, []string{"true"}}, {7, []string{"sh", "-c", "exit 7"}}, {128 + 15, []string{"sh", "-c", "kill -TERM $$"}},
		{3, []string{"sh", "-c", `test "$NAME" = value && exit 3`}},
		{exitNotFind, []string{"there-is-no-such-program"}},
		{exitNotFind, []string{"/no/such"}}, {exitNotExec, []string{"/etc/passwd"}},
	} {
		exit, err := runHost(t.Context(), x.args, "NAME=value")
		if exit != x.want || (err != nil) != (x.want == exitNotFind || x.want == exitNotExec) {
			t.Errorf("%q: %d, %v; want %d", x.args, exit, err, x.want)
		}
	}
}

// script runs a host command that writes the number of a process to $FIFO, and returns it.
func script(t *testing.T, ctx context.Context, text string) (pid int, ended <-chan int) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := make(chan int, 1)
	go func() {
		exit, err := runHost(ctx, []string{"sh", "-c", text}, "FIFO="+fifo)
		if err != nil {
			t.Error(err)
		}
		c <- exit
	}()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid, c
}

// gone waits until a process that is no child of ours has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, fmt.Sprintf("process %d is gone", pid), func() bool {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return true // gone, or waiting for whoever has it now
		}
		return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
	})
}

// What the command has left in its group ends with it.
func TestRunHostLeavesNothing(t *testing.T) {
	pid, ended := script(t, t.Context(), `sleep 1000 & echo $! >$FIFO; exit 5`)
	if exit := <-ended; exit != 5 {
		t.Errorf("exit status %d", exit)
	}
	gone(t, pid)
}

// Ctrl-C reaches all of the group.
func TestRunHostInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pid, ended := script(t, ctx, `trap 'exit 9' INT; sh -c 'echo $$ >$FIFO; exec sleep 1000'`)
	cancel()
	if exit := <-ended; exit != 9 {
		t.Errorf("exit status %d", exit)
	}
	gone(t, pid)
}
