// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Link is what the kernel says of an interface (IFLA_*). Sizes are in bytes; 0
// where it does not say.
type Link struct {
	Index          int
	Name           string
	Kind           string // of a virtual one, such as "veth"
	Master         int    // the index of what it is a port of: a bond, team, bridge or VRF; 0: of nothing
	Lower          int    // the index of what it stands on, as a VLAN on its port; 0: on nothing
	LowerElsewhere bool   // that is in another network namespace
	Peer           int    // of a pair, such as veth: the index of the other end; 0: it is none
	// where that is elsewhere, the namespace's number here ([Conn.NetnsID]); -1: it is here, or
	// none
	PeerNetns      int
	Bond           *Bond  // nil: it is none
	VLAN           int    // of a VLAN: its number
	Flags          uint32 // IFF_*
	Operational    bool   // it passes packets: its operstate is up (RFC 2863)
	MTU            int
	XDP            bool   // a program is attached
	XDPProgram     uint32 // its number (BPF_PROG_GET_FD_BY_ID); 0: none, several, or not told
	GSOMaxSize     int    // largest packet that TCP hands down, IPv6
	GROMaxSize     int    // largest that GRO makes
	GSOIPv4MaxSize int
	GROIPv4MaxSize int
	TSOMaxSize     int    // what the driver takes
	Stats          *Stats // nil: not said
}

// Stats are an interface's counters since it was made (struct rtnl_link_stats64 of
// include/uapi/linux/if_link.h, in its order).
type Stats struct {
	RxPackets, TxPackets, RxBytes, TxBytes                                          uint64
	RxErrors, TxErrors, RxDropped, TxDropped                                        uint64
	Multicast, Collisions                                                           uint64
	RxLengthErrors, RxOverErrors, RxCrcErrors, RxFrameErrors, RxFifoErrors          uint64
	RxMissedErrors                                                                  uint64
	TxAbortedErrors, TxCarrierErrors, TxFifoErrors, TxHeartbeatErrors, TxWindowErrs uint64
	RxCompressed, TxCompressed, RxNohandler                                         uint64
	RxOtherhostDropped                                                              uint64 // 6.0

	Size uint64 // how many bytes of this the kernel has told: fields behind them are not measured
}

// Links lists the interfaces.
func (c *Conn) Links() ([]Link, error) {
	msgs, err := c.ask(unix.RTM_GETLINK, netlink.Dump, ifinfo(0, 0, 0), nil)
	if err != nil {
		return nil, remedy.Error(remedy.LinkGet, "list network interfaces", err, remedy.On{})
	}
	var out []Link
	for _, m := range msgs {
		l, err := ParseLink(m.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// Link reads the interface with an index; unix.ENODEV where there is none.
func (c *Conn) Link(index int) (Link, error) {
	return c.link(fmt.Sprintf("number %d", index), remedy.On{}, ifinfo(index, 0, 0), nil)
}

// Named reads the interface with a name; unix.ENODEV where there is none.
func (c *Conn) Named(name string) (Link, error) {
	if name == "" || len(name) >= unix.IFNAMSIZ {
		return Link{}, remedy.Error(remedy.LinkGet, fmt.Sprintf("find interface %q", name), unix.ENODEV,
			remedy.On{Dev: name})
	}
	return c.link(name, remedy.On{Dev: name}, ifinfo(0, 0, 0),
		func(ae *netlink.AttributeEncoder) { ae.String(unix.IFLA_IFNAME, name) })
}

func (c *Conn) link(what string, on remedy.On, header []byte, fill func(*netlink.AttributeEncoder)) (Link, error) {
	msgs, err := c.ask(unix.RTM_GETLINK, 0, header, fill)
	if err == nil && len(msgs) == 0 {
		err = unix.ENODEV
	}
	if err != nil {
		return Link{}, remedy.Error(remedy.LinkGet, "find interface "+what, err, on)
	}
	return ParseLink(msgs[0].Data)
}

// operUp is IF_OPER_UP (include/uapi/linux/if.h).
const operUp = 6

// ParseLink reads the body of an RTM_NEWLINK message.
func ParseLink(b []byte) (Link, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return Link{}, fmt.Errorf("the kernel's message of an interface has %d bytes", len(b))
	}
	l := Link{Index: int(int32(binary.NativeEndian.Uint32(b[4:]))), Flags: binary.NativeEndian.Uint32(b[8:]),
		PeerNetns: -1}
	ad, err := netlink.NewAttributeDecoder(b[unix.SizeofIfInfomsg:])
	if err != nil {
		return l, fmt.Errorf("the kernel's message of interface %d: %w", l.Index, err)
	}
	numbers := map[uint16]*int{unix.IFLA_MTU: &l.MTU, unix.IFLA_MASTER: &l.Master, unix.IFLA_LINK: &l.Lower,
		unix.IFLA_GSO_MAX_SIZE: &l.GSOMaxSize, unix.IFLA_GRO_MAX_SIZE: &l.GROMaxSize,
		unix.IFLA_GSO_IPV4_MAX_SIZE: &l.GSOIPv4MaxSize, unix.IFLA_GRO_IPV4_MAX_SIZE: &l.GROIPv4MaxSize,
		unix.IFLA_TSO_MAX_SIZE: &l.TSOMaxSize}
	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_IFNAME:
			l.Name = ad.String()
		case unix.IFLA_OPERSTATE:
			l.Operational = ad.Uint8() == operUp
		case unix.IFLA_STATS64:
			l.Stats = parseStats(ad.Bytes())
		case unix.IFLA_LINKINFO:
			ad.Nested(l.parseInfo)
		case unix.IFLA_LINK_NETNSID:
			l.LowerElsewhere, l.PeerNetns = true, int(int32(ad.Uint32()))
		case unix.IFLA_XDP:
			ad.Nested(func(in *netlink.AttributeDecoder) error {
				for in.Next() {
					switch in.Type() {
					case unix.IFLA_XDP_ATTACHED:
						l.XDP = in.Uint8() != 0 // XDP_ATTACHED_NONE
					case unix.IFLA_XDP_PROG_ID:
						l.XDPProgram = in.Uint32()
					}
				}
				return nil
			})
		default:
			if n := numbers[ad.Type()]; n != nil {
				*n = int(ad.Uint32())
			}
		}
	}
	if err := ad.Err(); err != nil {
		return l, fmt.Errorf("the kernel's message of interface %s: %w", l.Name, err)
	}
	l.standAlone()
	return l, nil
}

// parseStats reads as much as this kernel has: newer ones append to the struct.
func parseStats(b []byte) *Stats {
	s := &Stats{}
	full := make([]byte, binary.Size(s))
	copy(full, b)
	if _, err := binary.Decode(full, binary.NativeEndian, s); err != nil {
		return nil // it has the size it needs
	}
	s.Size = uint64(len(b))
	return s
}

// otherhostEnd is where rx_otherhost_dropped ends in the kernel's struct.
const otherhostEnd = 25 * 8

// CountsOtherhost reports whether the kernel has RxOtherhostDropped.
func (s *Stats) CountsOtherhost() bool { return s.Size >= otherhostEnd }

// Change sets attributes of the interface with an index. What changes something returns
// the kernel's error as it is: who calls knows what the interface is called, and what the error
// means (package remedy).
func (c *Conn) Change(index int, fill func(*netlink.AttributeEncoder)) error {
	_, err := c.ask(unix.RTM_SETLINK, netlink.Acknowledge, ifinfo(index, 0, 0), fill)
	return err
}

// SetNumber sets one attribute that is a number, such as unix.IFLA_MTU.
func (c *Conn) SetNumber(index int, attr uint16, v int) error {
	return c.Change(index, func(ae *netlink.AttributeEncoder) { ae.Uint32(attr, uint32(v)) })
}

// SetUp sets the interface up or down.
func (c *Conn) SetUp(index int, up bool) error {
	flags := uint32(0)
	if up {
		flags = unix.IFF_UP
	}
	_, err := c.ask(unix.RTM_NEWLINK, netlink.Acknowledge, ifinfo(index, flags, unix.IFF_UP), nil)
	return err
}

// Delete removes a virtual interface.
func (c *Conn) Delete(index int) error {
	_, err := c.ask(unix.RTM_DELLINK, netlink.Acknowledge, ifinfo(index, 0, 0), nil)
	return err
}

// PairEnd is one end of a pair of interfaces.
type PairEnd struct {
	Index    int // 0: the kernel chooses
	Name     string
	MTU      int
	RXQueues int // that it has room for; 0: as its driver has it
}

// VethEnd is one end of a veth link.
type VethEnd = PairEnd

// pairPeer is VETH_INFO_PEER (include/uapi/linux/veth.h), and IFLA_NETKIT_PEER_INFO of if_link.h.
const pairPeer = 1

// AddVeth makes a veth link: one end here, the other in the network namespace of a
// descriptor.
func (c *Conn) AddVeth(here, there VethEnd, thereNS int) error {
	return c.addPair("veth", here, there, thereNS)
}

// AddNetkit makes a pair of netkit interfaces, without Ethernet addresses (NETKIT_L3): the primary
// one here, its peer in the network namespace of a descriptor.
func (c *Conn) AddNetkit(here, there PairEnd, thereNS int) error {
	return c.addPair(KindNetkit, here, there, thereNS)
}

// KindNetkit is a [Link.Kind].
const KindNetkit = "netkit"

func (c *Conn) addPair(kind string, here, there PairEnd, thereNS int) error {
	end := func(ae *netlink.AttributeEncoder, e PairEnd) {
		ae.String(unix.IFLA_IFNAME, e.Name)
		ae.Uint32(unix.IFLA_MTU, uint32(e.MTU))
		if e.RXQueues > 0 {
			ae.Uint32(unix.IFLA_NUM_RX_QUEUES, uint32(e.RXQueues))
		}
	}
	_, err := c.ask(unix.RTM_NEWLINK, netlink.Acknowledge|netlink.Create|netlink.Excl, ifinfo(here.Index, 0, 0),
		func(ae *netlink.AttributeEncoder) {
			end(ae, here)
			ae.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
				info.String(unix.IFLA_INFO_KIND, kind)
				info.Nested(unix.IFLA_INFO_DATA, func(data *netlink.AttributeEncoder) error {
					peer := netlink.NewAttributeEncoder()
					end(peer, there)
					peer.Uint32(unix.IFLA_NET_NS_FD, uint32(thereNS))
					attrs, err := peer.Encode()
					data.Bytes(pairPeer, append(ifinfo(there.Index, 0, 0), attrs...))
					return err
				})
				return nil
			})
		})
	return err
}

// HasNetkit finds out whether the kernel has netkit (6.7, CONFIG_NETKIT), and makes nothing: it
// gives one an address that netkit_validate refuses (drivers/net/netkit.c), and does not ask to
// have it made.
func HasNetkit() error {
	_, err := once(func(c *Conn) ([]netlink.Message, error) {
		return c.ask(unix.RTM_NEWLINK, netlink.Acknowledge, ifinfo(0, 0, 0), func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.IFLA_ADDRESS, make([]byte, 6))
			ae.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
				info.String(unix.IFLA_INFO_KIND, KindNetkit)
				return nil
			})
		})
	})
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return nil
	case errors.Is(err, unix.ENODEV):
		return &fault.Error{Op: "find netkit: the kernel knows no such kind of interface", Err: unix.EOPNOTSUPP,
			How: "use Linux 6.7 or later, with CONFIG_NETKIT"}
	case err == nil:
		return errors.New("the kernel took an interface of netkit without a name and with no address")
	}
	return fmt.Errorf("find netkit: %w", err)
}

// Links calls [Conn.Links] in the calling thread's network namespace.
func Links() ([]Link, error) { return once((*Conn).Links) }

// LinkNamed calls [Conn.Named] in the calling thread's network namespace.
func LinkNamed(name string) (Link, error) {
	return once(func(c *Conn) (Link, error) { return c.Named(name) })
}

// LinkAt calls [Conn.Link] in the calling thread's network namespace.
func LinkAt(index int) (Link, error) {
	return once(func(c *Conn) (Link, error) { return c.Link(index) })
}
