// SPDX-License-Identifier: MIT

package ledger

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// qdiscDrops are what an interface's outermost queueing discipline has dropped since it was
// made, by the interface's index. Those below it are in its count.
type qdiscDrops map[int]qdiscDrop

type qdiscDrop struct {
	kind   string
	handle uint32 // which one it is: another has counted from 0
	drops  uint64
}

// include/uapi/linux/rtnetlink.h, pkt_sched.h, gen_stats.h
const (
	tcmsgLen      = 20 // struct tcmsg
	tcaKind       = 1  // TCA_KIND
	tcaStats2     = 7  // TCA_STATS2
	tcaStatsQueue = 3  // TCA_STATS_QUEUE
	tcRoot        = 0xffffffff
)

// readQdiscs asks for those of the calling thread's network namespace.
func readQdiscs() (qdiscDrops, error) {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("read what queueing disciplines dropped: open a route netlink socket: %w", err)
	}
	defer c.Close()
	msgs, err := c.Execute(netlink.Message{Header: netlink.Header{Type: unix.RTM_GETQDISC,
		Flags: netlink.Request | netlink.Dump}, Data: make([]byte, tcmsgLen)})
	if err != nil {
		return nil, fmt.Errorf("read what queueing disciplines dropped: RTM_GETQDISC: %w", err)
	}
	q := qdiscDrops{}
	for _, m := range msgs {
		if err := q.decode(m.Data); err != nil {
			return nil, fmt.Errorf("read what queueing disciplines dropped: %w", err)
		}
	}
	return q, nil
}

// decode reads the body of an RTM_NEWQDISC message, and keeps it if it is of a root.
func (q qdiscDrops) decode(b []byte) error {
	if len(b) < tcmsgLen {
		return fmt.Errorf("the kernel's message of a qdisc has %d bytes", len(b))
	}
	index := int(int32(binary.NativeEndian.Uint32(b[4:])))
	d := qdiscDrop{handle: binary.NativeEndian.Uint32(b[8:])}
	root := binary.NativeEndian.Uint32(b[12:]) == tcRoot
	ad, err := netlink.NewAttributeDecoder(b[tcmsgLen:])
	if err != nil {
		return err
	}
	for ad.Next() {
		switch ad.Type() {
		case tcaKind:
			d.kind = ad.String()
		case tcaStats2:
			ad.Nested(d.stats)
		}
	}
	if err := ad.Err(); err != nil {
		return err
	}
	if root {
		q[index] = d
	}
	return nil
}

// stats finds drops in struct gnet_stats_queue: qlen, backlog, drops, ...
func (d *qdiscDrop) stats(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		if ad.Type() != tcaStatsQueue {
			continue
		}
		b := ad.Bytes()
		if len(b) < 12 {
			return fmt.Errorf("the kernel's counters of a qdisc have %d bytes", len(b))
		}
		d.drops = uint64(binary.NativeEndian.Uint32(b[8:]))
	}
	return nil
}
