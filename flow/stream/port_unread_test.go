// SPDX-License-Identifier: MIT

package stream

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// unreadable is a connection whose payload lies in memory that recv cannot read.
type unreadable struct{ net.Conn }

func (u unreadable) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", unix.EFAULT)}
}

// A flow whose hello came by a queue with foreign memory, as it can where no RSS table keeps it
// off, is told from one that did not come.
func TestHelloThatCannotBeRead(t *testing.T) {
	p, err := openPort("127.0.0.1:0", NewCookie(), 1, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a, b := net.Pipe()
	defer a.Close()
	p.handshake(unreadable{b})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = p.Accept(ctx)
	if !errors.Is(err, unix.EFAULT) ||
		!strings.Contains(err.Error(),
			"what 1 connections sent first came by a queue whose memory recv cannot read") ||
		!strings.Contains(fault.Fix(err), "run it again") || p.Strangers() != 1 {
		t.Errorf("%v, %d strangers", err, p.Strangers())
	}
}
