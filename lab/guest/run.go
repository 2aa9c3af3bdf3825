package guest

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run executes the command to its end and fills in how it ended. Its output
// goes into the ports directly: a write waits until the host has taken it.
func run(spec *Spec, ports map[string]*os.File, res *Result) {
	up := timeoutFrom(ports[PortControl])
	if spec.Dir != "" {
		if err := os.MkdirAll(spec.Dir, 0o755); err != nil {
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
	p, err := os.StartProcess(spec.Args[0], spec.Args, &os.ProcAttr{
		Dir:   spec.Dir,
		Env:   environ(spec.Env),
		Files: []*os.File{null, ports[PortStdout], ports[PortStderr]},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		res.Err = err.Error()
		res.NotFound = errors.Is(err, fs.ErrNotExist)
		res.NotExec = !res.NotFound
		return
	}
	done := reap(p.Pid)
	select {
	case ws := <-done:
		res.Exit = exitStatus(ws)
		return
	case <-up:
	}
	res.TimedOut = true
	unix.Kill(-p.Pid, unix.SIGQUIT)
	select {
	case <-done:
	case <-time.After(Grace):
	}
}

// environ is the guest's own environment, which the spec's entries override.
func environ(extra []string) []string {
	var u unix.Utsname
	unix.Uname(&u)
	env := []string{
		"PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TMPDIR=/tmp", "TERM=dumb",
		"OUT=" + OutDir, Env + "=" + unix.ByteSliceToString(u.Release[:]),
	}
	return append(env, extra...)
}

// reap waits for every child, as the first process must, and delivers the
// status of pid.
func reap(pid int) <-chan unix.WaitStatus {
	done := make(chan unix.WaitStatus, 1)
	go func() {
		for {
			var ws unix.WaitStatus
			got, err := unix.Wait4(-1, &ws, 0, nil)
			switch {
			case err == unix.EINTR:
			case err != nil:
				// No children: orphans of the command may come later.
				time.Sleep(50 * time.Millisecond)
			case got == pid:
				done <- ws
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

// killAll ends what the command left running and waits until it is gone, so
// that its sockets and rings are closed before the soft NIC goes.
func killAll() {
	for range 100 {
		if err := unix.Kill(-1, unix.SIGKILL); err == unix.ESRCH {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
