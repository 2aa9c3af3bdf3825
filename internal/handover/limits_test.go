// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// parent opens memory of a program, prints the program's number and waits.
func parent() int {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), does+"=well")
	m, err := Start("program", cmd, 1<<20)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(m.cmd.Process.Pid)
	await.Pause("until it is killed", time.Hour)
	return 0
}

// leaves starts a program that would stay, and tells its number as a device's name.
func leaves() int {
	stays := exec.Command("/bin/sleep", "3600")
	if err := stays.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fd, err := unix.MemfdCreate("memory", 0)
	_, got, rerr := receive(FD)
	closeAll(got)
	err = errors.Join(err, rerr, send(FD, fmt.Sprintf("dmabuf %d 0 0 -\n%d", 1<<20, stays.Process.Pid), fd))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// What a program has started ends with it, before its number can be another's: and nothing is
// killed by a number that may be.
func TestGroupEndsWithProgram(t *testing.T) {
	m, err := start(t, "leaves")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(m.DMABuf)
	pid, err := strconv.Atoi(m.Name)
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "what it started is over", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ") // its new parent may not wait for it
	})
	<-m.over
	if !m.reaped {
		t.Error("its number is still taken for its own")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A program that does not end when it is killed, in a call of a driver that hangs, is left and
// named.
func TestUnkillable(t *testing.T) {
	ends := endsWithin
	endsWithin = 50 * time.Millisecond
	defer func() { endsWithin = ends }()
	cmd := exec.Command("/bin/sleep", "3600")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	m := &Memory{name: "program", sock: -1, cmd: cmd, over: make(chan struct{})} // which nobody closes
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	if err := await.Chan(t, "it is given up", closed); err == nil || fault.Fix(err) == "" ||
		!strings.Contains(err.Error(), fmt.Sprintf("program: process %d has not ended", cmd.Process.Pid)) {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

// A program that does not answer is given up, and what it may say later is not believed.
func TestSilentProgram(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	m := &Memory{name: "program", sock: ends[0], cmd: exec.Command("/nowhere")}
	if _, _, err := m.call(50*time.Millisecond, "read 0 1"); !errors.Is(err, unix.ETIMEDOUT) || fault.Fix(err) == "" {
		t.Errorf("%v", err)
	}
	if err := send(ends[1], "ok"); err != nil {
		t.Fatal(err)
	}
	if answer, _, err := m.call(time.Minute, "read 1 1"); err == nil {
		t.Errorf("the late answer %q was taken for another's", answer)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A killed parent takes the program with it.
func TestKilledParent(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), does+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, _ := out.Read(line)
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatalf("%q", line[:n])
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	cmd.Process.Kill()
	cmd.Wait()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, -1) // until the test hangs
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		return
	}
}

// The program's side refuses what is out of bounds, and answers the next question.
func TestServeRefuses(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	window, err := unix.MemfdCreate("window", 0)
	if err == nil {
		err = unix.Ftruncate(window, CopyBytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- Serve(ends[1], func(size int64) (*Offer, error) {
			return &Offer{DMABuf: window, Offset: 4096, Size: size, Name: "a device", Copier: plainFile{window, false}},
				nil
		})
	}()
	ask := func(q string, fds ...int) string {
		t.Helper()
		if err := send(ends[0], q, fds...); err != nil {
			t.Fatal(err)
		}
		text, got, err := receive(ends[0])
		if err != nil {
			t.Fatal(err)
		}
		closeAll(got)
		return text
	}
	if a := ask("memory 1 4194304", window); a != "dmabuf 4194304 4096 1 -\na device" {
		t.Errorf("%q", a)
	}
	for _, q := range []string{"memory 1 4096", "read", "read 0", "read 0 1048577", "read 4194304 1", "read 4194303 2",
		"write -1 1", "write 9223372036854775807 1", "read 0 -1", "write 0 99999999999999999999", "hello 0 1"} {
		if a := ask(q); !strings.HasPrefix(a, "error ") {
			t.Errorf("%q: %q", q, a)
		}
	}
	if a := ask("read 4194303 1"); a != "ok" {
		t.Errorf("%q", a)
	}
	unix.Close(ends[0])
	if err := <-served; err != nil {
		t.Error(err)
	}
}
