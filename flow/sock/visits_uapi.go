// SPDX-License-Identifier: MIT

package sock

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"structs"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Address is an address of TCP as the kernel has it.
type Address struct {
	raw    [unix.SizeofSockaddrInet6]byte
	len    uint32
	Family int
}

// AddressOf converts an address. A zone of IPv6 is the name or the number of an interface.
func AddressOf(a netip.AddrPort) (to Address, err error) {
	a = UnmapAddr(a)
	if a.Addr().Is4() {
		to.Family, to.len = unix.AF_INET, unix.SizeofSockaddrInet4
		ip := a.Addr().As4()
		copy(to.raw[4:], ip[:])
	} else {
		to.Family, to.len = unix.AF_INET6, unix.SizeofSockaddrInet6
		ip := a.Addr().As16()
		copy(to.raw[8:], ip[:])
		scope, err := scopeOf(a.Addr().Zone())
		if err != nil {
			return to, err
		}
		binary.NativeEndian.PutUint32(to.raw[24:], scope)
	}
	binary.NativeEndian.PutUint16(to.raw[:], uint16(to.Family))
	binary.BigEndian.PutUint16(to.raw[2:], a.Port())
	return to, nil
}

// scopeOf finds the number of the interface of a zone.
func scopeOf(zone string) (uint32, error) {
	if zone == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n), nil
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0, fmt.Errorf("the zone %q: %w", zone, err)
	}
	return uint32(i.Index), nil
}

// Stream makes a socket of TCP that does not block.
func Stream(family int) (fd int, errno unix.Errno) {
	r, _, e := unix.RawSyscall(unix.SYS_SOCKET, uintptr(family), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		0)
	return int(r), e
}

// Connect calls connect(2): EINPROGRESS where the handshake is under way.
func Connect(fd int, to *Address) unix.Errno {
	_, _, e := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&to.raw)), uintptr(to.len))
	return e
}

// Bind calls bind(2).
func Bind(fd int, at *Address) unix.Errno {
	_, _, e := unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&at.raw)), uintptr(at.len))
	return e
}

// StreamFor makes a socket of TCP whose calls may sleep, for at most limit at a time: see
// [Blocking].
func StreamFor(family int, limit time.Duration) (fd int, errno unix.Errno) {
	r, _, e := unix.RawSyscall(unix.SYS_SOCKET, uintptr(family), unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	tv := unix.NsecToTimeval(limit.Nanoseconds())
	for _, option := range [...]uintptr{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		if e == 0 {
			_, _, e = unix.RawSyscall6(unix.SYS_SETSOCKOPT, r, unix.SOL_SOCKET, option,
				uintptr(unsafe.Pointer(&tv)), unsafe.Sizeof(tv), 0)
		}
	}
	return int(r), e
}

// Accept takes a connection, whose calls sleep unless they are told not to (MSG_DONTWAIT). EAGAIN:
// there is none.
func Accept(fd int) (int, unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_CLOEXEC, 0, 0)
	return int(r), e
}

// Close closes a descriptor.
func Close(fd int) { unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

// Pair sends two pieces in one call. It keeps the kernel's structures, so that calls do not
// allocate.
type Pair struct {
	hdr unix.Msghdr
	iov [2]unix.Iovec
}

// Send calls sendmsg(2) for head and body, with MSG_DONTWAIT in flags without blocking. With to it
// opens the connection by TCP Fast Open (MSG_FASTOPEN), and EINPROGRESS says that it is opened
// without data.
func (p *Pair) Send(fd int, head, body []byte, to *Address, with int) (n int, errno unix.Errno) {
	p.iov[0].Base, p.iov[1].Base = unsafe.SliceData(head), unsafe.SliceData(body)
	p.iov[0].SetLen(len(head))
	p.iov[1].SetLen(len(body))
	p.hdr.Iov, p.hdr.Iovlen = &p.iov[0], 2
	flags := uintptr(with | unix.MSG_NOSIGNAL)
	if p.hdr.Name, p.hdr.Namelen = nil, 0; to != nil {
		p.hdr.Name, p.hdr.Namelen = &to.raw[0], to.len
		flags |= unix.MSG_FASTOPEN
	}
	r, _, e := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&p.hdr)), flags)
	return int(r), e
}

// Epoll waits for many sockets. It keeps the kernel's structures, so that waiting does not
// allocate.
type Epoll struct {
	fd     int
	events [64]unix.EpollEvent
	ev     unix.EpollEvent
	ts     unix.Timespec
}

// Of events, those that a socket's owner wants: what can be read, and what the peer has ended.
const (
	CanRead  = unix.EPOLLIN
	CanWrite = unix.EPOLLOUT
	PeerDone = unix.EPOLLRDHUP
	OnChange = unix.EPOLLET
)

// NewEpoll calls epoll_create1(2).
func NewEpoll() (*Epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	return &Epoll{fd: fd}, nil
}

// NewPollingEpoll makes one whose waits poll as options of sockets say.
func NewPollingEpoll(o Options) (*Epoll, error) {
	p, err := NewEpoll()
	if err != nil || o.EpollUs == 0 {
		return p, err
	}
	if err := p.Poll(o.EpollUs, o.BusyBudget); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// epollParams is struct epoll_params of include/uapi/linux/eventpoll.h.
type epollParams struct {
	_      structs.HostLayout
	us     uint32
	budget uint16
	prefer uint8
	_      uint8
}

const setEpollParams = 0x40088a01 // EPIOCSPARAMS, 6.9

// Poll lets waits poll the queue by which the packets of the sockets come that were heard last, for
// so many microseconds before they sleep, and keeps its interrupts off meanwhile where it defers
// them. Where the queue has an irq-suspend-timeout, they stay off from an event until a wait finds
// none (fs/eventpoll.c: ep_suspend_napi_irqs, 6.13).
func (p *Epoll) Poll(us, budget int) error {
	e := epollParams{us: uint32(us), budget: uint16(budget), prefer: 1}
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(p.fd), setEpollParams, uintptr(unsafe.Pointer(&e)))
	if errno != 0 {
		return remedy.Error(remedy.EpollParams, fmt.Sprintf("ioctl EPIOCSPARAMS %d us", us), errno, remedy.On{FD: p.fd})
	}
	return nil
}

// Add waits for events of a socket from now on, which carry its number.
func (p *Epoll) Add(fd, number int, events uint32) unix.Errno {
	p.ev = unix.EpollEvent{Events: events, Fd: int32(number)}
	_, _, e := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.fd), unix.EPOLL_CTL_ADD, uintptr(fd),
		uintptr(unsafe.Pointer(&p.ev)), 0, 0)
	return e
}

// Wait sleeps until a socket has an event, or limit has passed, with the precision of
// epoll_pwait2(2), Linux 5.11. A signal counts as a time-out.
//
//go:noinline
func (p *Epoll) Wait(limit time.Duration) (n int, errno unix.Errno) {
	p.ts = unix.NsecToTimespec(limit.Nanoseconds())
	r, _, e := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.ts)), 0, 0)
	if e == unix.EINTR {
		return 0, 0
	}
	return int(r), e
}

// Event returns event i of the last Wait: whose it is, and what.
func (p *Epoll) Event(i int) (number int, events uint32) {
	return int(p.events[i].Fd), p.events[i].Events
}

// Close ends it.
func (p *Epoll) Close() error {
	if p == nil {
		return nil
	}
	fd := p.fd
	if p.fd = -1; fd < 0 {
		return nil
	}
	return unix.Close(fd)
}
