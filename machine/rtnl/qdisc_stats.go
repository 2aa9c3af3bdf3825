// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
)

// QdiscStats is what a queueing discipline counts (include/uapi/linux/gen_stats.h; net/core/
// gen_stats.c: gnet_stats_copy_basic, gnet_stats_copy_queue, Linux 7.3.4). Those of one that has
// others below it, such as mq, have theirs in them.
type QdiscStats struct {
	Kind           string
	Handle, Parent uint32 // as tc writes them: 8001: is 0x80010000
	Bytes, Packets uint64
	Drops          uint32 // these wrap
	Requeues       uint32
	Overlimits     uint32
	QLen           uint32 // packets that wait
	Backlog        uint32 // and their bytes
}

// The parents of qdiscs that are nobody's child (include/uapi/linux/pkt_sched.h).
const (
	QdiscRoot    = tcRoot     // TC_H_ROOT
	QdiscIngress = 0xfffffff1 // TC_H_INGRESS, also of clsact
)

const (
	tcaStats2        = 7  // TCA_STATS2
	tcaDumpInvisible = 10 // TCA_DUMP_INVISIBLE

	statsBasic  = 1 // TCA_STATS_BASIC
	statsQueue  = 3 // TCA_STATS_QUEUE
	statsPkt64  = 8 // TCA_STATS_PKT64, behind it: only where 32 bits are too few
	basicBytes  = 12
	queueFields = 5
)

// QdiscStats reads the counters of the queueing disciplines of an interface, also of those that
// the kernel has put there by itself. noqueue counts nothing, and is not there.
func (c *Conn) QdiscStats(index int) ([]QdiscStats, error) {
	return listQdiscs(c, index, func(ae *netlink.AttributeEncoder) { ae.Flag(tcaDumpInvisible, true) },
		decodeQdiscStats, func(of int, q *QdiscStats) bool { return of == index && q.Kind != "noqueue" })
}

// RootQdiscs reads the counters of the outermost queueing discipline of each interface, by the
// interface's number. Those of the ones below it are in its count. noqueue is there.
func RootQdiscs() (map[int]QdiscStats, error) {
	return once(func(c *Conn) (map[int]QdiscStats, error) {
		out := map[int]QdiscStats{}
		_, err := listQdiscs(c, 0, nil, decodeQdiscStats, func(of int, q *QdiscStats) bool {
			if q.Parent == QdiscRoot {
				out[of] = *q
			}
			return false
		})
		return out, err
	})
}

func decodeQdiscStats(b []byte) (index int, q QdiscStats, err error) {
	index, plain, err := decodeQdisc(b)
	if err != nil {
		return index, q, err
	}
	q.Kind = plain.Kind
	q.Handle, q.Parent = binary.NativeEndian.Uint32(b[8:]), binary.NativeEndian.Uint32(b[12:])
	ad, err := netlink.NewAttributeDecoder(b[tcmsgLen:])
	if err != nil {
		return index, q, err
	}
	for ad.Next() {
		if ad.Type() == tcaStats2 {
			ad.Nested(q.decode)
		}
	}
	return index, q, ad.Err()
}

func (q *QdiscStats) decode(ad *netlink.AttributeDecoder) error {
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
