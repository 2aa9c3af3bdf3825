// SPDX-License-Identifier: MIT

package built

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal that a command of a test runs on.
type Terminal struct {
	Tty    *os.File // the command's end
	master *os.File

	mu    sync.Mutex
	shown bytes.Buffer
	done  chan struct{}
}

// OpenTerminal makes a terminal of so many columns.
func OpenTerminal(t testing.TB, columns int) *Terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("needs a pseudo terminal: ", err)
	}
	x := &Terminal{master: os.NewFile(uintptr(fd), "/dev/ptmx"), done: make(chan struct{})}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})
	}
	if err == nil {
		x.Tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		x.master.Close()
		t.Skip("needs a pseudo terminal: ", err)
	}
	go x.read()
	t.Cleanup(x.Close)
	return x
}

func (x *Terminal) read() {
	defer close(x.done)
	p := make([]byte, 4096)
	for {
		n, err := x.master.Read(p)
		x.mu.Lock()
		x.shown.Write(p[:n])
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Leader makes a command the leader of a session of its own on the terminal: what a login
// shell is, whom the kernel tells when the terminal is gone.
func (x *Terminal) Leader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
}

// Shown returns what was written to the terminal so far.
func (x *Terminal) Shown() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.String()
}

// All returns everything that was written to the terminal before: it writes a word of its own, and
// waits until the terminal has shown it.
func (x *Terminal) All(t testing.TB) string {
	t.Helper()
	const last = "<that was all>"
	if _, err := x.Tty.WriteString(last); err != nil {
		t.Fatal(err)
	}
	var all string
	if !await.So(func() (ok bool) { all, ok = strings.CutSuffix(x.Shown(), last); return ok }) {
		t.Fatalf("the terminal shows %q", all)
	}
	return all
}

// Close takes the terminal away, as a link that breaks.
func (x *Terminal) Close() {
	if err := x.Tty.Close(); errors.Is(err, os.ErrClosed) {
		return
	}
	x.master.Close()
	<-x.done
}
