// SPDX-License-Identifier: MIT

package handover

import (
	"bytes"
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

// programEnv makes this test binary a program that hands memory over: of a memfd, whose first page
// is not part of it.
const programEnv = "ZCBENCH_TEST_HANDOVER"

const page = 4096

func TestMain(m *testing.M) {
	how := os.Getenv(programEnv)
	if how == "" {
		os.Exit(m.Run())
	}
	switch how {
	case "parent":
		parent()
	case "silent":
		await.Pause("until it is killed", time.Hour)
	case "gone":
		fmt.Fprintln(os.Stderr, "no\x1bway")
		os.Exit(3)
	}
	if err := Serve(FD, func(size int64) (*Memory, error) { return program(how, size) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func program(how string, size int64) (*Memory, error) {
	fd, err := unix.MemfdCreate("theirs", 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(fd, page+size); err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "theirs")
	m := &Memory{FD: fd, Offset: page, Size: size, Place: "0000:41:00.0", Name: "a device",
		Read: func(off int64, p []byte) error {
			_, err := f.ReadAt(p, page+off)
			return err
		},
		Write: func(off int64, p []byte) error {
			_, err := f.WriteAt(p, page+off)
			return err
		}}
	switch how {
	case "refuses":
		return nil, &fault.Error{Op: "two\nlines", How: "do\nthis"}
	case "small":
		m.Size--
	case "beyond":
		m.Offset++
	case "bare":
		m.FD = -1
	case "no copies":
		m.Read, m.Write = nil, nil
	case "dies":
		m.Read = func(int64, []byte) error { os.Exit(7); return nil }
	}
	return m, nil
}

// parent opens memory of a program, prints the program's number and waits.
func parent() {
	p, err := Open("program", self("works"), 1<<20)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.cmd.Process.Pid)
	await.Pause("until it is killed", time.Hour)
}

func self(how string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), programEnv+"="+how)
	return cmd
}

// Bytes go both ways through more windows than one, and lie where the offset says.
func TestHandover(t *testing.T) {
	const size = 2*Window + 5*page
	p, err := Open("program", self("works"), size)
	if err != nil {
		t.Fatal(err)
	}
	if p.Offset != page || p.Size != size || p.Place != "0000:41:00.0" || p.Name != "a device" || IsDMABuf(p.FD) {
		t.Errorf("%+v", p)
	}
	want := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
	if err := p.Write(0, want); err != nil {
		t.Fatal(err)
	}
	raw, err := unix.Mmap(p.FD, 0, page+size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil || !bytes.Equal(raw[page:], want) {
		t.Errorf("what is in the memory: %v, equal %v", err, bytes.Equal(raw[page:], want))
	}
	unix.Munmap(raw)
	got := make([]byte, size)
	if err := p.Read(0, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read back: %v, equal %v", err, bytes.Equal(got, want))
	}
	if err := p.Read(size-3, got[:3]); err != nil || !bytes.Equal(got[:3], want[size-3:]) {
		t.Errorf("the last three: %v", err)
	}
	for _, c := range []struct {
		off int64
		n   int
	}{{-1, 1}, {size, 1}, {size - 2, 3}, {1 << 62, 1}} {
		if err := p.Read(c.off, got[:c.n]); err == nil {
			t.Errorf("%d bytes at %d were read", c.n, c.off)
		}
	}
	pid := p.cmd.Process.Pid
	if err := errors.Join(p.Close(), p.Close()); err != nil || unix.Kill(pid, 0) != unix.ESRCH {
		t.Errorf("closed: %v; the program is still there: %v", err, unix.Kill(pid, 0) == nil)
	}
	if err := p.Read(0, got); err == nil {
		t.Error("read after Close")
	}
}

// What a program does wrong is said, and leaves nothing behind.
func TestWrongPrograms(t *testing.T) {
	before := open(t)
	for how, words := range map[string][]string{
		"refuses": {"program: two lines"}, "small": {"1048576 bytes were asked for"},
		"beyond": {"what came has 1052672 bytes"}, "bare": {"without a descriptor"},
		"gone": {"ended (exit status 3) when it was asked to open", `no\u001bway`}} {
		p, err := Open("program", self(how), Window)
		if err == nil {
			p.Close()
			t.Errorf("%s was taken", how)
			continue
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v", how, err)
			}
		}
		if how == "refuses" && fault.Fix(err) != "do this" {
			t.Errorf("%s: fix %q", how, fault.Fix(err))
		}
	}
	if _, err := Open("program", exec.Command("/nowhere/program"), 1); err == nil {
		t.Error("started what is not there")
	}
	for how, words := range map[string]string{"dies": "ended (exit status 7) when it was asked to read",
		"no copies": "this memory has no read"} {
		p, err := Open("program", self(how), Window)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Read(0, make([]byte, 1)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", how, err)
		}
		p.Close()
	}
	if after := open(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func open(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// A program that does not answer is given up, and killed.
func TestSilentProgram(t *testing.T) {
	p := &Peer{FD: -1, name: "program", cmd: self("silent"), ended: make(chan struct{})}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	_, _, err := p.ask("open 1", -1, 50*time.Millisecond, "memory")
	if !errors.Is(err, unix.ETIMEDOUT) || fault.Fix(err) == "" {
		t.Errorf("%v", err)
	}
	<-p.ended
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A killed parent takes the program with it.
func TestKilledParent(t *testing.T) {
	cmd := self("parent")
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

// The program's side refuses what is out of bounds, in whatever order it comes.
func TestServeRefuses(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- Serve(ends[1], func(size int64) (*Memory, error) { return program("works", size) })
	}()
	ask := func(q string, fd int) string {
		t.Helper()
		if err := send(ends[0], q, fd); err != nil {
			t.Fatal(err)
		}
		text, got, err := receive(ends[0], make([]byte, MaxMessage))
		if err != nil {
			t.Fatal(err)
		}
		if got >= 0 {
			unix.Close(got)
		}
		return text
	}
	w := &Peer{}
	window, err := w.makeWindow()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"read 0 1", "open 4096", "hello", " ", "open"} {
		if a := ask(q, -1); !strings.HasPrefix(a, "refused ") {
			t.Errorf("%q: %q", q, a)
		}
	}
	for _, q := range []string{"open 0", "open -1", "open x", "open 1099511627777", "open 1 2"} {
		if a := ask(q, window); !strings.HasPrefix(a, "refused ") {
			t.Errorf("%q: %q", q, a)
		}
	}
	if a := ask("open 4194304", window); a != "memory 4096 4194304 0000:41:00.0 a device" {
		t.Errorf("%q", a)
	}
	for _, q := range []string{"open 4096", "read", "read 0", "read 0 0", "read 0 1048577", "read 4194304 1",
		"read 4194303 2", "write -1 1", "write 9223372036854775807 1", "read 0x0 1", "write 0 99999999999999999999"} {
		if a := ask(q, -1); !strings.HasPrefix(a, "refused ") {
			t.Errorf("%q: %q", q, a)
		}
	}
	if a := ask("read 4194303 1", -1); a != "done" {
		t.Errorf("%q", a)
	}
	unix.Close(ends[0])
	if err := <-served; err != nil {
		t.Error(err)
	}
}
