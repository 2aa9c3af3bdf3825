// SPDX-License-Identifier: MIT

package gvnic

// Bytes of a descriptor in each ring (gve_desc_dqo.h).
const (
	txDescBytes = 16
	txDoneBytes = 8
	rxBufBytes  = 32
	rxDoneBytes = 32
)

// maxBacklog bounds what waits for buffers of one queue: more than the lab lets a flow have on its
// way (boundBuffers of lab/guest), so that a slow guest loses nothing. A real device waits less.
const maxBacklog = 4 << 20

// done is a ring in which the device tells what is done, with a bit that flips each time around.
type done struct {
	addr uint64
	mask uint32
	at   uint32
	gen  uint64
}

// next returns the place of the next descriptor, of n bytes, with the bit for it; nil: the ring is
// not in the guest's memory any more.
func (d *done) next(f *Function, n uint64) (at []byte, gen uint64) {
	ring := f.host.Bytes(d.addr, uint64(d.mask+1)*n)
	if ring == nil {
		return nil, 0
	}
	at, gen = ring[uint64(d.at)*n:][:n], d.gen
	if d.at = (d.at + 1) & d.mask; d.at == 0 {
		d.gen ^= 1
	}
	return at, gen
}

// txQueue is what the driver gives to be sent.
type txQueue struct {
	id, block  uint32
	addr       uint64
	mask       uint32
	head, tail uint32
	done       done
	late       []lateDone // in the order of their times
}

// rxQueue is where packets go: buffers that the driver has given, and a ring in which it is told
// which are full.
type rxQueue struct {
	id, block  uint32
	addr       uint64 // of the ring of buffers
	mask       uint32
	head, tail uint32
	done       done
	buffer     int  // bytes of a buffer
	header     int  // bytes of a header buffer; 0: headers are not split off
	aggregates bool // hardware GRO

	backlog      []segment
	backlogBytes int
}

// fits reports whether a ring of n descriptors can be one of the driver's.
func fits(n uint32, least uint32, addr uint64) bool {
	return n >= least && n <= ringMost && n&(n-1) == 0 && addr%64 == 0
}

const rawAddresses = 0xffffffff // GVE_RAW_ADDRESSING_QPL_ID

// createTX makes a transmit queue (struct gve_adminq_create_tx_queue).
func (f *Function) createTX(c *command) uint32 {
	id, block := c.u32(8), c.u32(36)
	n, nDone := uint32(c.u16(48)), uint32(c.u16(50))
	q := &txQueue{id: id, block: block, addr: c.u64(24), mask: n - 1,
		done: done{addr: c.u64(40), mask: nDone - 1, gen: 1}}
	switch {
	case !f.format:
		return precondition
	case id >= maxQueues || block >= blocks || c.u32(32) != rawAddresses,
		!fits(n, ringLeastTX, q.addr), !fits(nDone, ringLeastTX, q.done.addr),
		f.host.Bytes(q.addr, uint64(n)*txDescBytes) == nil,
		f.host.Bytes(q.done.addr, uint64(nDone)*txDoneBytes) == nil:
		return invalid
	case f.tx[id] != nil:
		return exists
	}
	if s := f.tell(c.u64(16), bellTX+id, id); s != passed {
		return s
	}
	f.tx[id] = q
	return passed
}

// createRX makes a receive queue (struct gve_adminq_create_rx_queue).
func (f *Function) createRX(c *command) uint32 {
	id, block := c.u32(8), c.u32(20)
	n, nDone := uint32(c.u16(56)), uint32(c.u16(52))
	q := &rxQueue{id: id, block: block, addr: c.u64(40), mask: n - 1,
		done:   done{addr: c.u64(32), mask: nDone - 1, gen: 1},
		buffer: int(c.u16(54)), header: int(c.u16(60)), aggregates: c[58] != 0}
	switch {
	case !f.format:
		return precondition
	case id >= maxQueues || block >= blocks || c.u32(48) != rawAddresses,
		q.buffer != 2048 && q.buffer != bufferBytes, q.header != 0 && q.header != headerBytes,
		!fits(n, ringLeastRX, q.addr), !fits(nDone, ringLeastRX, q.done.addr),
		f.host.Bytes(q.addr, uint64(n)*rxBufBytes) == nil,
		f.host.Bytes(q.done.addr, uint64(nDone)*rxDoneBytes) == nil:
		return invalid
	case f.rx[id] != nil:
		return exists
	}
	if s := f.tell(c.u64(24), bellRX+id, maxQueues+id); s != passed {
		return s
	}
	f.rx[id] = q
	return passed
}

// tell writes the number of a queue's doorbell and counter where the driver looks for them (struct
// gve_queue_resources).
func (f *Function) tell(addr uint64, bell, counter uint32) uint32 {
	return f.write(addr, be.AppendUint32(be.AppendUint32(nil, bell), counter))
}
