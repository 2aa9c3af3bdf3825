// SPDX-License-Identifier: MIT

package handover

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// does makes the test binary a program that hands memory over, in one of these ways.
const does = "HANDOVER_TEST"

func TestMain(m *testing.M) {
	if how := os.Getenv(does); how != "" {
		os.Exit(program(how))
	}
	os.Exit(m.Run())
}

// plainFile is memory in a file, which stands for a device's.
type plainFile struct {
	fd  int
	die bool // at the first copy
}

func (p plainFile) ReadAt(b []byte, off int64) (int, error) {
	if p.die {
		os.Exit(4)
	}
	return unix.Pread(p.fd, b, off)
}
func (p plainFile) WriteAt(b []byte, off int64) (int, error) { return unix.Pwrite(p.fd, b, off) }

func program(how string) int {
	create := func(size int64) (*Offer, error) {
		fd, err := unix.MemfdCreate("memory", 0)
		if err == nil {
			err = unix.Ftruncate(fd, size)
		}
		switch how {
		case "refuses":
			err = &fault.Error{Op: "no GPU\nof that name", How: "look at nvidia-smi\x1b[2J"}
		case "small":
			size -= 4096
		}
		o := &Offer{DMABuf: fd, Size: size, Place: "0000:41:00.0", Copier: plainFile{fd, how == "dies"}}
		if how == "no copies" {
			o.Copier, o.Place = nil, ""
		}
		return o, err
	}
	answer := func(line string, fds ...int) int {
		_, got, _ := receive(FD)
		closeAll(got)
		if err := send(FD, line, fds...); err != nil {
			return 5
		}
		_, _, _ = receive(FD)
		return 0
	}
	switch how {
	case "exits":
		fmt.Fprintln(os.Stderr, "no driver\x1b[31m")
		return 3
	case "ends well":
		return 0
	case "garbage":
		return answer("dmabuf many\x1b[2J", 0)
	case "nothing":
		return answer("dmabuf 1048576 0 0 -")
	case "two":
		return answer("dmabuf 1048576 0 0 -", 0, 1)
	case "negative":
		return answer("dmabuf 1048576 -4096 0 -", 0)
	case "parent":
		return parent()
	case "leaves":
		return leaves()
	case "hangs":
		unix.Pause()
	case "closes":
		unix.Close(FD)
		unix.Pause()
	}
	if err := Serve(FD, create); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start starts the program of a way.
func start(t *testing.T, how string) (*Memory, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), does+"="+how)
	m, err := Start("fd:"+how, cmd, 1<<20)
	if err == nil {
		t.Cleanup(func() { _ = m.Close() })
	}
	return m, err
}

// The memory comes, copies go both ways, longer ones in pieces; and the program ends with Close.
func TestHandedOver(t *testing.T) {
	m, err := start(t, "well")
	if err != nil {
		t.Fatal(err)
	}
	if m.Size != 1<<20 || m.Offset != 0 || m.Place != "0000:41:00.0" || m.DMABuf < 0 {
		t.Errorf("%+v", m.Offer)
	}
	defer unix.Close(m.DMABuf)
	want := bytes.Repeat([]byte("zero copy"), 1<<20/9+1)[:1<<20]
	if n, err := m.WriteAt(want, 0); n != len(want) || err != nil {
		t.Fatal(n, err)
	}
	for _, c := range [][2]int{{0, 1 << 20}, {17, 4096}, {1<<20 - 1, 1}, {5, 0}} {
		got := make([]byte, c[1])
		if n, err := m.ReadAt(got, int64(c[0])); n != len(got) || err != nil ||
			!bytes.Equal(got, want[c[0]:c[0]+c[1]]) {
			t.Errorf("%d bytes at %d: %d, %v", c[1], c[0], n, err)
		}
	}
	pieces := [][2]int64{{1 << 19, 3}, {0, 4}, {1<<20 - 2, 2}}
	got := make([]byte, 9)
	if err := (*copier)(m).ReadPieces(got, pieces); err != nil ||
		string(got) != string(want[1<<19:1<<19+3])+string(want[:4])+string(want[1<<20-2:]) {
		t.Errorf("%q, %v", got, err)
	}
	for _, line := range []string{"read", "read 0", "read 0 1 2", "lick 0 1", "read 0 -1", "read 0 1048576 0 1",
		"read x 1",
		"read 9223372036854775807 2"} {
		if answer, _, err := m.call(copiesWithin, line); err == nil || !strings.Contains(err.Error(), "request") {
			t.Errorf("%s: %q, %v", line, answer, err)
		}
	}
	if _, err := m.ReadAt(make([]byte, 2), 1<<20-1); err == nil || !strings.Contains(err.Error(), "bad request") {
		t.Errorf("behind the end: %v", err)
	}
	pid := m.cmd.Process.Pid
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the program is there after Close: %v", err)
	}
	got = make([]byte, len(want)) // the descriptor stays
	if _, err := unix.Pread(m.DMABuf, got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the memory after Close: %v", err)
	}
}

func TestWithoutCopies(t *testing.T) {
	m, err := start(t, "no copies")
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(m.DMABuf)
	if m.Copier != nil || m.Place != "" {
		t.Errorf("%+v", m.Offer)
	}
}

// Whatever a program does instead is an error that says what it was, and no program, descriptor or
// terminal sequence of it is left.
func TestNotHandedOver(t *testing.T) {
	makes, ends := makesWithin, endsWithin
	makesWithin, endsWithin = 300*time.Millisecond, 300*time.Millisecond
	defer func() { makesWithin, endsWithin = makes, ends }()
	open := descriptors(t)
	for how, want := range map[string]string{
		"exits": `it ended: exit status 3: no driver`, "ends well": "it ended without handing over memory",
		"refuses": "no GPU of that name", "garbage": "not the protocol of docs/memory.md",
		"nothing": "with 0 descriptors", "two": "more than one descriptor", "negative": "not the protocol",
		"small": "asked for 1048576 bytes", "hangs": "did not answer \"memory 1 1048576\" within 300ms",
		"closes": "it closed descriptor 3",
	} {
		m, err := start(t, how)
		if err == nil {
			t.Errorf("%s: %+v", how, m.Offer)
			continue
		}
		if !strings.HasPrefix(err.Error(), "fd:"+how+": ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error()+fault.Fix(err), "\x1b") {
			t.Errorf("%s: %v, want %q", how, err, want)
		}
		if how == "refuses" && !strings.HasPrefix(fault.Fix(err), "look at nvidia-smi") {
			t.Errorf("its fix is lost: %q", fault.Fix(err))
		}
	}
	if _, err := Start("x", exec.Command("/nonexistent"), 4096); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	await.Until(t, "no descriptor is left", func() bool { return len(descriptors(t)) <= len(open) })
}

// A program that dies under a copy is told of.
func TestDiesCopying(t *testing.T) {
	m, err := start(t, "dies")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(m.DMABuf)
	if _, err := m.ReadAt(make([]byte, 10), 0); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Error(err)
	}
	if _, err := m.ReadAt(make([]byte, 10), 0); err == nil {
		t.Error("a dead program copies")
	}
}

func descriptors(t *testing.T) []string {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}
