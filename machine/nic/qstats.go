// SPDX-License-Identifier: MIT

package nic

import (
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
)

// QueueStats are an RX queue's counters since the driver counts.
type QueueStats struct {
	Packets, Bytes uint64
	AllocFail      uint64 // no buffer was to be had
	Drops          uint64 // packets lost for want of a buffer, or otherwise by the NIC

	// HWGRO are packets that the NIC put together, of HWGROWire packets on the wire;
	// CountsGRO: the driver counts them.
	HWGRO, HWGROWire uint64
	CountsGRO        bool
}

// QueueStats reads the counters of every RX queue, by queue (netdev qstats-get,
// 6.9). A driver without them answers EOPNOTSUPP.
func (d *Device) QueueStats() (map[int]QueueStats, error) {
	all, err := d.QStats(true)
	if err != nil {
		return nil, err
	}
	return RXStats(all), nil
}

// RXStats picks the counters of the RX queues from all, by queue.
func RXStats(all []QStat) map[int]QueueStats {
	out := map[int]QueueStats{}
	for i := range all {
		if q := &all[i]; q.RX && q.Queue >= 0 {
			out[q.Queue] = q.rx()
		}
	}
	return out
}

// QStat is what a driver counts of one queue, or of the whole interface (netdev qstats-get).
type QStat struct {
	Queue  int // -1: of the interface, with what queues counted that are gone
	RX     bool
	Values []QValue // what the driver counts; the others are not there
}

// QValue is one counter, as Documentation/netlink/specs/netdev.yaml calls it: rx-packets.
type QValue struct {
	Name  string
	Value uint64
}

// QStats reads the counters of all queues, or those of the whole interface. A driver may have
// the first alone (net/core/netdev-genl.c: netdev_nl_stats_by_netdev, Linux 7.3.4): then there
// are none of the interface.
func (d *Device) QStats(queues bool) ([]QStat, error) {
	op := d.op("read the queues' counters")
	msgs, err := d.ask(d.netdev, cmdQStatsGet, netlink.Dump, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQStatsIfindex, uint32(d.Index))
		if queues {
			ae.Uint32(attrQStatsScope, scopeQueue) // a uint: 4 bytes do
		}
	})
	if err != nil {
		return nil, d.failed(remedy.QStatsGet, op, err)
	}
	var out []QStat
	for _, m := range msgs {
		q, err := decodeQStat(m.Data)
		if err != nil {
			return nil, garbled(op, err)
		}
		out = append(out, q)
	}
	return out, nil
}

func decodeQStat(b []byte) (q QStat, err error) {
	q.Queue = -1
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return q, err
	}
	for ad.Next() {
		at := int(ad.Type()) - attrQStatsPackets
		switch {
		case ad.Type() == attrQStatsID:
			q.Queue = int(ad.Uint32())
		case ad.Type() == attrQStatsType:
			q.RX = ad.Uint32() == queueRX
		case at >= 0 && at < len(qstatNames): // newer ones have no name here
			q.Values = append(q.Values, QValue{qstatNames[at], uintOf(ad)})
		}
	}
	return q, ad.Err()
}

// rx picks the counters of an RX queue that the modes look at.
func (q *QStat) rx() (s QueueStats) {
	for _, v := range q.Values {
		switch v.Name {
		case "rx-packets":
			s.Packets = v.Value
		case "rx-bytes":
			s.Bytes = v.Value
		case "rx-alloc-fail":
			s.AllocFail = v.Value
		case "rx-hw-drops":
			s.Drops = v.Value
		case "rx-hw-gro-packets":
			s.HWGRO = v.Value
		case "rx-hw-gro-wire-packets":
			s.HWGROWire, s.CountsGRO = v.Value, true
		}
	}
	return s
}
