// SPDX-License-Identifier: MIT

package gvnic

import "slices"

// segment is what goes into the buffers of one queue and comes out of the driver as one skb.
type segment struct {
	kind    packetKind
	header  []byte
	payload []byte
	hash    uint32
	mss     int // of aggregated segments; 0: it is a single one
}

// bytes is the length of a segment.
func (s *segment) bytes() int { return len(s.header) + len(s.payload) }

// held is what a segment that waits takes, with what it takes besides its bytes.
func (s *segment) held() int { return s.bytes() + 128 }

// receive takes a packet from the wire: cuts it into segments where it is to be, or leaves it whole
// where the queue aggregates, and puts it into buffers.
func (f *Function) receive(p *packet, mss int, sums bool) {
	key := newFlowKey(p)
	hash, id := f.route(&key)
	if id >= maxQueues || f.rx[id] == nil {
		return
	}
	q := f.rx[id]
	all := p.data[p.payload:p.end]
	step := len(all)
	if mss > 0 {
		step = q.step(p, mss)
	}
	for off := 0; ; off += step {
		n := min(step, len(all)-off)
		var room [maxHeaders]byte
		s := segment{kind: p.kind, header: p.header(&room, off, n, mss, sums), payload: all[off:][:n], hash: hash}
		if n > mss {
			s.mss = mss
		}
		f.arrive(q, &s)
		if off+n >= len(all) {
			return
		}
	}
}

// step returns how many bytes of payload of a packet with a mss a queue takes at once. One skb has
// room for 17 buffers besides its header, and IPv4 for 64 KiB.
func (q *rxQueue) step(p *packet, mss int) int {
	if !q.aggregates || !p.kind.tcp() {
		return mss
	}
	return max(1, min(16*q.buffer-p.payload, 0xffff-p.payload)/mss) * mss
}

// place puts a segment into its queue's buffers, or lets it wait for some.
func (f *Function) place(q *rxQueue, s *segment) {
	if f.rx[q.id] != q {
		return // the queue went while the segment was kept back
	}
	if len(q.backlog) == 0 && f.fill(q, s) {
		return
	}
	if q.backlogBytes+s.held() > maxBacklog {
		f.counts.RX[q.id].Dropped++
		return
	}
	q.backlog = append(q.backlog, s.clone())
	q.backlogBytes += s.held()
}

// clone copies what would be overwritten.
func (s *segment) clone() segment {
	c := *s
	c.header, c.payload = slices.Clone(s.header), slices.Clone(s.payload)
	return c
}

// drain puts what waits into the buffers that have come.
func (f *Function) drain(q *rxQueue) {
	i := 0
	for ; i < len(q.backlog) && f.fill(q, &q.backlog[i]); i++ {
		q.backlogBytes -= q.backlog[i].held()
	}
	q.backlog = slices.Delete(q.backlog, 0, i)
}

// fill writes a segment into a queue's buffers and tells the driver. false: there are not enough.
func (f *Function) fill(q *rxQueue, s *segment) bool {
	split := q.header > 0 && s.kind.tcp() && len(s.header) <= q.header
	head, rest := s.header, s.payload
	if split {
		head = nil
	}
	total := len(head) + len(rest)
	n := uint32(max(1, (total+q.buffer-1)/q.buffer))
	ring := f.host.Bytes(q.addr, uint64(q.mask+1)*rxBufBytes)
	if ring == nil || (q.tail-q.head)&q.mask < n {
		return false
	}
	f.card.capture.add(s)
	f.counts.RX[q.id].Packets++
	if !split && s.kind != kindOther {
		f.counts.RX[q.id].Unsplit++
	}
	for i := range n {
		var d [rxBufBytes]byte
		copy(d[:], ring[q.head*rxBufBytes:])
		q.head = (q.head + 1) & q.mask
		r := result{id: le.Uint16(d[:]), last: i == n-1, len: min(q.buffer, total)}
		total -= r.len
		to := f.host.Bytes(le.Uint64(d[8:]), uint64(r.len))
		if r.bad = to == nil; !r.bad {
			k := copy(to, head)
			n := copy(to[k:], rest)
			if head, rest = head[k:], rest[n:]; s.kind != kindOther {
				f.wrote(q, n)
			}
		}
		if split && i == 0 {
			r.header = len(s.header)
			if h := f.host.Bytes(le.Uint64(d[16:]), uint64(r.header)); h != nil {
				copy(h, s.header)
				f.counts.RX[q.id].Header += uint64(r.header)
			} else {
				r.bad = true
			}
		}
		f.rxDone(q, s, &r)
	}
	f.event(q.block)
	return true
}

// result is what a completion says of one buffer.
type result struct {
	id        uint16
	len       int
	header    int // bytes in the header buffer; 0: nothing is split off
	last, bad bool
}

// rxDone writes a completion (struct gve_rx_compl_desc_dqo).
func (f *Function) rxDone(q *rxQueue, s *segment, r *result) {
	at, gen := q.done.next(f, rxDoneBytes)
	if at == nil {
		return
	}
	var d [rxDoneBytes]byte
	d[8] = 1 // done
	if r.last {
		d[8] |= 1 << 1
	}
	if q.header > 0 && r.header == 0 && s.kind.tcp() && len(s.header) > q.header {
		d[8] |= 1 << 2 // the header is too long for its buffer
	}
	if s.kind != kindOther {
		d[8] |= 1 << 3 // checksums are right: it is our own wire
	}
	le.PutUint16(d[12:], r.id)
	le.PutUint16(d[14:], uint16(s.mss))
	le.PutUint32(d[16:], s.hash)
	copy(at[8:], d[8:])
	v := uint64(1) | uint64(s.kind)<<16 | uint64(r.len)<<32 | gen<<46 | uint64(r.header)<<48
	if r.bad {
		v |= 1 << 10
	}
	if s.mss > 0 {
		v |= 1 << 58
	}
	if r.header > 0 {
		v |= 1 << 59
	}
	publish(at, v)
}
