// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// Peer is a program that has handed memory over, and copies from and to it.
type Peer struct {
	FD           int    // the dmabuf
	Offset, Size int64  // where in it the memory is
	Place, Name  string // "" where the program does not say

	name   string // of the program
	sock   int
	window []byte
	broken error // after this no answer belongs to its question
	asking sync.Mutex

	cmd     *exec.Cmd
	stderr  tail
	ended   chan struct{} // closed when the program has ended
	waitErr error         // how
}

// Open starts a program, which inherits the socket as descriptor 3 and what cmd.ExtraFiles has
// from descriptor 4 on, and has it hand over memory of size bytes or more. name is what errors call
// it. Whether the descriptor is that of a dmabuf, [IsDMABuf] says.
func Open(name string, cmd *exec.Cmd, size int64) (*Peer, error) {
	p := &Peer{FD: -1, name: name, sock: -1, cmd: cmd, ended: make(chan struct{})}
	err := p.start()
	if err != nil {
		close(p.ended) // it never ran
	} else {
		err = p.open(size)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// start starts the program with its end of a socket.
func (p *Peer) start() error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socketpair for %s: %w", p.name, err)
	}
	p.sock = ends[0]
	theirs := os.NewFile(uintptr(ends[1]), "handover")
	defer theirs.Close() // else it never ends for us
	p.cmd.ExtraFiles = append([]*os.File{theirs}, p.cmd.ExtraFiles...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = nil, nil, &p.stderr
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Pdeathsig is sent when the thread that forked ends: it waits
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.waitErr = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

func (p *Peer) open(size int64) error {
	if size <= 0 || size > MaxSize {
		return fmt.Errorf("memory of %d bytes: from 1 to %d can be asked for", size, int64(MaxSize))
	}
	window, err := p.makeWindow()
	if err != nil {
		return fmt.Errorf("memory that is shared with %s: %w", p.name, err)
	}
	defer unix.Close(window)
	text, fd, err := p.ask(fmt.Sprintf("open %d", size), window, opening, "memory")
	if err != nil {
		return err
	}
	p.FD = fd
	return p.take(text, size)
}

// makeWindow makes what payload passes through. Nobody can take pages from it, so reading it is safe.
func (p *Peer) makeWindow() (fd int, err error) {
	if fd, err = unix.MemfdCreate("zcbench-handover", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return -1, err
	}
	if err = unix.Ftruncate(fd, Window); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	if err == nil {
		p.window, err = unix.Mmap(fd, 0, Window, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// take reads the answer to open.
func (p *Peer) take(text string, size int64) error {
	_, args := words(text)
	wrong := func(why string) error {
		return fmt.Errorf("%s answers %q: %s", p.name, plaintext.Line(shorten(text, 80)), why)
	}
	if len(args) < 2 {
		return wrong("an offset and a size are needed")
	}
	var oerr, serr error
	p.Offset, oerr = number(args[0])
	p.Size, serr = number(args[1])
	if err := errors.Join(oerr, serr); err != nil {
		return wrong(err.Error())
	}
	switch {
	case p.FD < 0:
		return wrong("it came without a descriptor")
	case p.Size < size:
		return wrong(fmt.Sprintf("%d bytes were asked for", size))
	case p.Size > MaxSize || p.Offset > MaxSize:
		return wrong(fmt.Sprintf("no memory has more than %d", int64(MaxSize)))
	}
	if end, err := unix.Seek(p.FD, 0, unix.SEEK_END); err != nil {
		return wrong("the size of what came: " + err.Error())
	} else if p.Offset+p.Size > end {
		return wrong(fmt.Sprintf("what came has %d bytes", end))
	}
	if len(args) > 2 && args[2] != "-" {
		p.Place = plaintext.Clean(shorten(args[2], 64))
	}
	if len(args) > 3 {
		p.Name = plaintext.Clean(shorten(strings.Join(args[3:], " "), 120))
	}
	return nil
}

// Read copies from the memory, by the device.
func (p *Peer) Read(off int64, to []byte) error {
	return p.pieces("read", off, to, func(piece []byte) { copy(piece, p.window) })
}

// Write copies to the memory, by the device.
func (p *Peer) Write(off int64, from []byte) error { return p.pieces("write", off, from, nil) }

// pieces asks for all of b, a window at a time; after, where there is one, takes what was read.
func (p *Peer) pieces(word string, off int64, b []byte, after func(piece []byte)) error {
	if n := int64(len(b)); off < 0 || n > p.Size || off > p.Size-n {
		return fmt.Errorf("%s of %d bytes at %d of memory of %d", word, len(b), off, p.Size)
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	for len(b) > 0 {
		piece := b[:min(len(b), Window)]
		if after == nil {
			copy(p.window, piece)
		}
		if _, _, err := p.ask(fmt.Sprintf("%s %d %d", word, off, len(piece)), -1, copying, "done"); err != nil {
			return err
		}
		if after != nil {
			after(piece)
		}
		b, off = b[len(piece):], off+int64(len(piece))
	}
	return nil
}

// ask sends a question, and returns the answer, which begins with want, with the descriptor that
// came with it, or -1.
func (p *Peer) ask(question string, give int, patience time.Duration, want string) (string, int, error) {
	if p.broken != nil {
		return "", -1, p.broken
	}
	text, fd, err := p.exchange(question, give, patience)
	if err != nil {
		p.broken = p.failed(question, err)
		return "", -1, p.broken
	}
	word, _ := words(text)
	if word == want {
		return text, fd, nil
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	if word == "refused" {
		return "", -1, p.refused(text)
	}
	p.broken = fmt.Errorf("%s answers %q to %q", p.name, plaintext.Line(shorten(text, 80)), question)
	return "", -1, p.broken
}

func (p *Peer) exchange(question string, give int, patience time.Duration) (string, int, error) {
	tv := unix.NsecToTimeval(int64(patience))
	for _, opt := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if err := unix.SetsockoptTimeval(p.sock, unix.SOL_SOCKET, opt, &tv); err != nil {
			return "", -1, err
		}
	}
	if err := send(p.sock, question, give); err != nil {
		return "", -1, err
	}
	return receive(p.sock, make([]byte, MaxMessage))
}

// failed words what kept an answer from coming.
func (p *Peer) failed(question string, err error) error {
	word, _ := words(question)
	switch {
	case errors.Is(err, unix.EAGAIN):
		p.kill()
		return &fault.Error{Op: fmt.Sprintf("%s does not answer %q", p.name, word), Err: unix.ETIMEDOUT,
			How: "look whether the device hangs: dmesg"}
	case errors.Is(err, io.EOF), errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		how := "closed its socket"
		select {
		case <-p.ended:
			how = "ended"
			if p.waitErr != nil {
				how += " (" + p.waitErr.Error() + ")"
			}
		case <-time.After(ending):
			p.kill()
		}
		return &fault.Error{Op: fmt.Sprintf("%s %s when it was asked to %s%s", p.name, how, word, p.said()),
			How: "look at what it says, and at the kernel's log: dmesg"}
	}
	return fmt.Errorf("ask %s to %s: %w", p.name, word, err)
}

// said is what the program wrote last, after a colon.
func (p *Peer) said() string {
	if s := p.stderr.String(); s != "" {
		return ": " + s
	}
	return ""
}

// refused makes an error of the program's own words.
func (p *Peer) refused(text string) error {
	why, how, _ := strings.Cut(strings.TrimPrefix(text, "refused"), "\n")
	why, how = plaintext.Line(strings.TrimSpace(why)), plaintext.Line(strings.TrimSpace(how))
	if why == "" {
		why = "it does not say why"
	}
	return &fault.Error{Op: p.name + ": " + why, How: how}
}

// Close ends the program, which frees the memory, and gives back what is ours of it.
func (p *Peer) Close() error {
	if p.sock >= 0 {
		_ = unix.Shutdown(p.sock, unix.SHUT_RDWR) // wakes who still asks
	}
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.sock >= 0 {
		unix.Close(p.sock)
		p.sock = -1
	}
	if p.FD >= 0 {
		unix.Close(p.FD)
		p.FD = -1
	}
	select {
	case <-p.ended:
	case <-time.After(ending):
		p.kill()
		<-p.ended
	}
	if p.window == nil {
		return nil
	}
	err := unix.Munmap(p.window)
	p.window, p.broken = nil, os.ErrClosed
	return err
}

// kill kills the program and what it started.
func (p *Peer) kill() {
	select {
	case <-p.ended: // its number may be another's by now
	default:
		unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	}
}

// IsDMABuf reports whether a descriptor is that of a dmabuf.
func IsDMABuf(fd int) bool {
	const magic = 0x444d4142 // DMA_BUF_MAGIC of include/uapi/linux/magic.h (5.3)
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && int64(st.Type) == magic
}

// tail keeps the end of what a program writes.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 1024
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-most):]
	return len(p), nil
}

// String is the last line of it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return plaintext.Line(shorten(lines[len(lines)-1], 200))
}
