// SPDX-License-Identifier: MIT

package xdp

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// farEnd is the receiver, which has to be there as long as frames are sent: a switch that has
// forgotten it floods its whole network with them.
type farEnd struct {
	words *stream.Conn // to it
	dev   rtnl.Link
	to    netip.Addr
	mac   net.HardwareAddr

	route  *rtnl.Conn
	asking net.Conn // makes the kernel see whether it still answers: frames do not
	next   time.Time
	silent bool // when the neighbour was last looked for, it was not known
}

// discard is where what is sent to see whether a host answers does not meet the generator's
// tuples (RFC 863).
const discard = 9

// neighbourEvery is how old it may be what is known of the neighbour.
const neighbourEvery = time.Second

// openFarEnd begins to look, in the calling thread's network namespace.
func openFarEnd(dev string, t Tuples, peer net.HardwareAddr, words *stream.Conn) (f *farEnd, err error) {
	f = &farEnd{words: words, to: t.Dest.Unmap(), mac: peer}
	if f.dev, err = rtnl.LinkNamed(dev); err != nil {
		return nil, err
	}
	if f.route, err = rtnl.Dial(); err != nil {
		return nil, err
	}
	from, to := netip.AddrPortFrom(t.Source.Unmap(), 0), netip.AddrPortFrom(f.to, discard)
	if f.asking, err = net.DialUDP("udp", net.UDPAddrFromAddrPort(from), net.UDPAddrFromAddrPort(to)); err != nil {
		f.route.Close()
		return nil, fmt.Errorf("see whether %v answers: %w", f.to, err)
	}
	return f, nil
}

func (f *farEnd) close() {
	f.route.Close()
	f.asking.Close()
}

// look checks whether there still is a receiver; the error says why not.
func (f *farEnd) look(now time.Time) error {
	if f.words != nil {
		p := []unix.PollFd{{Fd: int32(f.words.FD), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(p, 0); err == nil && n > 0 {
			return &fault.Error{Op: "generate frames: the receiver broke off before the end of the flow",
				Err: unix.ECONNRESET, Peer: true, How: "it was stopped or killed: see its own message"}
		}
	}
	if now.Before(f.next) {
		return nil
	}
	f.next = now.Add(neighbourEvery)
	_, _ = f.asking.Write(nil) // what comes of it is seen at the next look
	return f.neighbour()
}

// neighbour looks whether the receiver's address on the link is what frames are sent to. One that
// was forgotten has until the next look to answer.
func (f *farEnd) neighbour() error {
	gone := func(why string) error {
		return &fault.Error{Op: fmt.Sprintf("generate frames for %v on %s: %s", f.to, f.dev.Name, why),
			Err: unix.EHOSTUNREACH, Peer: true,
			How: "check that the receiver is up and nobody else has its address: ping, ip neigh"}
	}
	mac, err := f.route.Neighbour(f.dev.Index, f.to)
	switch {
	case errors.Is(err, unix.ENOENT) && !f.silent:
		f.silent = true
		return nil
	case errors.Is(err, unix.ENOENT):
		return gone("it no longer answers")
	case err != nil:
		return fmt.Errorf("see whether %v is still there: %w", f.to, err)
	case !bytes.Equal(mac, f.mac):
		return gone(fmt.Sprintf("its address on the link is now %v, was %v", mac, f.mac))
	}
	f.silent = false
	return nil
}
