// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// Memory is what a program has handed over, and copies to and from. Several threads may copy; each
// waits for the others.
type Memory struct {
	Offer // its DMABuf is whoever's asked for it

	name   string
	cmd    *exec.Cmd
	asking sync.Mutex
	sock   int
	broken error // after this no answer belongs to its question
	copies []byte
	line   []byte // the last request
	said   said
	ended  chan error // what it ended with
	over   chan struct{}
	reap   sync.Mutex // held while the program's number is given back
	reaped bool       // so that it may be another's
}

// Start runs a program that hands over memory of size bytes, or more. name is what errors call it.
// It has the socket as descriptor 3, and the command's ExtraFiles from 4 on. It dies with this
// process, and with Close. What it says on standard error is told where
// it fails.
func Start(name string, cmd *exec.Cmd, size int64) (*Memory, error) {
	m := &Memory{name: name, cmd: cmd, sock: -1, ended: make(chan error, 1), over: make(chan struct{})}
	m.DMABuf = -1
	if err := m.start(size); err != nil {
		return nil, errors.Join(m.explain(err), m.Close())
	}
	return m, nil
}

func (m *Memory) start(size int64) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socketpair: %w", err)
	}
	m.sock = pair[0]
	theirs := os.NewFile(uintptr(pair[1]), "handover")
	err = m.run(theirs)
	theirs.Close()
	if err != nil {
		return err
	}
	mem, err := unix.MemfdCreate("zcbench-copies", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(mem)
	if err := unix.Ftruncate(mem, CopyBytes); err != nil {
		return fmt.Errorf("ftruncate: %w", err)
	}
	// Whoever shortened it would end this process by SIGBUS.
	if _, err := unix.FcntlInt(uintptr(mem), unix.F_ADD_SEALS,
		unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("fcntl F_ADD_SEALS: %w", err)
	}
	if m.copies, err = unix.Mmap(mem, 0, CopyBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return m.ask(size, mem)
}

// run starts the program on a thread that stays as long as it does: the kernel ends it when the
// thread that started it ends (PR_SET_PDEATHSIG).
func (m *Memory) run(theirs *os.File) error {
	c := m.cmd
	c.ExtraFiles, c.WaitDelay = append([]*os.File{theirs}, c.ExtraFiles...), time.Second
	if c.Stderr == nil {
		c.Stderr = &m.said
	}
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		err := c.Start()
		started <- err
		if err == nil {
			m.ended <- m.wait()
			close(m.over)
		}
	}()
	return <-started
}

// wait waits for the program's end, and ends what it has started. Until it is waited for its number
// is no other's.
func (m *Memory) wait() error {
	for unix.Waitid(unix.P_PID, m.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	m.reap.Lock()
	defer m.reap.Unlock()
	m.killGroup()
	m.reaped = true
	return m.cmd.Wait()
}

// killGroup kills the program, and what it has started. m.reap is held.
func (m *Memory) killGroup() {
	if !m.reaped {
		_ = unix.Kill(-m.cmd.Process.Pid, unix.SIGKILL)
	}
}

// ask has the memory made.
func (m *Memory) ask(size int64, mem int) error {
	line, fds, err := m.call(makesWithin, fmt.Sprintf("memory %d %d", version, size), mem)
	if err != nil {
		return err
	}
	var copies int
	line, name, _ := strings.Cut(line, "\n")
	if _, err := fmt.Sscanf(line, "dmabuf %d %d %d %s", &m.Size, &m.Offset, &copies, &m.Place); err != nil ||
		len(fds) != 1 || m.Size < size || m.Offset < 0 || copies < 0 || copies > 1 {
		closeAll(fds)
		return fmt.Errorf("%w: it answers %.80q with %d descriptors, asked for %d bytes", ErrProtocol, line, len(fds),
			size)
	}
	m.DMABuf, m.Name = fds[0], plaintext.Line(name)
	if m.Place == "-" || plaintext.Clean(m.Place) != m.Place {
		m.Place = ""
	}
	if copies == 1 {
		m.Copier = (*copier)(m)
	}
	return nil
}

// call sends a request and awaits the answer. What the program refuses leaves it able to answer the
// next.
func (m *Memory) call(within time.Duration, line string, fds ...int) (string, []int, error) {
	if m.broken != nil {
		return "", nil, m.broken
	}
	answer, got, err := m.exchange(within, line, fds...)
	if err != nil {
		m.broken = err
		return "", nil, err
	}
	if why, failed := strings.CutPrefix(answer, "error "); failed {
		closeAll(got)
		why, fix, _ := strings.Cut(why, "\n")
		return "", nil, &fault.Error{Op: plaintext.Line(why), How: plaintext.Line(fix)}
	}
	return answer, got, nil
}

func (m *Memory) exchange(within time.Duration, line string, fds ...int) (string, []int, error) {
	limit := unix.NsecToTimeval(int64(within))
	if err := errors.Join(unix.SetsockoptTimeval(m.sock, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(m.sock, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)); err != nil {
		return "", nil, fmt.Errorf("setsockopt: %w", err)
	}
	if err := send(m.sock, line, fds...); err != nil && err != unix.EPIPE && err != unix.ECONNRESET {
		return "", nil, fmt.Errorf("send %.40q: %w", line, err)
	}
	answer, got, err := receive(m.sock)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, unix.ECONNRESET):
		return "", nil, m.gone()
	case errors.Is(err, unix.EAGAIN):
		return "", nil, &fault.Error{Op: fmt.Sprintf("it did not answer %.40q within %v", line, within),
			Err: unix.ETIMEDOUT, How: "look whether the device hangs: dmesg"}
	case err != nil:
		return "", nil, err
	}
	return answer, got, nil
}

// gone says how a program that closed its socket ended.
func (m *Memory) gone() error {
	select {
	case err := <-m.ended:
		m.ended <- err
		how := "it ended without handing over memory"
		if err != nil {
			how = "it ended: " + err.Error()
		}
		return &fault.Error{Op: how, How: "look at what it says, and at the kernel's log: dmesg"}
	case <-time.After(endsWithin):
		return errors.New("it closed descriptor 3")
	}
}

// explain adds the program's name, and what it said.
func (m *Memory) explain(err error) error {
	words := m.said.String()
	if words != "" {
		words = ": " + words
	}
	return &fault.Error{Op: m.name, Err: fmt.Errorf("%w%s", err, words), How: fault.Fix(err)}
}

// Close ends the program, which frees its memory. The dmabuf's descriptor stays.
func (m *Memory) Close() error {
	var err error
	if m.sock >= 0 {
		_ = unix.Shutdown(m.sock, unix.SHUT_RDWR) // wakes who still asks
	}
	m.asking.Lock()
	defer m.asking.Unlock()
	if m.sock >= 0 {
		err = unix.Close(m.sock)
		m.sock = -1
	}
	m.broken = os.ErrClosed
	if m.cmd.Process != nil && !m.endsWithin() {
		m.reap.Lock()
		m.killGroup()
		m.reap.Unlock()
		if !m.endsWithin() {
			pid := m.cmd.Process.Pid
			err = errors.Join(err, &fault.Error{
				Op: fmt.Sprintf("%s: process %d has not ended %v after it was killed", m.name, pid, endsWithin),
				How: fmt.Sprintf("look which call of its device's driver it is in: cat /proc/%d/stack; dmesg. "+
					"Its memory is free when it ends", pid)})
		}
	}
	if m.copies != nil {
		err = errors.Join(err, unix.Munmap(m.copies))
		m.copies = nil
	}
	return err
}

// endsWithin waits for the program's end, for a while.
func (m *Memory) endsWithin() bool {
	select {
	case <-m.over:
		return true
	case <-time.After(endsWithin):
		return false
	}
}

// copier has the program copy.
type copier Memory

// ReadAt copies bytes from the memory.
func (c *copier) ReadAt(p []byte, off int64) (n int, err error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	for n < len(p) {
		piece := p[n:min(len(p), n+CopyBytes)]
		if err := c.copy("read", [2]int64{off + int64(n), int64(len(piece))}); err != nil {
			return n, err
		}
		n += copy(piece, c.copies)
	}
	return n, nil
}

// WriteAt copies bytes to the memory.
func (c *copier) WriteAt(p []byte, off int64) (n int, err error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	for n < len(p) {
		piece := p[n:min(len(p), n+CopyBytes)]
		if c.broken != nil {
			return n, c.broken // closed: its memory for copies is gone
		}
		copy(c.copies, piece)
		if err := c.copy("write", [2]int64{off + int64(n), int64(len(piece))}); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// ReadPieces copies pieces of the memory, {offset, length}, one behind the other: at most
// [MostPieces], and [CopyBytes] in all.
func (c *copier) ReadPieces(p []byte, pieces [][2]int64) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if err := c.copy("read", pieces...); err != nil {
		return err
	}
	copy(p, c.copies)
	return nil
}

func (c *copier) copy(verb string, pieces ...[2]int64) error {
	m, line := (*Memory)(c), append(c.line[:0], verb...)
	for _, p := range pieces {
		line = strconv.AppendInt(append(line, ' '), p[0], 10)
		line = strconv.AppendInt(append(line, ' '), p[1], 10)
	}
	c.line = line
	answer, fds, err := m.call(copiesWithin, string(line))
	closeAll(fds)
	if err == nil && answer != "ok" {
		err = fmt.Errorf("%w: it answers %.80q", ErrProtocol, answer)
	}
	if err != nil {
		return m.explain(err)
	}
	return nil
}

// said keeps the beginning of what a program says.
type said struct {
	mu   sync.Mutex
	text []byte
}

const mostSaid = 1000

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := mostSaid - len(s.text); room > 0 {
		s.text = append(s.text, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return plaintext.Line(strings.TrimSpace(string(s.text)))
}
