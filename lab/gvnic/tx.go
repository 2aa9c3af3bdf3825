// SPDX-License-Identifier: MIT

package gvnic

import (
	"slices"
	"time"
)

// The kinds of transmit descriptors and completions (gve_desc_dqo.h).
const (
	descPacket  = 0xc
	descTSO     = 0x5
	descGeneral = 0x4
	donePacket  = 0x2
	doneFetched = 0x4
)

const (
	maxTSO    = 0x3ffff // bytes of payload (GVE_DQO_TX_MAX)
	maxPacket = maxTSO + maxHeaders
	leastMSS  = 88 // GVE_TX_MIN_TSO_MSS_DQO
	mostMSS   = 9728
)

// outgoing is a packet as its descriptors tell it.
type outgoing struct {
	data    []byte
	mss     int // 0: it goes as it is
	headers int // as the driver says, where there is an mss
	sums    bool
	tag     uint16
	fetched bool // the driver wants to be told how far descriptors are fetched
	bad     bool
}

// sendOne sends the next packet of a queue, and reports whether there was one.
func (f *Function) sendOne(q *txQueue) bool {
	ring := f.host.Bytes(q.addr, uint64(q.mask+1)*txDescBytes)
	if ring == nil {
		return false
	}
	out := outgoing{data: f.card.scratch[:0]}
	for i := q.head; i != q.tail; {
		var d [txDescBytes]byte
		copy(d[:], ring[i*txDescBytes:]) // the guest may write there meanwhile
		i = (i + 1) & q.mask
		if !f.gather(&out, &d) {
			continue
		}
		q.head = i
		f.card.scratch = out.data[:0]
		f.send(q, &out)
		return true
	}
	return false
}

// gather adds what a descriptor says, and reports whether it was the packet's last one.
func (f *Function) gather(out *outgoing, d *[txDescBytes]byte) (last bool) {
	const kindMask, endBit, sumBit, eventBit, tsoBit = 0x1f, 1 << 5, 1 << 6, 1 << 7, 1 << 5
	switch flags := d[8]; flags & kindMask {
	case descGeneral:
	case descTSO:
		if flags&tsoBit != 0 {
			out.mss, out.headers = int(le.Uint16(d[4:])&0x3fff), int(d[6])
			out.bad = out.bad || out.mss < leastMSS || out.mss > mostMSS
		}
	case descPacket:
		n := le.Uint16(d[14:]) & 0x3fff
		b := f.host.Bytes(le.Uint64(d[:]), uint64(n))
		if b == nil || len(out.data)+len(b) > maxPacket {
			out.bad = true
		} else {
			out.data = append(out.data, b...)
		}
		out.sums, out.tag = flags&sumBit != 0, le.Uint16(d[12:])
		out.fetched = flags&eventBit != 0
		return flags&endBit != 0
	default:
		out.bad = true
	}
	return false
}

// send gives a packet to the peer, and tells the driver that it is gone.
func (f *Function) send(q *txQueue, out *outgoing) {
	p := parse(out.data)
	n := &f.counts.TX[q.id]
	switch {
	case out.bad || len(out.data) < etherBytes,
		out.mss > 0 && (p.kind == kindOther || p.payload != out.headers),
		out.mss == 0 && len(out.data) > maxMTU+etherBytes+4:
		n.Refused++
	default:
		n.Packets++
		n.Bytes += uint64(len(out.data))
		if f.status&f.peer.status&statusLink != 0 && f.peer.host != nil {
			f.peer.receive(&p, out.mss, out.sums)
		}
	}
	if len(q.late) <= int(q.done.mask) { // else the driver has no room to be told
		q.late = append(q.late, lateDone{time.Now().Add(f.card.Late), uint16(q.head), out.tag, out.fetched})
		f.card.after(f.card.Late, func() { f.due(q) })
	}
}

// lateDone is of a packet that is gone, of which the driver is to be told at a time.
type lateDone struct {
	at        time.Time
	next, tag uint16
	fetched   bool
}

// due tells the driver of all packets whose time has come, in their order: who comes first of
// several timers is nobody's choice.
func (f *Function) due(q *txQueue) {
	if f.tx[q.id] != q {
		return // it is one that was made since
	}
	i, now := 0, time.Now()
	for ; i < len(q.late) && !q.late[i].at.After(now); i++ {
		f.sent(q, &q.late[i])
	}
	q.late = slices.Delete(q.late, 0, i)
}

// sent tells the driver of a packet that is gone. The driver sees to it that the ring has room.
func (f *Function) sent(q *txQueue, d *lateDone) {
	if d.fetched {
		f.txDone(q, doneFetched, d.next)
	}
	f.txDone(q, donePacket, d.tag)
	f.event(q.block)
}

func (f *Function) txDone(q *txQueue, kind uint64, v uint16) {
	if at, gen := q.done.next(f, txDoneBytes); at != nil {
		publish(at, uint64(q.id)|kind<<11|gen<<15|uint64(v)<<16)
	}
}
