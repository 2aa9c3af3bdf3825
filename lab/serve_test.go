// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
)

// serveFake is lab up with a machine that does as it is told.
func serveFake(t *testing.T, do func(context.Context, *request) outcome) string {
	t.Helper()
	l, err := listenUp()
	if err != nil {
		t.Fatal(err)
	}
	k := newKeeper(func(context.Context) (runner, error) { return &fakeRunner{do}, nil }, io.Discard)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{}, 2)
	go func() { k.loop(ctx); done <- struct{}{} }()
	go func() { l.accept(ctx, Machine{CPUs: 2, Release: "7.2"}, k, io.Discard); done <- struct{}{} }()
	t.Cleanup(func() {
		stop()
		l.close()
		<-done
		<-done
		if _, err := os.Stat(l.dir); err == nil {
			t.Error("the socket's folder is left")
		}
	})
	return l.path
}

type fakeRunner struct {
	do func(context.Context, *request) outcome
}

func (f *fakeRunner) run(ctx context.Context, r *request) outcome { return f.do(ctx, r) }
func (f *fakeRunner) ready() error                                { return nil }
func (f *fakeRunner) alive() bool                                 { return true }
func (f *fakeRunner) close()                                      {}

// client is a request as lab exec makes it.
type client struct {
	request
	out, errs, logs bytes.Buffer
	back            []byte
}

func newClient(files string, args ...string) *client {
	c := &client{}
	c.request = request{
		job:    guest.Job{Args: args},
		send:   func(w io.Writer) error { _, err := io.WriteString(w, files); return err },
		stdout: &c.out, stderr: &c.errs, log: &c.logs,
		receive: func(r io.Reader) (err error) { c.back, err = io.ReadAll(r); return err },
	}
	return c
}

func TestServe(t *testing.T) {
	big := strings.Repeat("0123456789", 100_000)
	path := serveFake(t, func(ctx context.Context, r *request) outcome {
		var files bytes.Buffer
		if err := r.send(&files); err != nil || files.String() != big {
			return outcome{exit: 1, err: fmt.Errorf("%d bytes of files, %v", files.Len(), err)}
		}
		fmt.Fprint(r.stdout, "out of ", r.job.Args[0])
		fmt.Fprint(r.stderr, "err")
		fmt.Fprint(r.log, "log")
		if err := r.receive(strings.NewReader(big)); err != nil {
			return outcome{exit: 1, err: err}
		}
		if r.job.Args[0] == "bad" {
			return outcome{exit: ExitTrouble, err: &Error{"check", errors.New("broken"), "mend it"}, spoiled: "yes"}
		}
		return outcome{exit: 42}
	})
	for _, name := range []string{"good", "bad"} {
		up, err := dialUp(path)
		if err != nil {
			t.Fatal(err)
		}
		if up.what.CPUs != 2 || up.what.Release != "7.2" {
			t.Errorf("the machine is %+v", up.what)
		}
		c := newClient(big, name)
		out := up.run(t.Context(), &c.request)
		up.close()
		if c.out.String() != "out of "+name || c.errs.String() != "err" || c.logs.String() != "log" ||
			string(c.back) != big {
			t.Errorf("%s: got %q, %q, %q and %d bytes", name, &c.out, &c.errs, &c.logs, len(c.back))
		}
		if name == "good" && (out.exit != 42 || out.err != nil) {
			t.Errorf("%s: %+v", name, out)
		}
		if name == "bad" && (out.exit != ExitTrouble || out.err == nil ||
			out.err.Error() != "lab: check: broken; mend it") {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// Who leaves takes the command along; who asks for another machine leaves no trace.
func TestServeLeave(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	path := serveFake(t, func(ctx context.Context, r *request) outcome {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return outcome{exit: 1, spoiled: "left"}
	})
	other, err := dialUp(path)
	if err != nil {
		t.Fatal(err)
	}
	other.close()
	up, err := dialUp(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancelCause(t.Context())
	c := newClient("", "x")
	res := make(chan outcome)
	go func() { res <- up.run(ctx, &c.request) }()
	<-started
	leave(errors.New("ctrl-c"))
	if err := <-ended; err != errLeft {
		t.Errorf("the command ended by %v", err)
	}
	if out := <-res; out.err == nil || !strings.Contains(out.err.Error(), "ctrl-c") {
		t.Errorf("%+v", out)
	}
}

// Files that cannot be read end the transfer, not the conversation.
func TestServeNoFiles(t *testing.T) {
	path := serveFake(t, func(ctx context.Context, r *request) outcome {
		return outcome{exit: 3, err: r.send(io.Discard)}
	})
	up, err := dialUp(path)
	if err != nil {
		t.Fatal(err)
	}
	defer up.close()
	c := newClient("", "x")
	c.send = func(w io.Writer) error { w.Write([]byte("half")); return errors.New("the disk broke") }
	out := up.run(t.Context(), &c.request)
	if out.exit != 3 || !strings.Contains(fmt.Sprint(out.err), "could not be read") ||
		!strings.Contains(c.logs.String(), "the disk broke") {
		t.Errorf("%+v; log %q", out, &c.logs)
	}
}

// Another user gets nothing, also where the folder would let it in.
func TestServeStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	path := serveFake(t, func(context.Context, *request) outcome { t.Error("ran"); return outcome{} })
	dir := strings.TrimSuffix(path, "/up")
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the socket: %v, %v", st.Mode(), err)
	}
	os.Chmod(dir, 0o755)
	os.Chmod(path, 0o777)
	said := make(chan error)
	go func() {
		runtime.LockOSThread() // and let it end with the goroutine
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0))
			if e != 0 {
				err = e
			}
		}
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		if err == nil {
			var b [1]byte
			var n int
			if n, err = unix.Read(fd, b[:]); n == 0 && err == nil {
				err = io.EOF
			}
		}
		unix.Close(fd)
		said <- err
	}()
	if err := <-said; err != io.EOF && err != unix.ECONNRESET {
		t.Errorf("a stranger got %v", err)
	}
}

func TestFindUp(t *testing.T) {
	path := serveFake(t, nil)
	t.Setenv(upEnv, path)
	var log bytes.Buffer
	o := &ExecOptions{Log: &log}
	up, err := findUp(o)
	if err != nil || up == nil {
		t.Fatalf("%v, %v", up, err)
	}
	up.close()
	o.CPUs = 3
	if up, err := findUp(o); up != nil || err != nil ||
		!strings.Contains(log.String(), "cpus 3 was requested, it has 2") {
		t.Errorf("another machine: %v, %v; told %q", up, err, &log)
	}
	o.CPUs, o.OwnBoot = 0, true
	if up, err := findUp(o); up != nil || err != nil {
		t.Errorf("a boot of its own: %v, %v", up, err)
	}
	o.OwnBoot = false
	t.Setenv(upEnv, path+"-gone")
	if _, err := findUp(o); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "--own-boot") {
		t.Errorf("a machine that is gone: %v", err)
	}
}

// What is longer than anything that can be meant is no frame.
func TestWireTooLong(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	go b.Write([]byte{'o', 0xff, 0xff, 0xff, 0xff})
	if _, _, err := newWire(a).read(); err == nil {
		t.Error("a frame of 4 GiB was accepted")
	}
}
