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
	if err := Serve(FD, func(size int64) (*Offer, error) { return program(how, size) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// theirs is a file's part behind its first page.
type theirs struct {
	f    *os.File
	dies bool
}

func (d theirs) ReadAt(p []byte, off int64) (int, error) {
	if d.dies {
		os.Exit(7)
	}
	return d.f.ReadAt(p, page+off)
}

func (d theirs) WriteAt(p []byte, off int64) (int, error) { return d.f.WriteAt(p, page+off) }

func program(how string, size int64) (*Offer, error) {
	fd, err := unix.MemfdCreate("theirs", 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(fd, page+size); err != nil {
		return nil, err
	}
	d := theirs{os.NewFile(uintptr(fd), "theirs"), how == "dies"}
	m := &Offer{DMABuf: fd, Offset: page, Size: size, Place: "0000:41:00.0", Name: "a\x1bdevice", Copier: d}
	switch how {
	case "refuses":
		return nil, &fault.Error{Op: "two\nlines", How: "do\nthis"}
	case "small":
		m.Size--
	case "bare":
		m.DMABuf = -1
	case "no copies":
		m.Copier = nil
	}
	return m, nil
}

// parent opens memory of a program, prints the program's number and waits.
func parent() {
	p, err := Start("program", self("works"), 1<<20)
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

func read(m *Memory, off int64, p []byte) error {
	_, err := m.ReadAt(p, off)
	return err
}

func write(m *Memory, off int64, p []byte) error {
	_, err := m.WriteAt(p, off)
	return err
}

// Bytes go both ways through more windows than one, and lie where the offset says.
func TestHandover(t *testing.T) {
	const size = 2*CopyBytes + 5*page
	p, err := Start("program", self("works"), size)
	if err != nil {
		t.Fatal(err)
	}
	if p.Offset != page || p.Size != size || p.Place != "0000:41:00.0" ||
		p.Name != `a\u001bdevice` {
		t.Errorf("%+v", p)
	}
	want := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
	if err := write(p, 0, want); err != nil {
		t.Fatal(err)
	}
	raw, err := unix.Mmap(p.DMABuf, 0, page+size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil || !bytes.Equal(raw[page:], want) {
		t.Errorf("what is in the memory: %v, equal %v", err, bytes.Equal(raw[page:], want))
	}
	unix.Munmap(raw)
	got := make([]byte, size)
	if err := read(p, 0, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read back: %v, equal %v", err, bytes.Equal(got, want))
	}
	if err := read(p, size-3, got[:3]); err != nil || !bytes.Equal(got[:3], want[size-3:]) {
		t.Errorf("the last three: %v", err)
	}
	for _, c := range []struct {
		off int64
		n   int
	}{{-1, 1}, {size, 1}, {size - 2, 3}, {1 << 62, 1}} {
		if err := read(p, c.off, got[:c.n]); err == nil {
			t.Errorf("%d bytes at %d were read", c.n, c.off)
		}
	}
	pid := p.cmd.Process.Pid
	if err := errors.Join(p.Close(), p.Close()); err != nil || unix.Kill(pid, 0) != unix.ESRCH {
		t.Errorf("closed: %v; the program is still there: %v", err, unix.Kill(pid, 0) == nil)
	}
	if err := read(p, 0, got); err == nil {
		t.Error("read after Close")
	}
}

// What a program does wrong is said, and leaves nothing behind.
func TestWrongPrograms(t *testing.T) {
	before := open(t)
	for how, words := range map[string][]string{
		"refuses": {"program: two lines"}, "small": {"asked for 1048576 bytes"}, "bare": {"ended: exit status 1"},
		"gone": {"ended: exit status 3", `no\u001bway`}} {
		p, err := Start("program", self(how), CopyBytes)
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
	if _, err := Start("program", exec.Command("/nowhere/program"), 1); err == nil {
		t.Error("started what is not there")
	}
	for how, words := range map[string]string{"dies": "ended: exit status 7"} {
		p, err := Start("program", self(how), CopyBytes)
		if err != nil {
			t.Fatal(err)
		}
		if err := read(p, 0, make([]byte, 1)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", how, err)
		}
		unix.Close(p.DMABuf)
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

// A program that does not answer is given up, and what it may say later is not believed.
func TestSilentProgram(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[1])
	m := &Memory{name: "program", sock: ends[0], cmd: self("silent")}
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

// The program's side refuses what is out of bounds, and answers the next question.
func TestServeRefuses(t *testing.T) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- Serve(ends[1], func(size int64) (*Offer, error) { return program("works", size) })
	}()
	window, err := unix.MemfdCreate("window", 0)
	if err == nil {
		err = unix.Ftruncate(window, CopyBytes)
	}
	if err != nil {
		t.Fatal(err)
	}
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
	if a := ask("memory 1 4194304", window); a != "dmabuf 4194304 4096 1 0000:41:00.0\na\x1bdevice" {
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
