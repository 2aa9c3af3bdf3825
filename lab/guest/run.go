// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run executes the command to its end and fills in how it ended. Its output
// goes into the ports directly: a write waits until the host has taken it.
func (w *worker) run(job *Job, res *Result) {
	if job.Dir != "" {
		if err := os.MkdirAll(job.Dir, 0o755); err != nil {
			res.Err = err.Error()
			return
		}
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		res.Err = err.Error()
		return
	}
	defer null.Close()
	p, err := os.StartProcess(job.Args[0], job.Args, &os.ProcAttr{
		Dir:   job.Dir,
		Env:   environ(append(w.spec.NIC.environ(), job.Env...)),
		Files: []*os.File{null, w.ports[PortStdout], w.ports[PortStderr]},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		res.Err = err.Error()
		res.NotFound = errors.Is(err, fs.ErrNotExist)
		res.NotExec = !res.NotFound
		return
	}
	done := statusOf(p.Pid)
	if ws, ok := w.orders.await(done, job.N); ok {
		res.Exit = exitStatus(ws)
		return
	}
	res.TimedOut = true
	unix.Kill(-p.Pid, unix.SIGQUIT)
	select {
	case <-done:
	case <-time.After(grace):
	}
}

// environ returns the guest's own environment, which the spec's entries override.
func environ(extra []string) []string {
	var u unix.Utsname
	unix.Uname(&u)
	env := []string{
		"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TMPDIR=/tmp", "TERM=dumb",
		"OUT=" + OutDir, Env + "=" + unix.ByteSliceToString(u.Release[:]),
	}
	return append(env, extra...)
}

// statusOf reaps children, as the first process must, until it has the status of pid.
func statusOf(pid int) <-chan unix.WaitStatus {
	done := make(chan unix.WaitStatus, 1)
	go func() {
		for {
			var ws unix.WaitStatus
			switch got, err := unix.Wait4(-1, &ws, unix.WALL, nil); {
			case err == unix.ECHILD:
				return // killAll has it
			case got == pid:
				done <- ws
				return
			}
		}
	}()
	return done
}

// exitStatus follows the shells: 128+n for signal n.
func exitStatus(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// killPatience is how long a killed process may take to be gone: it may be in the
// kernel, giving back gigabytes.
const killPatience = 30 * time.Second

// killAll ends what the command left running and waits until it is gone, so
// that its sockets and rings are closed before the soft NIC goes. All processes are
// children of the first one, or become it once their parents are gone.
func killAll() error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for err := error(nil); err != unix.ECHILD; _, err = unix.Wait4(-1, nil, unix.WALL, nil) {
			unix.Kill(-1, unix.SIGKILL)
		}
	}()
	select {
	case <-gone:
		return nil
	case <-time.After(killPatience):
		return fmt.Errorf("processes remain %v after they were killed", killPatience)
	}
}
