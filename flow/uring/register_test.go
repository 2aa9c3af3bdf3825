// SPDX-License-Identifier: MIT

package uring

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// readAll reads fd to the end of its flow.
func readAll(fd int) <-chan []byte {
	out := make(chan []byte, 1)
	go func() {
		var all bytes.Buffer
		buf := make([]byte, 1<<20)
		for {
			n, err := unix.Read(fd, buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				out <- all.Bytes()
				return
			}
			all.Write(buf[:n])
		}
	}()
	return out
}

func TestSendKinds(t *testing.T) { eachEngine(t, testSendKinds) }

func testSendKinds(t *testing.T) {
	const index, size = 1, 256 << 10
	f := newFlow()
	for name, prep := range map[string]func(*sqe, int, []byte){
		"send":         func(s *sqe, fd int, b []byte) { s.Send(fd, b, unix.MSG_WAITALL, 1) },
		"sendzc":       func(s *sqe, fd int, b []byte) { s.SendZC(fd, b, unix.MSG_WAITALL, true, 1) },
		"sendzc fixed": func(s *sqe, fd int, b []byte) { s.SendZCFixed(fd, index, b, unix.MSG_WAITALL, true, 1) },
		"fixed file": func(s *sqe, fd int, b []byte) {
			s.SendZCFixed(0, index, b, unix.MSG_WAITALL, true,
				1).FixedFile()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRing(t, variants["deferred"])
			m := newMemory(t, size)
			if err := r.RegisterBuffers([][]byte{newMemory(t, 4096).Bytes(), m.Bytes()}); err != nil {
				t.Fatal(err)
			}
			tx, rx := tcpPair(t)
			if err := r.RegisterFiles([]int{tx, -1}); err != nil {
				t.Fatal(err)
			}
			all := readAll(rx)
			rounds := long.Rounds(24, 64)
			notifs, copied := 0, 0
			for i := range rounds {
				copy(m.Bytes(), f.at(i*size, size))
				prep(r.GetSQE(), tx, m.Bytes())
				for more := true; more; {
					c := take(t, r)
					switch {
					case c.Notif():
						notifs++
						if c.Copied() {
							copied++
						}
					case c.Res != size:
						t.Fatalf("sent %d: %v", c.Res, c.Errno())
					}
					more = c.More()
				}
			}
			_ = unix.Shutdown(tx, unix.SHUT_WR)
			if got := <-all; len(got) != rounds*size {
				t.Errorf("%d bytes arrived of %d", len(got), rounds*size)
			} else {
				for i := range rounds {
					if !bytes.Equal(got[i*size:(i+1)*size], f.at(i*size, size)) {
						t.Fatalf("round %d arrived wrong", i)
					}
				}
			}
			t.Logf("%d notifications, %d copied", notifs, copied)
			if name != "send" && (notifs != rounds || copied != notifs) {
				t.Errorf("%d notifications, %d copied of %d: loopback copies all", notifs, copied, rounds)
			}
		})
	}
}

func newMemory(t testing.TB, size int) *Memory {
	t.Helper()
	m, err := NewMemory(size, PagesBase)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestRecvOnce(t *testing.T) { eachEngine(t, testRecvOnce) }

func testRecvOnce(t *testing.T) {
	eachVariant(t, func(t *testing.T, r *Ring) {
		tx, rx := tcpPair(t)
		m := newMemory(t, 4096)
		r.GetSQE().Recv(rx, m.Bytes(), 0, 1).PollFirst()
		if _, err := r.SubmitAndGetEvents(); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(tx, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if c := take(t, r); c.Res != 5 || string(m.Bytes()[:5]) != "hello" {
			t.Errorf("completion %+v, bytes %q", c, m.Bytes()[:5])
		}
		_ = unix.Shutdown(tx, unix.SHUT_WR)
		r.GetSQE().Recv(rx, m.Bytes(), 0, 2)
		if c := take(t, r); c.UserData != 2 || c.Res != 0 {
			t.Errorf("end of the flow: %+v", c)
		}
	})
}

func TestRegisterBuffersErrors(t *testing.T) { eachEngine(t, testRegisterBuffersErrors) }

func testRegisterBuffersErrors(t *testing.T) {
	r := newRing(t, variants["plain"])
	if err := r.RegisterBuffers(nil); err == nil {
		t.Error("registered nothing")
	}
	if err := r.UnregisterBuffers(); !errors.Is(err, unix.ENXIO) {
		t.Errorf("unregister: %v", err)
	}
	bufs := [][]byte{newMemory(t, 4096).Bytes()}
	if err := r.RegisterBuffers(bufs); err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterBuffers(bufs); !errors.Is(err, unix.EBUSY) {
		t.Errorf("registered twice: %v", err)
	}
	tx, _ := tcpPair(t)
	outside := newMemory(t, 4096).Bytes()
	r.GetSQE().SendZCFixed(tx, 0, outside, 0, true, 1)
	c := take(t, r)
	if c.Errno() != unix.EFAULT {
		t.Errorf("sent from outside of the buffer: %+v", c)
	}
	if c.More() {
		take(t, r)
	}
	if err := r.UnregisterBuffers(); err != nil {
		t.Error(err)
	}
}

func TestFixedFiles(t *testing.T) { eachEngine(t, testFixedFiles) }

func testFixedFiles(t *testing.T) {
	r := newRing(t, variants["deferred"])
	if err := r.RegisterFiles([]int{-1, -1}); err != nil {
		t.Fatal(err)
	}
	if err := r.RegisterFiles([]int{-1}); !errors.Is(err, unix.EBUSY) {
		t.Errorf("registered twice: %v", err)
	}
	p, q, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err = r.UpdateFile(1, int(q.Fd())); err != nil {
		t.Fatal(err)
	}
	_ = q.Close() // the ring keeps it open
	r.GetSQE().PollAdd(1, unix.POLLOUT, 1).FixedFile()
	if c := take(t, r); c.Res&unix.POLLOUT == 0 {
		t.Errorf("completion %+v", c)
	}
	if err = r.UpdateFile(1, -1); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(p); err != nil || len(b) != 0 { // ends once the ring lets go
		t.Errorf("read %d bytes: %v", len(b), err)
	}
	if err = r.UpdateFile(9, -1); !errors.Is(err, unix.EINVAL) {
		t.Errorf("index 9 of 2: %v", err)
	}
	if err = r.UnregisterFiles(); err != nil {
		t.Error(err)
	}
}
