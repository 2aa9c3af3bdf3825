// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
)

// Socket is the highest rungs: a socket of UDP that gets the generator's frames. One that nobody
// reads is full soon, and then the kernel carries each datagram up to it and drops it there.
type Socket struct {
	FD    int
	is    Payload
	bytes int // of a datagram

	drops uint64 // of the socket, which counts them in 32 bits
	last  uint32
	buf   []byte
}

// Payload is how a generator's payload is told: by four bytes at a place in it.
type Payload struct {
	At   int
	Mark uint32
}

// Tagged describes the payload of [Generator].
func Tagged(tag uint32) Payload { return Payload{At: 8, Mark: tag} }

// received is what came to a socket.
type received struct {
	Packets, Bytes uint64 // the generator's, read
	Corrupted      uint64 // that are not as they were sent
}

// OpenSocket opens it at the tuples' end. Others' datagrams do not come: of one tuple it is
// connected, and of several it has a filter. What that refuses the kernel counts as dropped.
// rcvBuf is in bytes; 0: the host's default.
func OpenSocket(t Tuples, frameBytes, rcvBuf int, is Payload) (*Socket, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	family := unix.AF_INET
	if t.v6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, &fault.Error{Op: "open a UDP socket", Err: err}
	}
	s := &Socket{FD: fd, is: is, bytes: frameBytes - t.HeaderBytes(), buf: make([]byte, maxFrameBytes)}
	if err := s.open(t, rcvBuf); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// sleepLimit is how long a read sleeps at most: who reads looks for the flow's end.
const sleepLimit = 20 * time.Millisecond

func (s *Socket) open(t Tuples, rcvBuf int) error {
	if err := (sock.Options{RcvBuf: rcvBuf}).Apply(s.FD); err != nil {
		return err
	}
	if err := sock.Blocking(s.FD, sleepLimit); err != nil {
		return err
	}
	if t.ports() > 1 { // before it is bound: nothing comes unfiltered
		if err := unix.SetsockoptSockFprog(s.FD, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, t.filter()); err != nil {
			return &fault.Error{Op: "limit a UDP socket to the generator's datagrams (SO_ATTACH_FILTER)", Err: err,
				How: "use one 5-tuple (tuples)"}
		}
	}
	if err := unix.Bind(s.FD, sockaddr(t.Dest, t.DestPort)); err != nil {
		return &fault.Error{Op: fmt.Sprintf("bind a UDP socket to %v port %d", t.Dest, t.DestPort), Err: err,
			How: "another program has that UDP port (see ss -lunp): choose another with --port"}
	}
	if t.ports() == 1 {
		if err := unix.Connect(s.FD, sockaddr(t.Source, t.FirstPort)); err != nil {
			return &fault.Error{Op: fmt.Sprintf("connect a UDP socket to %v", t.Source), Err: err}
		}
	}
	m, err := counter.ReadMemInfo(s.FD)
	s.last = m.Drops
	return err
}

func sockaddr(a netip.Addr, port uint16) unix.Sockaddr {
	if a = a.Unmap(); a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4(), Port: int(port)}
	}
	return &unix.SockaddrInet6{Addr: a.As16(), Port: int(port)}
}

// Dropped returns how many datagrams came to the socket and found no room. It must be asked before
// 2^32 more have come.
func (s *Socket) Dropped() (uint64, error) {
	m, err := counter.ReadMemInfo(s.FD)
	if err != nil {
		return 0, err
	}
	s.drops += uint64(m.Drops - s.last)
	s.last = m.Drops
	return s.drops, nil
}

// Take reads one datagram; false: none came. flags are those of recvfrom(2).
func (s *Socket) Take(r *received, flags int) (bool, error) {
	n, errno := sock.Recv(s.FD, s.buf, flags|unix.MSG_TRUNC)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED: // the last: of a generator's host without a socket
		return false, nil
	default:
		return false, &fault.Error{Op: "read a datagram", Err: errno}
	}
	if n != s.bytes || binary.BigEndian.Uint32(s.buf[s.is.At:]) != s.is.Mark {
		r.Corrupted++
		return true, nil
	}
	r.Packets++
	r.Bytes += uint64(n)
	return true, nil
}

// Drain reads what waits, but no more than a full socket has.
func (s *Socket) Drain(r *received) error {
	for range 1 << 20 {
		if more, err := s.Take(r, unix.MSG_DONTWAIT); !more || err != nil {
			return err
		}
	}
	return nil
}

// Close closes the socket. It may be called twice.
func (s *Socket) Close() error {
	if s.FD < 0 {
		return nil
	}
	err := unix.Close(s.FD)
	s.FD = -1
	return err
}
