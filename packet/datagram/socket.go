// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
)

// bound opens a non-blocking socket at an address. Several flows to one data port share its number:
// by SO_REUSEPORT, which no process of another user can join.
func bound(at netip.AddrPort, o sock.Options, shared bool) (fd int, err error) {
	at = sock.UnmapAddr(at)
	to, family, err := sockaddr(at)
	if err != nil {
		return -1, err
	}
	if fd, err = unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, remedy.Error(remedy.Socket, "open a UDP socket", err, remedy.On{Local: at})
	}
	if shared {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	if err == nil {
		err = o.Apply(fd)
	}
	if err == nil {
		if err = unix.Bind(fd, to); err != nil {
			err = remedy.Error(remedy.Bind, fmt.Sprintf("bind a UDP socket to %v", at), err,
				remedy.On{Local: at, FD: fd})
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// connect leaves the socket open for one peer alone.
func connect(fd int, peer netip.AddrPort) error {
	to, _, err := sockaddr(sock.UnmapAddr(peer))
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, to); err != nil {
		return remedy.Error(remedy.Connect, fmt.Sprintf("connect a UDP socket to %v", peer), err,
			remedy.On{Remote: peer, FD: fd})
	}
	return nil
}

// sockaddr converts an address to what the kernel takes.
func sockaddr(a netip.AddrPort) (unix.Sockaddr, int, error) {
	ip := a.Addr()
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, unix.AF_INET, nil
	}
	out := &unix.SockaddrInet6{Port: int(a.Port()), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		dev, err := net.InterfaceByName(zone)
		if err != nil {
			return nil, 0, &fault.Error{Op: "find the interface of " + ip.String(), Err: err,
				How: "write the address with this host's own interface behind the % (ip -br link)"}
		}
		out.ZoneId = uint32(dev.Index)
	}
	return out, unix.AF_INET6, nil
}

// drainMost bounds what is taken of a socket that is filled as fast as it is emptied.
const drainMost = 1 << 20

// drain throws away what waits in a socket, and says how many datagrams that was.
func drain(fd int) (n uint64) {
	var b [1]byte
	for range drainMost {
		if _, errno := sock.Recv(fd, b[:], unix.MSG_DONTWAIT|unix.MSG_TRUNC); errno != 0 {
			return n
		}
		n++
	}
	return n
}

// lacking turns err into the error of a mode that needs an option this kernel does not have.
func lacking(mode string, err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return &fault.Unsupported{Mode: mode, Op: f.Op, Err: f.Err, How: f.How}
	}
	return err
}
