// SPDX-License-Identifier: MIT

package xsk

import (
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may give has the table's words, and names the queue.
func TestRefused(t *testing.T) {
	s := &Socket{Options: Options{Dev: "lo", Queue: 0}, FD: -1, chunk: 4096}
	ends := func() error { o := *s; defer o.Close(); return o.open(1) }
	for _, x := range []struct {
		call   remedy.Call
		nr     uint32
		object string
		do     func() error
	}{
		{remedy.XSKSocket, unix.SYS_SOCKET, "socket of AF_XDP", Probe},
		{remedy.XSKMemory, unix.SYS_SETSOCKOPT, "queue 0 of lo: register its memory", ends},
		{remedy.XSKRing, unix.SYS_SETSOCKOPT, "queue 0 of lo: make a ring", s.makeRings},
		{remedy.XSKAsk, unix.SYS_GETSOCKOPT, "queue 0 of lo: ask where", s.mapRings},
		{remedy.XSKAsk, unix.SYS_GETSOCKOPT, "queue 0 of lo: read what it lost",
			func() error { _, err := s.Lost(); return err }},
		{remedy.XSKAsk, unix.SYS_GETSOCKOPT, "queue 0 of lo: ask whether it copies",
			func() error { _, err := s.zeroCopied(); return err }},
		{remedy.XSKBind, unix.SYS_BIND, "queue 0 of lo: bind it", func() error { return s.bind(1) }},
	} {
		if x.nr == unix.SYS_SETSOCKOPT && Probe() != nil {
			continue // there is no socket to set
		}
		remedytest.Try(t, x.call, x.object, remedytest.Denied(x.nr, x.do), remedytest.Repeated...)
	}
	defer func() { mmap = unix.Mmap }()
	remedytest.Try(t, remedy.XSKMap, "ring of an AF_XDP socket", func(errno unix.Errno) error {
		mmap = func(int, int64, int, int, int) ([]byte, error) { return nil, errno }
		_, err := mapRing(-1, 0, unix.XDPRingOffset{}, 8, 8)
		return err
	})
}
