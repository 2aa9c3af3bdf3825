// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Qdisc is a queueing discipline of an interface (include/uapi/linux/rtnetlink.h), and what it
// counts (include/uapi/linux/gen_stats.h; net/core/gen_stats.c: gnet_stats_copy_basic,
// gnet_stats_copy_queue, Linux 7.3.4). Those of one that has others below it, such as mq, have
// theirs in them; noqueue counts nothing.
type Qdisc struct {
	Index          int // of the interface
	Kind           string
	Handle, Parent uint32 // as tc writes them: 8001: is 0x80010000
	Offloaded      bool   // the driver does its work (TCA_HW_OFFLOAD)
	Bytes, Packets uint64
	Drops          uint32 // these wrap
	Requeues       uint32
	Overlimits     uint32
	QLen           uint32 // packets that wait
	Backlog        uint32 // and their bytes
}

// The parents of qdiscs that are nobody's child (include/uapi/linux/pkt_sched.h).
const (
	QdiscRoot    = 0xffffffff // TC_H_ROOT
	QdiscIngress = 0xfffffff1 // TC_H_INGRESS, also of clsact
)

const (
	tcmsgLen         = 20 // struct tcmsg
	tcaHWOffload     = 12 // TCA_HW_OFFLOAD
	tcaKind          = 1  // TCA_KIND
	tcaStats2        = 7  // TCA_STATS2
	tcaDumpInvisible = 10 // TCA_DUMP_INVISIBLE

	statsBasic  = 1 // TCA_STATS_BASIC
	statsQueue  = 3 // TCA_STATS_QUEUE
	statsPkt64  = 8 // TCA_STATS_PKT64, behind it: only where 32 bits are too few
	basicBytes  = 12
	queueFields = 5
)

// Qdiscs lists the queueing disciplines of all interfaces.
func Qdiscs() ([]Qdisc, error) {
	return once(func(c *Conn) ([]Qdisc, error) { return c.Qdiscs(0, false) })
}

// Qdiscs lists the queueing disciplines of an interface, with invisible also those that the kernel
// has put there by itself. 0 is all interfaces.
func (c *Conn) Qdiscs(index int, invisible bool) (out []Qdisc, err error) {
	h := make([]byte, tcmsgLen)
	binary.NativeEndian.PutUint32(h[4:], uint32(index))
	msgs, err := c.ask(unix.RTM_GETQDISC, netlink.Dump, h,
		func(ae *netlink.AttributeEncoder) { ae.Flag(tcaDumpInvisible, invisible) })
	if err != nil {
		of := "all interfaces"
		if index != 0 {
			of = fmt.Sprintf("interface number %d", index)
		}
		return nil, remedy.Error(remedy.QdiscGet, "list the queueing disciplines of "+of, err, remedy.On{})
	}
	for _, m := range msgs {
		q, err := decodeQdisc(m.Data)
		if err != nil {
			return nil, err
		}
		if index == 0 || q.Index == index { // a dump is of all, before Linux 4.6 or so
			out = append(out, q)
		}
	}
	return out, nil
}

func decodeQdisc(b []byte) (q Qdisc, err error) {
	if len(b) < tcmsgLen {
		return q, fmt.Errorf("the kernel's message of a qdisc has %d bytes", len(b))
	}
	q.Index = int(int32(binary.NativeEndian.Uint32(b[4:])))
	q.Handle, q.Parent = binary.NativeEndian.Uint32(b[8:]), binary.NativeEndian.Uint32(b[12:])
	ad, err := netlink.NewAttributeDecoder(b[tcmsgLen:])
	if err != nil {
		return q, err
	}
	for ad.Next() {
		switch ad.Type() {
		case tcaKind:
			q.Kind = ad.String()
		case tcaHWOffload:
			q.Offloaded = ad.Uint8() != 0
		case tcaStats2:
			ad.Nested(q.decodeStats)
		}
	}
	return q, ad.Err()
}

func (q *Qdisc) decodeStats(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		b, ne := ad.Bytes(), binary.NativeEndian
		switch {
		case ad.Type() == statsBasic && len(b) >= basicBytes: // struct gnet_stats_basic
			q.Bytes, q.Packets = ne.Uint64(b), uint64(ne.Uint32(b[8:])) // its last 32 bits
		case ad.Type() == statsPkt64 && len(b) >= 8:
			q.Packets = ne.Uint64(b)
		case ad.Type() == statsQueue && len(b) >= 4*queueFields: // struct gnet_stats_queue
			for i, to := range [queueFields]*uint32{&q.QLen, &q.Backlog, &q.Drops, &q.Requeues, &q.Overlimits} {
				*to = ne.Uint32(b[4*i:])
			}
		}
	}
	return ad.Err()
}
