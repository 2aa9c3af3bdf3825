// SPDX-License-Identifier: MIT

package gvnic

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/cardcounts"
	"github.com/zcbench/zcbench/lab/vfiouser"
)

// tcp builds a packet of TCP with n bytes of payload from 10.0.0.2 or fd00::2, its checksum as the
// driver leaves it to the device. port is the receiver's.
func tcp(v6 bool, port uint16, seq uint32, n int, flags byte) []byte {
	b := make([]byte, 12, 128+n)
	if v6 {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0)
		b = be.AppendUint16(b, uint16(32+n))
		b = append(b, protoTCP, 64)
		b = append(b, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
		b = append(b, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
	} else {
		b = append(b, 8, 0, 0x45, 0)
		b = be.AppendUint16(b, uint16(52+n))
		b = append(b, 0x12, 0x34, 0x40, 0, 64, protoTCP, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1)
	}
	b = be.AppendUint16(b, 40000)
	b = be.AppendUint16(b, port)
	b = be.AppendUint32(b, seq)
	b = append(b, 0, 0, 0, 1, 0x80, flags, 1, 0, 0xff, 0xff, 0, 0) // 12 bytes of options
	b = append(b, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2)
	for i := range n {
		b = append(b, byte(i)^byte(i>>8)^byte(i>>16))
	}
	return b
}

const tcp4Headers = 66 // of such a packet

// right reports whether a packet's checksums are, by RFC 1071 and no code of the device's.
func right(b []byte) error {
	total := func(p []byte) (s uint32) {
		for i, v := range p {
			s += uint32(v) << (8 * (1 - i&1))
		}
		for s>>16 != 0 {
			s = s&0xffff + s>>16
		}
		return s
	}
	l4, pseudo := 34, []byte(nil)
	if b[12] == 8 {
		if s := total(b[14:34]); s != 0xffff {
			return fmt.Errorf("IPv4's sum is %#x", s)
		}
		pseudo = b[26:34]
	} else {
		l4, pseudo = 54, b[22:54]
	}
	pseudo = append(slices.Clone(pseudo), 0, protoTCP, byte((len(b)-l4)>>8), byte(len(b)-l4))
	if s := total(append(pseudo, b[l4:]...)); s != 0xffff {
		return fmt.Errorf("TCP's sum is %#x", s)
	}
	return nil
}

// ready sets a receiver with n queues and a sender up.
func ready(t testing.TB, n uint32, header int, gro bool) (c *Card, rx, tx *driver) {
	t.Helper()
	c, rx, tx = newDrivers(t)
	rx.configure()
	tx.configure()
	rx.createAllRX(n, header, gro)
	tx.createTX(0)
	return c, rx, tx
}

// A packet of 64 KiB is cut into segments, each with its own headers and checksums; their payload
// is in the buffers, and of split ones nothing else is.
func TestCutsAndSplits(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		for _, header := range []int{0, headerBytes} {
			t.Run(fmt.Sprint("v6 ", v6, ", header ", header), func(t *testing.T) {
				c, rx, tx := ready(t, 1, header, false)
				rx.post(0, 40)
				const fin, push, mss, n = 1, 8, 4096, 5*4096 + 100
				p := tcp(v6, 5000, 1000, n, fin|push|0x10)
				hdr := len(p) - n
				tx.send(0, sending{parts: [][]byte{p[:hdr+10], p[hdr+10 : 9000], p[9000:]}, mss: mss, hdr: hdr,
					sums: true,
					tag:  7, event: true})
				run(c)
				all := rx.receive(0)
				if len(all) != 6 {
					t.Fatalf("%d packets", len(all))
				}
				var payload []byte
				for i, g := range all {
					whole := append(slices.Clone(g.header), g.data...)
					l4 := hdr - 32
					if err := right(whole); err != nil || g.split != (header > 0) || g.rsc || !g.kind.tcp() ||
						g.kind.v4() == v6 {
						t.Errorf("packet %d: %v, %+v", i, err, g)
					}
					if g.split && (len(g.header) != hdr || g.buffers != 1) {
						t.Errorf("packet %d: %d bytes of headers, %d buffers", i, len(g.header), g.buffers)
					}
					last := i == len(all)-1
					if seq, f := be.Uint32(whole[l4+4:]), whole[l4+13]; seq != uint32(1000+mss*i) ||
						(f&(fin|push) != 0) != last {
						t.Errorf("packet %d: sequence %d, flags %#x", i, seq, f)
					}
					payload = append(payload, whole[hdr:]...)
				}
				if !bytes.Equal(payload, p[hdr:]) {
					t.Error("the payload is another")
				}
				tx.done(0)
				if q := tx.tx[0]; !slices.Equal(q.tags, []uint16{7}) || !slices.Equal(q.fetchedHeads, []uint16{5}) {
					t.Errorf("done: %d, fetched %d", q.tags, q.fetchedHeads)
				}
				want := cardcounts.RX{Packets: 6, Kernel: n, Unsplit: 6}
				if header > 0 {
					want.Header, want.Unsplit = uint64(6*hdr), 0
				}
				if got := rx.f.Counts().RX[0]; got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
				if got := tx.f.Counts().TX[0]; got != (cardcounts.TX{Packets: 1, Bytes: uint64(len(p))}) {
					t.Errorf("counted %+v", got)
				}
			})
		}
	}
}

// A queue with hardware GRO gets it whole, with the size of its segments.
func TestAggregates(t *testing.T) {
	c, rx, tx := ready(t, 1, headerBytes, true)
	rx.post(0, 40)
	const n = 15*4096 + 1
	p := tcp(false, 5000, 1, n, 0x10)
	tx.send(0, sending{parts: [][]byte{p[:16000], p[16000:32000], p[32000:48000], p[48000:]}, mss: 4096,
		hdr: tcp4Headers, sums: true})
	run(c)
	all := rx.receive(0)
	if len(all) != 2 || !all[0].rsc || all[0].mss != 4096 || all[0].buffers != 15 || all[1].rsc ||
		!bytes.Equal(slices.Concat(all[0].data, all[1].data), p[tcp4Headers:]) {
		t.Fatalf("%d packets", len(all))
	}
	for i, g := range all {
		if err := right(append(slices.Clone(g.header), g.data...)); err != nil {
			t.Errorf("packet %d: %v", i, err)
		}
	}
}

// What comes before buffers do waits for them, in order, up to a limit; buffers are told by number
// and used again and again, past the end of the ring.
func TestWaitsForBuffers(t *testing.T) {
	c, rx, tx := ready(t, 1, headerBytes, false)
	send := func(seq uint32) {
		p := tcp(false, 5000, seq, 100, 0x10)
		tx.send(0, sending{parts: [][]byte{p}, sums: true})
		run(c)
	}
	seqs := func() (got []uint32) {
		for _, g := range rx.receive(0) {
			got = append(got, be.Uint32(g.header[38:]))
		}
		return got
	}
	var sent, got []uint32
	for i := range uint32(700) { // more than the ring has
		send(i)
		if sent = append(sent, i); i%3 == 2 {
			rx.post(0, 3)
			got = append(got, seqs()...)
		}
	}
	rx.post(0, 2)
	if got = append(got, seqs()...); !slices.Equal(got, sent[:len(got)]) || len(got) < 699 {
		t.Errorf("%d packets, or in another order", len(got))
	}
	q := rx.f.rx[0]
	big := segment{kind: kindTCP4, header: make([]byte, 66), payload: make([]byte, 60000)}
	for range 2 * maxBacklog / 60000 {
		rx.f.arrive(q, &big)
	}
	if n := rx.f.Counts().RX[0].Dropped; n == 0 || q.backlogBytes > maxBacklog {
		t.Errorf("%d dropped, %d bytes wait", n, q.backlogBytes)
	}
}

// Rules go before hashes, in the order of their locations; other packets go to queue 0.
func TestSteers(t *testing.T) {
	c, rx, tx := ready(t, 4, headerBytes, false)
	for id := range uint32(4) {
		rx.post(id, 40)
	}
	at := rx.alloc(4096)
	rule := func(opcode uint16, location uint32, kind, queue, port uint16) uint32 {
		b := rx.mem(at, flowCommandBytes)
		clear(b)
		be.PutUint16(b, opcode)
		be.PutUint16(b[4:], kind)
		be.PutUint16(b[6:], queue)
		be.PutUint16(b[8+34:], port)
		be.PutUint16(b[8+specStride+34:], 0xffff)
		be.PutUint32(b[88:], location)
		return rx.command(opExtended, fields(uint32(opFlowRule), uint32(flowCommandBytes), at))
	}
	lands := func(p []byte) (at []uint32) {
		tx.send(0, sending{parts: [][]byte{p}})
		run(c)
		for id := range uint32(4) {
			if len(rx.receive(id)) > 0 {
				at = append(at, id)
			}
		}
		return at
	}
	for _, x := range []struct{ got, want uint32 }{
		{rule(0, 5, 0, 3, 5000), passed}, {rule(0, 5, 0, 2, 5000), exists}, {rule(0, 4, 0, 1, 5001), passed},
		{rule(0, maxRules, 0, 1, 5001), invalid}, {rule(0, 9, 0, maxQueues, 5001), invalid},
		{rule(0, 9, 2, 1, 5001), unimplemented}, {rule(1, 77, 0, 0, 0), notFound}, {rule(3, 1, 0, 0, 0), invalid},
	} {
		if x.got != x.want {
			t.Errorf("status %#x, want %#x", x.got, x.want)
		}
	}
	if got := lands(tcp(false, 5000, 1, 10, 0)); !slices.Equal(got, []uint32{3}) {
		t.Errorf("rule: queues %d", got)
	}
	if got := lands(make([]byte, 60)); !slices.Equal(got, []uint32{0}) {
		t.Errorf("no IP: queues %d", got)
	}
	seen := map[uint32]bool{}
	for port := range uint16(32) {
		p := tcp(true, 6000+port, 1, 10, 0) // the rules are for IPv4
		where := lands(p)
		if again := lands(p); len(where) != 1 || !slices.Equal(where, again) {
			t.Fatalf("queues %d, then %d", where, again)
		}
		seen[where[0]] = true
	}
	if len(seen) != 4 {
		t.Errorf("32 flows go to %d queues", len(seen))
	}
	// What the driver asks (gve_get_flow_rule_ids).
	out := rx.alloc(4096)
	rx.must(opQueryRules, fields(uint16(1), uint16(0), uint32(0), uint64(4096), out))
	if b := rx.mem(out, 24); !bytes.Equal(b, fields(uint32(2), uint32(maxRules), uint32(2), uint32(24), uint32(4),
		uint32(5))) {
		t.Errorf("rules: %x", b)
	}
	rx.must(opQueryRules, fields(uint16(0), uint16(0), uint32(5), uint64(4096), out))
	if b := rx.mem(out, 24); be.Uint32(b[8:]) != 1 || be.Uint32(b[16:]) != 5 || be.Uint16(b[22:]) != 3 {
		t.Errorf("rule 5: %x", b)
	}
	// A table that has queue 2 alone.
	lut := rx.alloc(4096)
	for i := range uint64(lutEntries) {
		be.PutUint32(rx.mem(lut+4*i, 4), 2)
	}
	rx.must(opConfigureRSS, fields(uint16(2), uint8(1), uint8(0), uint16(0), uint16(lutEntries), uint64(0), lut))
	if got := lands(tcp(true, 6001, 1, 10, 0)); !slices.Equal(got, []uint32{2}) {
		t.Errorf("table: queues %d", got)
	}
	if s := rule(2, 0, 0, 0, 0); s != passed || len(rx.f.rules) != 0 {
		t.Errorf("status %#x, %d rules are left", s, len(rx.f.rules))
	}
}

// Toeplitz's hash, by the examples of Microsoft's specification of RSS.
func TestHash(t *testing.T) {
	r := rss{key: [keyBytes]byte{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
		0x8f,
		0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a,
		0x42,
		0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa}}
	k := flowKey{kind: kindTCP4}
	copy(k.b[:], []byte{66, 9, 149, 187})
	copy(k.b[16:], []byte{161, 142, 100, 80})
	be.PutUint16(k.b[32:], 2794)
	be.PutUint16(k.b[34:], 1766)
	if got := r.hash(&k); got != 0x51ccc178 {
		t.Errorf("%#x", got)
	}
}

// The kernel gives a queue memory by making it anew alone, and takes it away so; the device counts
// what it writes accordingly. All queues at once keep what they have.
func TestProvider(t *testing.T) {
	c, rx, tx := ready(t, 2, headerBytes, false)
	lut := rx.alloc(4096)
	for i := range uint64(lutEntries) {
		be.PutUint32(rx.mem(lut+4*i, 4), 1)
	}
	rx.must(opConfigureRSS, fields(uint16(2), uint8(1), uint8(0), uint16(0), uint16(lutEntries), uint64(0), lut))
	var was cardcounts.RX
	flow := func(provider, kernel uint64) {
		t.Helper()
		rx.post(1, 1)
		tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0)}})
		run(c)
		now := rx.f.Counts().RX[1]
		if now.Provider-was.Provider != provider || now.Kernel-was.Kernel != kernel {
			t.Errorf("wrote %+v after %+v", now, was)
		}
		was = now
	}
	alone := func() { rx.must(opDestroyRX, fields(uint32(1))); rx.createRX(1, bufferBytes, headerBytes, false) }
	flow(0, 1000)
	alone()
	flow(1000, 0)
	rx.must(opDestroyRX, fields(uint32(0)))
	rx.must(opDestroyRX, fields(uint32(1)))
	rx.createAllRX(2, headerBytes, false)
	flow(1000, 0)
	alone()
	flow(0, 1000)
	alone()
	rx.f.card.Error = Command{Name: "create-rx"}
	rx.must(opDestroyRX, fields(uint32(1)))
	old := *rx.rx[1]
	rx.putRX(1, bufferBytes, headerBytes, false)
	if s := rx.do(); s != precondition {
		t.Errorf("status %#x", s)
	}
	rx.f.card.Error, *rx.rx[1] = Command{}, old
	rx.createRX(1, bufferBytes, headerBytes, false) // with the memory that was there before
	flow(1000, 0)
	begin := func() {
		rx.setRegister(regDriverStatus, driverReset)
		rx.startAdmin()
		rx.configure()
		rx.createAllRX(2, headerBytes, false)
		rx.must(opConfigureRSS, fields(uint16(2), uint8(1), uint8(0), uint16(0), uint16(lutEntries), uint64(0), lut))
	}
	begin() // a reset of the driver's, which keeps what its interface has (gve_reset)
	flow(1000, 0)
	rx.setRegister(regDriverStatus, driverReset)
	for _, b := range []byte("GVE-1.0.0\n") { // another driver's probe
		rx.f.Write(barRegisters, regVersion, []byte{b})
	}
	begin()
	flow(0, 1000)
}

// An interrupt goes off once for what came, and again only after its doorbell: at once where
// something has come meanwhile.
func TestInterruptsOnce(t *testing.T) {
	c, _ := NewCard(Options{})
	f := c.fn[0]
	f.host = &vfiouser.Host{}
	const block, enable, noUpdate = 3, 1, 3 << 3
	ring := func(v uint32) { f.Write(barDoorbells, 4*(bellIRQ+block), le.AppendUint32(nil, v)) }
	for _, x := range []struct {
		what           string
		do             func()
		armed, pending bool
	}{
		{"before its doorbell", func() { f.event(block) }, false, true},
		{"armed", func() { ring(enable) }, false, false}, // it has gone off
		{"nothing new", func() { ring(enable | noUpdate) }, true, false},
		{"another", func() { f.event(block) }, false, false},
		{"not enabled", func() { ring(noUpdate) }, false, false},
		{"meanwhile", func() { f.event(block); f.event(block) }, false, true},
		{"armed again", func() { ring(enable) }, false, false},
	} {
		if x.do(); f.irqs[block] != (irq{x.armed, x.pending}) {
			t.Errorf("%s: %+v", x.what, f.irqs[block])
		}
	}
}

// The guest sees a count by its index.
func TestCounts(t *testing.T) {
	c, _ := NewCard(Options{})
	f := c.fn[0]
	f.counts.RX[3].Provider = 1 << 40
	names, _ := f.counts.All()
	config := f.Config()
	f.WriteConfig(config, cardcounts.Offset+4, le.AppendUint32(nil, uint32(slices.Index(names, "rx3_provider_bytes"))))
	if got := le.Uint64(config[cardcounts.Offset+8:]); got != 1<<40 {
		t.Errorf("%#x", got)
	}
	f.WriteConfig(config, cardcounts.Offset+4, le.AppendUint32(nil, uint32(len(names))))
	if got := le.Uint64(config[cardcounts.Offset+8:]); got != 0 {
		t.Errorf("a count that there is not: %d", got)
	}
}

// A driver that goes away takes its queues with it: nothing is read or written any more.
func TestResets(t *testing.T) {
	c, rx, tx := ready(t, 1, headerBytes, false)
	rx.post(0, 4)
	rx.setRegister(regDriverStatus, driverReset)
	if got := rx.register(regDeviceStatus); got&statusReset == 0 || rx.register(regAdminCount) != 0 {
		t.Errorf("status %#x", got)
	}
	tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0)}})
	run(c)
	if got := rx.receive(0); len(got) != 0 {
		t.Errorf("%d packets", len(got))
	}
	rx.startAdmin()
	if got := rx.register(regDeviceStatus); got&statusReset != 0 || got&statusLink == 0 {
		t.Errorf("status %#x", got)
	}
	rx.configure()
	rx.createAllRX(1, 0, false)
	rx.post(0, 1)
	tx.send(0, sending{parts: [][]byte{tcp(false, 5000, 1, 1000, 0)}})
	run(c)
	if got := rx.receive(0); len(got) != 1 || got[0].split {
		t.Errorf("%d packets", len(got))
	}
}
