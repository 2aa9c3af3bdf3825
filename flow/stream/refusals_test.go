// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give to who opens a data port has the table's words, and names it.
func TestRefusedPorts(t *testing.T) {
	const at = "127.0.0.1:0"
	listen := func() error {
		p, err := Listen(at, Cookie{}, sock.Options{})
		if err == nil {
			err = p.Close()
		}
		return err
	}
	if err := listen(); err != nil { // Go now knows what families there are
		t.Fatal(err)
	}
	remedytest.Try(t, remedy.Socket, at, remedytest.Denied(unix.SYS_SOCKET, listen))
	remedytest.Try(t, remedy.Bind, at, remedytest.Denied(unix.SYS_BIND, listen))
	remedytest.Try(t, remedy.Listen, at, remedytest.Denied(unix.SYS_LISTEN, listen))
}

// What keeps connections from being taken is the reason why no flow came, and not the sender.
func TestRefusedAccept(t *testing.T) {
	p, err := openPort("127.0.0.1:0", Cookie{}, 1, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	over, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	take := func() error {
		_, err := p.take(p.ln)
		_, _, late := p.Accept(over)
		if err == nil {
			return errors.New("it was taken")
		}
		return late
	}
	// Go goes on after these; there is none to time out.
	but := append([]unix.Errno{unix.ECONNABORTED, unix.ETIMEDOUT}, remedytest.Repeated...)
	remedytest.Try(t, remedy.Accept, p.Addr().String(), remedytest.Denied(unix.SYS_ACCEPT4, take), but...)
	if _, err := p.take(p.ln); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Accept(over); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after one that was taken: %v", err)
	}
}

// Each errno that the kernel may give to a flow under way has the table's words, and names the
// call.
func TestRefusedTransfers(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	c, b := &Conn{FD: fds[0]}, make([]byte, 8)
	answer := func() error { return AnswerError(c, c.writeAll(b)) }
	send := func() error { return SendError(c, "send 8 bytes", c.writeAll(b)) }
	recv := func() error { return ReceiveError(c, "receive 8 bytes", c.readFull(t.Context(), b)) }
	for _, err := range []error{c.writeAll(b), (&Conn{FD: fds[1]}).readFull(t.Context(), b)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	remedytest.Try(t, remedy.Send, "send an answer", remedytest.Denied(unix.SYS_SENDTO, answer))
	remedytest.Try(t, remedy.Send, "send 8 bytes", remedytest.Denied(unix.SYS_SENDTO, send))
	remedytest.Try(t, remedy.Recv, "receive 8 bytes", remedytest.Denied(unix.SYS_RECVFROM, recv),
		remedytest.Repeated...)
	remedytest.Try(t, remedy.Shutdown, "the sending side", remedytest.Denied(unix.SYS_SHUTDOWN, c.EndOfSend))
	for err, peer := range map[error]bool{unix.EPIPE: true, unix.ECONNRESET: true, unix.ECONNREFUSED: true,
		unix.ENOBUFS: false} {
		if e := SendError(c, "send", err); BlamesPeer(e) != peer {
			t.Errorf("%v", e)
		}
	}
}

// Each errno that the kernel may give to who asks for memory has the table's words, and names it.
func TestRefusedMemory(t *testing.T) {
	payload := func() error {
		p, err := NewPayload(4096)
		if err == nil {
			err = p.Close()
		}
		return err
	}
	const bytes = 123 * 4096 // as nobody else maps
	buffer := func() error {
		b, err := NewBuffer(bytes)
		if err == nil {
			err = b.Close()
		}
		return err
	}
	remedytest.Try(t, remedy.Memfd, "memfd_create for the payload", remedytest.Denied(unix.SYS_MEMFD_CREATE, payload))
	remedytest.Try(t, remedy.Mmap, "bytes of payload", remedytest.Denied(unix.SYS_FTRUNCATE, payload), unix.EINTR)
	remedytest.Try(t, remedy.Mmap, "a buffer of 503808 bytes", remedytest.DeniedIf(unix.SYS_MMAP, 1, bytes, buffer))
}
