// SPDX-License-Identifier: MIT

package remedy

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Answer is an ICMP message that ended a connection in its making.
type Answer struct {
	From       netip.Addr // who sent it
	V6         bool       // by ICMPv6
	Type, Code uint8
}

// AnswerOf takes an ICMP message out of a socket's error queue; nil: there is none. The kernel puts
// those there that end a connection in its making, of IPv4 since 5.8, of IPv6 where IPV6_RECVERR is
// on (net/ipv4/tcp_ipv4.c: tcp_v4_err; net/ipv6/tcp_ipv6.c: tcp_v6_err).
func AnswerOf(fd int) *Answer {
	control := make([]byte, 256)
	_, n, _, _, err := unix.Recvmsg(fd, nil, control, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return nil
	}
	msgs, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return nil
	}
	for _, m := range msgs {
		v4 := m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.SOL_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if a := answerIn(m.Data); a != nil && (v4 || v6) {
			return a
		}
	}
	return nil
}

// answerIn reads struct sock_extended_err of include/uapi/linux/errqueue.h, behind which stands
// the address of whoever sent the message.
func answerIn(b []byte) *Answer {
	const size = 16
	const originICMP, originICMP6 = 2, 3
	if len(b) < size+8 || b[4] != originICMP && b[4] != originICMP6 {
		return nil
	}
	a := &Answer{V6: b[4] == originICMP6, Type: b[5], Code: b[6]}
	from := b[size:]
	switch family := binary.NativeEndian.Uint16(from); {
	case family == unix.AF_INET:
		a.From = netip.AddrFrom4([4]byte(from[4:8]))
	case family == unix.AF_INET6 && len(from) >= 24:
		a.From = netip.AddrFrom16([16]byte(from[8:24])).Unmap()
	}
	return a
}

// unreachable are the codes of "destination unreachable", by IPv4 (type 3) and by IPv6 (type 1),
// as nft and iptables write them.
var unreachable = [2]map[uint8]string{
	{0: "net-unreachable", 1: "host-unreachable", 2: "prot-unreachable", 3: "port-unreachable", 9: "net-prohibited",
		10: "host-prohibited", 13: "admin-prohibited"},
	{0: "no-route", 1: "admin-prohibited", 3: "addr-unreachable", 4: "port-unreachable", 5: "policy-fail",
		6: "reject-route"},
}

// word names what the message says.
func (a *Answer) word() string {
	which, kind, name := 0, uint8(3), "ICMP"
	if a.V6 {
		which, kind, name = 1, 1, "ICMPv6"
	}
	if w := unreachable[which][a.Code]; w != "" && a.Type == kind {
		return name + " " + w
	}
	return fmt.Sprintf("%s type %d, code %d", name, a.Type, a.Code)
}

// String words who said what.
func (a *Answer) String() string { return fmt.Sprintf("%v answered %s", a.From, a.word()) }

// noNeighbour reports whether the message says that no host answers to the address.
func (a *Answer) noNeighbour() bool {
	return !a.V6 && a.Type == 3 && a.Code == 1 || a.V6 && a.Type == 1 && a.Code == 3
}

// noRoute reports whether the message says that there is no way to the address.
func (a *Answer) noRoute() bool {
	return !a.V6 && a.Type == 3 && a.Code == 0 || a.V6 && a.Type == 1 && a.Code == 0
}

// Looks at what an ICMP message said.
var (
	noNeighbour = &state{Name: "nothing on the link answers to the next hop's address",
		From: "recvmsg MSG_ERRQUEUE: host-unreachable of this host",
		Holds: func(on On) (string, bool) {
			return "", on.Answer != nil && on.Answer.noNeighbour() && own(on.Answer.From)
		}}
	ownReject = &state{Name: "this host's own firewall rejects it",
		From: "recvmsg MSG_ERRQUEUE: any other message of this host",
		Holds: func(on On) (string, bool) {
			if on.Answer == nil || !own(on.Answer.From) {
				return "", false
			}
			return "a firewall of this host itself rejects it: " + on.Answer.word(), true
		}}
	routerLost = &state{Name: "a router knows no way to the peer",
		From: "recvmsg MSG_ERRQUEUE: host-unreachable or no route, of neither end",
		Holds: func(on On) (string, bool) {
			a := on.Answer
			if a == nil || a.From == on.Remote.Addr().Unmap() || !a.noNeighbour() && !a.noRoute() {
				return "", false
			}
			return "the router " + a.String() + ": it does not reach that host", true
		}}
	rejected = &state{Name: "a firewall answered", From: "recvmsg MSG_ERRQUEUE",
		Holds: func(on On) (string, bool) {
			if on.Answer == nil {
				return "", false
			}
			return "a firewall rejects it: " + on.Answer.String(), true
		}}
	together = &state{Name: "the receiver listens, as its agent says", From: "the controller",
		Holds: func(on On) (string, bool) { return "", on.Together }}
	rejectedTogether = &state{Name: rejected.Name + ", and " + together.Name, From: rejected.From,
		Holds: func(on On) (string, bool) {
			words, holds := rejected.Holds(on)
			return words, holds && on.Together
		}}
)

// own reports whether this host has an address.
func own(a netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, x := range all {
		if n, ok := x.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a.WithZone("") {
				return true
			}
		}
	}
	return false
}
