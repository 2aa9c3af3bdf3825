// SPDX-License-Identifier: MIT

package gvnic

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/lab/vfiouser"
	"golang.org/x/sys/unix"
)

const testMemory = 16 << 20

// driver is what sets a function up and uses its queues, as gve does, in a memory of its own.
type driver struct {
	testing.TB
	f    *Function
	next uint64 // memory that is free
	cmds uint32
	ring uint64 // of commands

	rx [maxQueues]*rxRing
	tx [maxQueues]*txRing
}

// rxRing and txRing are the driver's sides of queues.
type rxRing struct {
	bell                   uint32
	bufs, headers, compl   uint64
	size, posted, seen     uint32
	buffer, header         int
	gen                    byte
	buffers, headerBuffers []uint64 // by their numbers
}

type txRing struct {
	bell               uint32
	descs, compl       uint64
	size, tail, seen   uint32
	gen                byte
	tags, fetchedHeads []uint16
}

// newDrivers sets both functions of a card up.
func newDrivers(t testing.TB) (*Card, *driver, *driver) {
	t.Helper()
	return newDriversWith(t, Options{})
}

// newDriversWith is newDrivers with faults.
func newDriversWith(t testing.TB, o Options) (c *Card, rx, tx *driver) {
	t.Helper()
	c, err := NewCard(o)
	if err != nil {
		t.Fatal(err)
	}
	both := [2]*driver{}
	for i := range both {
		fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
		if err == nil {
			err = unix.Ftruncate(fd, testMemory)
		}
		if err != nil {
			t.Fatal(err)
		}
		h, err := vfiouser.NewHost(fd, testMemory)
		unix.Close(fd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		c.fn[i].Attach(h)
		d := &driver{TB: t, f: c.fn[i], next: 4096}
		d.ring = d.alloc(4096)
		d.startAdmin()
		both[i] = d
	}
	return c, both[0], both[1]
}

func (d *driver) alloc(n uint64) uint64 {
	d.Helper()
	at := d.next
	if d.next += (n + 4095) &^ 4095; d.next > testMemory {
		d.Fatal("the test's memory is used up")
	}
	return at
}

func (d *driver) mem(addr, n uint64) []byte {
	d.Helper()
	b := d.f.host.Bytes(addr, n)
	if b == nil {
		d.Fatalf("%d bytes at %#x are not there", n, addr)
	}
	return b
}

func (d *driver) register(off uint64) uint32 {
	var b [4]byte
	d.f.Read(barRegisters, off, b[:])
	return be.Uint32(b[:])
}

func (d *driver) setRegister(off uint64, v uint32) {
	d.f.Write(barRegisters, off, be.AppendUint32(nil, v))
}

// startAdmin is gve_adminq_alloc.
func (d *driver) startAdmin() {
	d.cmds = 0
	d.f.Write(barRegisters, regAdminLength, be.AppendUint16(nil, 4096))
	d.setRegister(regAdminHigh, 0)
	d.setRegister(regAdminLow, uint32(d.ring))
	d.setRegister(regDriverStatus, driverRun)
}

// put writes a command without ringing.
func (d *driver) put(opcode uint32, payload []byte) {
	d.Helper()
	c := d.mem(d.ring+uint64(d.cmds%64*commandBytes), commandBytes)
	clear(c)
	be.PutUint32(c, opcode)
	copy(c[8:], payload)
	d.cmds++
}

// do makes the device do what was put, and returns how the last one went.
func (d *driver) do() uint32 {
	d.Helper()
	d.setRegister(regAdminBell, d.cmds)
	if got := d.register(regAdminCount); got != d.cmds {
		d.Fatalf("%d commands are done, not %d", got, d.cmds)
	}
	return be.Uint32(d.mem(d.ring+uint64((d.cmds-1)%64*commandBytes)+4, 4))
}

func (d *driver) command(opcode uint32, payload []byte) uint32 {
	d.Helper()
	d.put(opcode, payload)
	return d.do()
}

func (d *driver) must(opcode uint32, payload []byte) {
	d.Helper()
	if s := d.command(opcode, payload); s != passed {
		d.Fatalf("command %#x: status %#x", opcode, s)
	}
}

// fields builds a command's payload of numbers of 16, 32 and 64 bits.
func fields(all ...any) (b []byte) {
	for _, v := range all {
		switch v := v.(type) {
		case uint8:
			b = append(b, v)
		case uint16:
			b = be.AppendUint16(b, v)
		case uint32:
			b = be.AppendUint32(b, v)
		case uint64:
			b = be.AppendUint64(b, v)
		}
	}
	return b
}

// configure is gve_adminq_configure_device_resources; it returns the blocks' doorbells.
func (d *driver) configure() []uint32 {
	d.Helper()
	at, stride := d.alloc(4096), uint32(64)
	d.must(opConfigure, fields(d.alloc(4096), at, uint32(counters), uint32(blocks), stride, uint32(0), uint8(3)))
	var bells []uint32
	for i := range uint64(blocks) {
		bells = append(bells, be.Uint32(d.mem(at+i*uint64(stride), 4)))
	}
	return bells
}

func (d *driver) bell(bell, v uint32) {
	d.f.Write(barDoorbells, uint64(4*bell), le.AppendUint32(nil, v))
}

// createTX makes a transmit queue.
func (d *driver) createTX(id uint32) {
	d.Helper()
	q := &txRing{size: 256, descs: d.alloc(256 * txDescBytes), compl: d.alloc(256 * txDoneBytes)}
	res := d.alloc(64)
	d.must(opCreateTX, fields(id, uint32(0), res, q.descs, uint32(rawAddresses), id, q.compl, uint16(256), uint16(256)))
	q.bell = be.Uint32(d.mem(res, 4))
	d.tx[id] = q
}

// putRX puts the command that makes a receive queue, and returns where the device is to tell its
// doorbell.
func (d *driver) putRX(id uint32, buffer, header int, gro bool) (resources uint64) {
	d.Helper()
	const n = 512
	q := &rxRing{size: n, bufs: d.alloc(n * rxBufBytes), compl: d.alloc(n * rxDoneBytes), buffer: buffer,
		header: header}
	res, rsc := d.alloc(64), uint8(0)
	if gro {
		rsc = 1
	}
	d.put(opCreateRX, fields(id, id, uint32(0), maxQueues+id, res, q.compl, q.bufs, uint32(rawAddresses), uint16(n),
		uint16(buffer), uint16(n), rsc, uint8(0), uint16(header)))
	d.rx[id] = q
	return res
}

// createRX makes a receive queue, on its own.
func (d *driver) createRX(id uint32, buffer, header int, gro bool) {
	d.Helper()
	res := d.putRX(id, buffer, header, gro)
	if s := d.do(); s != passed {
		d.Fatalf("create rx %d: %#x", id, s)
	}
	d.rx[id].bell = be.Uint32(d.mem(res, 4))
}

// createAllRX makes queues by one doorbell.
func (d *driver) createAllRX(n uint32, header int, gro bool) {
	d.Helper()
	var res []uint64
	for id := range n {
		res = append(res, d.putRX(id, bufferBytes, header, gro))
	}
	if s := d.do(); s != passed {
		d.Fatalf("create rx: %#x", s)
	}
	for id, at := range res {
		d.rx[id].bell = be.Uint32(d.mem(at, 4))
	}
}

// post gives a queue n buffers.
func (d *driver) post(id uint32, n int) {
	d.Helper()
	q := d.rx[id]
	for range n {
		no := len(q.buffers)
		q.buffers = append(q.buffers, d.alloc(uint64(q.buffer)))
		q.headerBuffers = append(q.headerBuffers, d.alloc(headerBytes))
		b := d.mem(q.bufs+uint64(q.posted%q.size)*rxBufBytes, rxBufBytes)
		le.PutUint16(b, uint16(no))
		le.PutUint64(b[8:], q.buffers[no])
		le.PutUint64(b[16:], q.headerBuffers[no])
		q.posted++
	}
	d.bell(q.bell, q.posted%q.size)
}

// got is one packet as the driver makes it out of completions.
type got struct {
	header, data []byte
	kind         packetKind
	split, rsc   bool
	mss          int
	buffers      int
	bad          bool
	hash         uint32
}

// receive takes the packets that are complete.
func (d *driver) receive(id uint32) (all []got) {
	d.Helper()
	q := d.rx[id]
	var g got
	for {
		c := d.mem(q.compl+uint64(q.seen%q.size)*rxDoneBytes, rxDoneBytes)
		if c[5]>>6&1 == q.gen {
			if g.buffers > 0 {
				d.Errorf("a packet without an end: %+v", g)
			}
			return all
		}
		if q.seen++; q.seen%q.size == 0 {
			q.gen ^= 1
		}
		no, n := le.Uint16(c[12:]), uint64(le.Uint16(c[4:])&0x3fff)
		flags := le.Uint16(c[6:])
		if flags&(1<<11) != 0 {
			g.split, g.header = true, slices.Clone(d.mem(q.headerBuffers[no], uint64(flags&0x3ff)))
		}
		g.data = append(g.data, d.mem(q.buffers[no], n)...)
		g.bad = g.bad || c[1]&(1<<2) != 0
		if g.buffers++; c[8]&2 == 0 {
			continue
		}
		g.kind, g.rsc, g.mss = packetKind(le.Uint16(c[2:])&0x3ff), flags&(1<<10) != 0, int(le.Uint16(c[14:]))
		g.hash = le.Uint32(c[16:])
		all, g = append(all, g), got{}
	}
}

// sending is a packet to be sent, from as many buffers as there are parts.
type sending struct {
	parts [][]byte
	mss   int
	hdr   int
	sums  bool
	tag   uint16
	event bool
}

// send puts a packet's descriptors, as gve_tx_add_skb_dqo does, and rings.
func (d *driver) send(id uint32, s sending) {
	d.Helper()
	q := d.tx[id]
	put := func(b [txDescBytes]byte) {
		copy(d.mem(q.descs+uint64(q.tail)*txDescBytes, txDescBytes), b[:])
		q.tail = (q.tail + 1) % q.size
	}
	if s.mss > 0 {
		total := 0
		for _, p := range s.parts {
			total += len(p)
		}
		var b [txDescBytes]byte
		le.PutUint32(b[:], uint32(total-s.hdr))
		le.PutUint16(b[4:], uint16(s.mss))
		b[6], b[8] = byte(s.hdr), descTSO|1<<5
		put(b)
	}
	put([txDescBytes]byte{8: descGeneral})
	for i, p := range s.parts {
		at := d.alloc(uint64(len(p)))
		copy(d.mem(at, uint64(len(p))), p)
		var b [txDescBytes]byte
		le.PutUint64(b[:], at)
		b[8] = descPacket
		if i == len(s.parts)-1 {
			b[8] |= 1 << 5
			if s.event {
				b[8] |= 1 << 7
			}
		}
		if s.sums {
			b[8] |= 1 << 6
		}
		le.PutUint16(b[12:], s.tag)
		le.PutUint16(b[14:], uint16(len(p)))
		put(b)
	}
	d.bell(q.bell, q.tail)
}

// done takes what is sent.
func (d *driver) done(id uint32) {
	d.Helper()
	q := d.tx[id]
	for {
		c := d.mem(q.compl+uint64(q.seen%q.size)*txDoneBytes, txDoneBytes)
		if c[1]>>7 == q.gen {
			return
		}
		if q.seen++; q.seen%q.size == 0 {
			q.gen ^= 1
		}
		if v := le.Uint16(c[2:]); c[1]>>3&7 == doneFetched {
			q.fetchedHeads = append(q.fetchedHeads, v)
		} else {
			q.tags = append(q.tags, v)
		}
	}
}

// run sends all that there is.
func run(c *Card) {
	for c.round() {
	}
}
