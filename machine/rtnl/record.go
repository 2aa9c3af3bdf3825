// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// A record of an interface (package tape) has of rtnetlink what is said of links and queueing
// disciplines, and of that these attributes alone: none is an address, a name or an alias.
// Interfaces are called by their number.
var (
	linkAttrs = []uint16{unix.IFLA_MTU, unix.IFLA_LINK, unix.IFLA_MASTER, unix.IFLA_OPERSTATE, unix.IFLA_LINK_NETNSID,
		unix.IFLA_NUM_TX_QUEUES, unix.IFLA_NUM_RX_QUEUES,
		unix.IFLA_CARRIER, unix.IFLA_GSO_MAX_SEGS, unix.IFLA_GSO_MAX_SIZE, unix.IFLA_GRO_MAX_SIZE,
		unix.IFLA_GSO_IPV4_MAX_SIZE, unix.IFLA_GRO_IPV4_MAX_SIZE,
		unix.IFLA_TSO_MAX_SIZE, unix.IFLA_TSO_MAX_SEGS, unix.IFLA_MIN_MTU, unix.IFLA_MAX_MTU}
	xdpAttrs  = []uint16{unix.IFLA_XDP_ATTACHED, unix.IFLA_XDP_FLAGS}
	infoAttrs = []uint16{unix.IFLA_INFO_KIND, infoSlaveKind}

	qdiscAttrs = []uint16{1, 12} // TCA_KIND, TCA_HW_OFFLOAD
)

// tcmsgBytes is the size of struct tcmsg, before the attributes of a queueing discipline.
const tcmsgBytes = 20

// anonymizers are the requests that are written down, with what makes their replies harmless.
var anonymizers = map[int]struct {
	name string
	of   func([]byte) ([]byte, error)
}{
	unix.RTM_GETLINK:  {"getlink", anonymous},
	unix.RTM_GETQDISC: {"getqdisc", anonymousQdisc},
}

func anonymousQdisc(b []byte) ([]byte, error) {
	if len(b) < tcmsgBytes {
		return nil, fmt.Errorf("the kernel's message of a queueing discipline has %d bytes", len(b))
	}
	attrs, err := onlyAttrs(b[tcmsgBytes:], qdiscAttrs)
	return append(slices.Clone(b[:tcmsgBytes]), attrs...), err
}

// infoSlaveKind is IFLA_INFO_SLAVE_KIND: what the interface is a port of, such as "bond".
const infoSlaveKind = 4

// recorded answers a request.
func recorded(kind int, flags netlink.HeaderFlags, asked []byte,
	f func() ([]netlink.Message, error)) ([]netlink.Message, error) {
	a, known := anonymizers[kind]
	if !tape.Replaying() && !(known && tape.Recording()) {
		return f()
	}
	bodies, err := tape.Ask(fmt.Sprintf("netlink route %s, flags %#x: %x", a.name, int(flags), asked),
		func() (out []tape.Bytes, err error) {
			msgs, err := f()
			for _, m := range msgs {
				if err == nil {
					var b []byte
					b, err = a.of(m.Data)
					out = append(out, b)
				}
			}
			return out, err
		})
	var msgs []netlink.Message
	for _, b := range bodies {
		msgs = append(msgs, netlink.Message{Data: b})
	}
	return msgs, err
}

// anonymous strips the body of an RTM_NEWLINK message to what a record has of it.
func anonymous(b []byte) ([]byte, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return nil, fmt.Errorf("the kernel's message of an interface has %d bytes", len(b))
	}
	head := b[:unix.SizeofIfInfomsg]
	out := slices.Clone(head)
	out = appendAttr(out, unix.IFLA_IFNAME, append(fmt.Appendf(nil, "if%d", binary.NativeEndian.Uint32(head[4:])), 0))
	err := eachAttr(b[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) (err error) {
		nested := map[uint16][]uint16{unix.IFLA_XDP: xdpAttrs, unix.IFLA_LINKINFO: infoAttrs}[kind&^attrFlags]
		switch {
		case nested != nil:
			var in []byte
			if in, err = onlyAttrs(value, nested); err == nil {
				out = appendAttr(out, kind, in)
			}
		case slices.Contains(linkAttrs, kind&^attrFlags):
			out = appendAttr(out, kind, value)
		}
		return err
	})
	return out, err
}

// WithoutAttrs drops those of some types from a list of netlink attributes.
func WithoutAttrs(b []byte, drop []uint16) ([]byte, error) {
	return filter(b, func(kind uint16) bool { return !slices.Contains(drop, kind) })
}

func onlyAttrs(b []byte, keep []uint16) ([]byte, error) {
	return filter(b, func(kind uint16) bool { return slices.Contains(keep, kind) })
}

func filter(b []byte, keep func(kind uint16) bool) (out []byte, err error) {
	err = eachAttr(b, func(kind uint16, value []byte) error {
		if keep(kind &^ attrFlags) {
			out = appendAttr(out, kind, value)
		}
		return nil
	})
	return out, err
}

// attrFlags are NLA_F_NESTED and NLA_F_NET_BYTEORDER in an attribute's type.
const attrFlags = unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER

// eachAttr calls f with each attribute of a list: its type with flags, and its value.
func eachAttr(b []byte, f func(kind uint16, value []byte) error) error {
	for len(b) > 0 {
		if len(b) < unix.SizeofNlAttr {
			return fmt.Errorf("a netlink attribute of %d bytes", len(b))
		}
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofNlAttr || n > len(b) {
			return fmt.Errorf("a netlink attribute claims %d bytes of %d", n, len(b))
		}
		if err := f(binary.NativeEndian.Uint16(b[2:]), b[unix.SizeofNlAttr:n]); err != nil {
			return err
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return nil
}

func appendAttr(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(unix.SizeofNlAttr+len(value)))
	to = append(binary.NativeEndian.AppendUint16(to, kind), value...)
	return append(to, make([]byte, -len(value)&3)...)
}
