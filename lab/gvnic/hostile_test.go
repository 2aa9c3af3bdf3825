// SPDX-License-Identifier: MIT

package gvnic

import (
	"testing"
)

// What is wrong in a command is refused, and leaves no queue.
func TestRefuses(t *testing.T) {
	_, d, _ := newDrivers(t)
	tx := func(id, block uint32, ring, compl uint64, n uint16) []byte {
		return fields(id, uint32(0), uint64(8192), ring, uint32(rawAddresses), block, compl, n, n)
	}
	rx := func(id uint32, compl, bufs uint64, n, buffer, header uint16) []byte {
		return fields(id, id, uint32(0), uint32(9), uint64(8192), compl, bufs, uint32(rawAddresses), n, buffer, n,
			uint8(0),
			uint8(0), header)
	}
	if s := d.command(opCreateTX, tx(0, 0, 65536, 131072, 256)); s != precondition {
		t.Errorf("before the resources: %#x", s)
	}
	d.configure()
	const far = 1 << 40
	for what, x := range map[string]struct {
		opcode  uint32
		payload []byte
		want    uint32
	}{
		"twice": {opConfigure, fields(uint64(0), uint64(0), uint32(0), uint32(1), uint32(64), uint32(0),
			uint8(3)), exists},
		"tx queue 8":         {opCreateTX, tx(maxQueues, 0, 65536, 131072, 256), invalid},
		"tx block 16":        {opCreateTX, tx(0, blocks, 65536, 131072, 256), invalid},
		"tx ring far off":    {opCreateTX, tx(0, 0, far, 131072, 256), invalid},
		"tx ring at the end": {opCreateTX, tx(0, 0, testMemory-64, 131072, 256), invalid},
		"tx ring crooked":    {opCreateTX, tx(0, 0, 65540, 131072, 256), invalid},
		"tx ring of 300":     {opCreateTX, tx(0, 0, 65536, 131072, 300), invalid},
		"tx ring of 0":       {opCreateTX, tx(0, 0, 65536, 131072, 0), invalid},
		"tx ring of 8192":    {opCreateTX, tx(0, 0, 65536, 131072, 8192), invalid},
		"tx done far off":    {opCreateTX, tx(0, 0, 65536, ^uint64(0)-63, 256), invalid},
		"rx queue 8":         {opCreateRX, rx(maxQueues, 65536, 131072, 512, 4096, 0), invalid},
		"rx buffers far off": {opCreateRX, rx(0, 65536, far, 512, 4096, 0), invalid},
		"rx buffers of 64":   {opCreateRX, rx(0, 65536, 131072, 512, 64, 0), invalid},
		"rx header of 4096":  {opCreateRX, rx(0, 65536, 131072, 512, 4096, 4096), invalid},
		"rx ring of 256":     {opCreateRX, rx(0, 65536, 131072, 256, 4096, 0), invalid},
		"no such tx queue":   {opDestroyTX, fields(uint32(1 << 31)), notFound},
		"no such rx queue":   {opDestroyRX, fields(uint32(0)), notFound},
		"describe far off":   {opDescribe, fields(uint64(far), uint32(1), uint32(4096)), invalid},
		"describe in 64":     {opDescribe, fields(uint64(8192), uint32(1), uint32(64)), invalid},
		"speed far off":      {opLinkSpeed, fields(^uint64(0)), invalid},
		"types in 100":       {opTypes, fields(uint64(100), uint64(8192)), invalid},
		"key far off": {opConfigureRSS, fields(uint16(0), uint16(0), uint16(keyBytes), uint16(0), uint64(far),
			uint64(0)), invalid},
		"key of 20": {opConfigureRSS, fields(uint16(0), uint16(0), uint16(20), uint16(0), uint64(8192),
			uint64(0)), invalid},
		"RSS in 100": {opQueryRSS, fields(uint64(100), uint64(8192)), invalid},
		"rules in 8": {opQueryRules, fields(uint16(0), uint16(0), uint32(0), uint64(8), uint64(8192)),
			invalid},
		"a long command's": {opExtended, fields(uint32(opFlowRule), uint32(91), uint64(8192)), invalid},
		"another long one": {opExtended, fields(uint32(0x102), uint32(92), uint64(8192)), unimplemented},
		"a page list":      {3, nil, unimplemented},
		"no command":       {0, nil, unimplemented},
		"a long one far off": {opExtended, fields(uint32(opFlowRule), uint32(flowCommandBytes), uint64(far)),
			invalid},
		"tx resources far": {opCreateTX, fields(uint32(0), uint32(0), uint64(far), uint64(65536),
			uint32(rawAddresses), uint32(0), uint64(131072), uint16(256), uint16(256)), invalid},
		"tx by lists of pages": {opCreateTX, fields(uint32(0), uint32(0), uint64(8192), uint64(65536), uint32(1),
			uint32(0), uint64(131072), uint16(256), uint16(256)), invalid},
	} {
		if s := d.command(x.opcode, x.payload); s != x.want {
			t.Errorf("%s: status %#x, want %#x", what, s, x.want)
		}
	}
	for i := range maxQueues {
		if d.f.tx[i] != nil || d.f.rx[i] != nil {
			t.Errorf("queue %d is there", i)
		}
	}
}

// A packet whose descriptors make no sense is not sent, but counted and done with; the next one is
// sent. A buffer that is not there costs its packet.
func TestSkipsBadPackets(t *testing.T) {
	c, rx, tx := ready(t, 1, headerBytes, false)
	rx.post(0, 40)
	p := tcp(false, 5000, 1, 9000, 0x10)
	bad := []sending{
		{parts: [][]byte{p}, mss: 10, hdr: tcp4Headers},        // less than the device takes
		{parts: [][]byte{p}, mss: 4096, hdr: 54},               // other headers than it has
		{parts: [][]byte{p, p}},                                // longer than the wire takes
		{parts: [][]byte{p[:10]}},                              // less than a header
		{parts: [][]byte{make([]byte, 200)}, mss: 88, hdr: 54}, // nothing that can be cut
	}
	for i, s := range bad {
		s.tag = uint16(i)
		tx.send(0, s)
	}
	q := tx.tx[0]
	for _, d := range [][txDescBytes]byte{{7: 0xff, 8: descPacket | 1<<5, 14: 100}, {8: 0x1f}} { // far off, of no kind
		copy(tx.mem(q.descs+uint64(q.tail)*txDescBytes, txDescBytes), d[:])
		q.tail++
	}
	tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0x10)}}) // ends the last one
	tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0x10)}, tag: 99})
	run(c)
	tx.done(0)
	if n := tx.f.Counts().TX[0]; n.Refused != uint64(len(bad)+2) || n.Packets != 1 || len(q.tags) != len(bad)+3 ||
		q.tags[len(bad)+2] != 99 {
		t.Errorf("%+v, done: %d", n, q.tags)
	}
	if got := rx.receive(0); len(got) != 1 {
		t.Errorf("%d packets", len(got))
	}
	r := rx.rx[0]
	le.PutUint64(rx.mem(r.bufs+uint64(rx.f.rx[0].head)*rxBufBytes+8, 8), 1<<50)
	tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0x10)}})
	run(c)
	if got := rx.receive(0); len(got) != 1 || !got[0].bad {
		t.Errorf("%+v", got)
	}
}

// No command makes the device reach beyond the guest's memory, or stop: it answers each.
func FuzzCommands(f *testing.F) {
	f.Add(uint32(opConfigure), fields(uint64(0), uint64(8192), uint32(1), uint32(blocks), uint32(64), uint32(0),
		uint8(3)))
	f.Add(uint32(opCreateTX), fields(uint32(0), uint32(0), uint64(8192), uint64(65536), uint32(rawAddresses), uint32(0),
		uint64(131072), uint16(256), uint16(256)))
	f.Add(uint32(opCreateRX), fields(uint32(1), uint32(1), uint32(0), uint32(9), uint64(8192), uint64(65536),
		uint64(131072),
		uint32(rawAddresses), uint16(512), uint16(4096), uint16(512), uint8(1), uint8(0), uint16(128)))
	f.Add(uint32(opExtended), fields(uint32(opFlowRule), uint32(92), uint64(8192)))
	f.Add(uint32(opQueryRules), fields(uint16(0), uint16(0), uint32(0), uint64(4096), uint64(8192)))
	c, d, _ := newDrivers(f)
	f.Fuzz(func(t *testing.T, opcode uint32, payload []byte) {
		d.TB = t
		d.startAdmin()
		d.setRegister(regDriverStatus, driverReset|driverRun)
		d.startAdmin()
		d.command(opConfigure, fields(uint64(0), uint64(8192), uint32(1), uint32(blocks), uint32(64), uint32(0),
			uint8(3)))
		if len(payload) > commandBytes-8 {
			payload = payload[:commandBytes-8]
		}
		if s := d.command(opcode, payload); s == 0 {
			t.Error("no status")
		}
		if len(d.f.issued) > opExtended+1 {
			t.Errorf("%d kinds of commands are kept", len(d.f.issued))
		}
		for bell := range uint32(bellEnd + 2) {
			d.bell(bell, 1)
		}
		for range 8 {
			c.round()
		}
	})
}

// No descriptors make the device reach beyond the guest's memory; it is done with all of them.
func FuzzDescriptors(f *testing.F) {
	f.Add([]byte{8: descGeneral, 31: 0}, []byte{0, 0, 0, 1, 8: descPacket | 1<<5, 14: 60})
	f.Add([]byte{0: 0xff, 4: 100, 6: 54, 8: descTSO | 1<<5, 15: 0}, tcp(false, 1, 2, 20, 3))
	f.Fuzz(func(t *testing.T, descs, packet []byte) {
		c, rx, tx := ready(t, 2, headerBytes, true)
		rx.post(0, 4)
		rx.post(1, 4)
		copy(tx.mem(1<<24-65536, 65536), packet)
		q := tx.tx[0]
		n := min(len(descs)/txDescBytes, int(q.size)-1)
		copy(tx.mem(q.descs, uint64(n)*txDescBytes), descs[:n*txDescBytes])
		tx.bell(q.bell, uint32(n))
		for range 2 * n {
			c.round()
		}
		tx.send(0, sending{parts: [][]byte{packet}, mss: 100, hdr: tcp4Headers, sums: true})
		run(c)
		rx.receive(0)
		rx.receive(1)
		tx.done(0)
	})
}
