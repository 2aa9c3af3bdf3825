// SPDX-License-Identifier: MIT

package gvnic

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
	fetched bool   // the driver wants to be told how far descriptors are fetched
	next    uint16 // the place of the descriptor after the packet's
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
		if f.status&statusLink != 0 && f.peer.host != nil {
			f.peer.receive(&p, out.mss, out.sums)
		}
	}
	done := *out
	done.next = uint16(q.head)
	f.card.after(f.card.Late, func() {
		if f.tx[q.id] == q { // not one that was made since
			f.sent(q, &done)
		}
	})
}

// sent tells the driver of a packet that is gone. The driver sees to it that the ring has room.
func (f *Function) sent(q *txQueue, out *outgoing) {
	if out.fetched {
		f.txDone(q, doneFetched, out.next)
	}
	f.txDone(q, donePacket, out.tag)
	f.event(q.block)
}

func (f *Function) txDone(q *txQueue, kind uint64, v uint16) {
	if at, gen := q.done.next(f, txDoneBytes); at != nil {
		publish(at, uint64(q.id)|kind<<11|gen<<15|uint64(v)<<16)
	}
}
