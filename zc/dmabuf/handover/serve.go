// SPDX-License-Identifier: MIT

package handover

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Memory is what a program hands over.
type Memory struct {
	FD           int   // the dmabuf
	Offset, Size int64 // where in it the memory is
	Place, Name  string

	Read  func(off int64, p []byte) error // copies from the memory
	Write func(off int64, p []byte) error // copies to it
}

// Serve is the program's side: it makes the memory by open when it is asked for it, and answers on
// the socket until that ends. It returns nil then. The caller frees the memory.
func Serve(sock int, open func(size int64) (*Memory, error)) error {
	s := &server{sock: sock, open: open}
	defer s.close()
	for buf := make([]byte, MaxMessage); ; {
		text, fd, err := receive(sock, buf)
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive a question: %w", err)
		}
		answer, give := "done", -1
		if give, answer, err = s.answer(text, fd); err != nil {
			answer, give = refusal(err), -1
		}
		if err := send(sock, answer, give); errors.Is(err, unix.EPIPE) {
			return nil
		} else if err != nil {
			return fmt.Errorf("send the answer: %w", err)
		}
	}
}

type server struct {
	sock   int
	open   func(size int64) (*Memory, error)
	mem    *Memory
	window []byte
}

func (s *server) close() {
	if s.window != nil {
		unix.Munmap(s.window)
	}
}

// answer does what a message asks for, and returns what to say, with the descriptor to give, or -1.
// fd came with the message, or is -1.
func (s *server) answer(text string, fd int) (give int, say string, err error) {
	if fd >= 0 {
		defer unix.Close(fd)
	}
	word, args := words(text)
	if word == "open" {
		return s.make(args, fd)
	}
	if s.mem == nil {
		return -1, "", errors.New("nothing is open")
	}
	do := s.mem.Read
	switch word {
	case "read":
	case "write":
		do = s.mem.Write
	default:
		return -1, "", fmt.Errorf("the question %q is not known", shorten(word, 40))
	}
	off, n, err := two(args, s.mem.Size)
	switch {
	case err != nil:
		return -1, "", err
	case do == nil:
		return -1, "", fmt.Errorf("this memory has no %s", word)
	}
	return -1, "done", do(off, s.window[:n])
}

func (s *server) make(args []string, window int) (give int, say string, err error) {
	if s.mem != nil || window < 0 || len(args) != 1 {
		return -1, "", errors.New("open is asked once, with a size and a window")
	}
	size, err := number(args[0])
	if err != nil || size == 0 || size > MaxSize {
		return -1, "", fmt.Errorf("a size from 1 to %d is needed", int64(MaxSize))
	}
	if s.window == nil {
		s.window, err = unix.Mmap(window, 0, Window, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return -1, "", fmt.Errorf("map the window: %w", err)
		}
	}
	m, err := s.open(size)
	if err != nil {
		return -1, "", err
	}
	s.mem = m
	place := m.Place
	if place == "" {
		place = "-"
	}
	return m.FD, fmt.Sprintf("memory %d %d %s %s", m.Offset, m.Size, place, m.Name), nil
}

// refusal words an error, and what to do about it.
func refusal(err error) string {
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	return shorten("refused "+line(err.Error())+"\n"+line(fault.Fix(err)), MaxMessage-8)
}
