// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hostGrace is how long the host's command may take to end when it is told to.
const hostGrace = 10 * time.Second

// pipeGrace is how long what a program wrote is waited for when it has ended or was killed,
// and something that it has started still holds its output.
const pipeGrace = 2 * time.Second

// startTied starts a command that ends with this process, however that ends, and
// delivers the command's end. A terminal's Ctrl-C is for us to handle, not for it.
// Over is called when it has ended and its number is still its own.
func startTied(cmd *exec.Cmd, begun, over func()) (<-chan error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		// Pdeathsig goes off when the thread that forked ends: keep it.
		runtime.LockOSThread()
		err := cmd.Start()
		begun()
		started <- err
		if err == nil {
			for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
			}
			over()
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// runHost runs a command of this host and returns its exit status. It is the leader of
// a process group, of which nothing is left afterwards.
func runHost(ctx context.Context, args []string, env string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = notTerminal(os.Stdin), os.Stdout, os.Stderr
	signalGroup := func(sig syscall.Signal) { syscall.Kill(-cmd.Process.Pid, sig) }
	ended, err := startTied(cmd, func() {}, func() { signalGroup(syscall.SIGKILL) })
	if err != nil {
		exit := exitNotExec
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			exit = exitNotFind
		}
		return exit, &Error{"start " + args[0], err, ""}
	}
	select {
	case <-ended:
		return hostStatus(cmd.ProcessState), nil
	case <-ctx.Done():
	}
	signalGroup(syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(hostGrace):
		signalGroup(syscall.SIGKILL)
		<-ended
	}
	return hostStatus(cmd.ProcessState), nil
}

// notTerminal returns f, or nil if f is a terminal: a background process group that reads a
// terminal is stopped.
func notTerminal(f *os.File) *os.File {
	if st, err := f.Stat(); err == nil && st.Mode()&fs.ModeCharDevice != 0 {
		return nil
	}
	return f
}

// hostStatus follows the shells: 128+n for signal n.
func hostStatus(st *os.ProcessState) int {
	if ws := st.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}
