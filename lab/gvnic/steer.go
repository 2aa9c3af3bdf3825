// SPDX-License-Identifier: MIT

package gvnic

import (
	"cmp"
	"slices"
)

// flowKey is what of a packet rules and RSS look at, as rules have it (struct gve_flow_spec): two
// addresses of 16 bytes, of which IPv4 uses 4, two ports, a type of service.
type flowKey struct {
	kind packetKind
	b    [specBytes]byte
}

const (
	specBytes        = 37 // and three of padding
	specStride       = 40
	ruleBytes        = 4 + 2*specStride
	flowCommandBytes = 4 + ruleBytes + 4
)

func newFlowKey(p *packet) (k flowKey) {
	k.kind = p.kind
	if k.kind == kindOther {
		return k
	}
	ip := p.data[etherBytes:p.l4]
	if k.kind.v4() {
		copy(k.b[:4], ip[12:])
		copy(k.b[16:20], ip[16:])
		k.b[36] = ip[1]
	} else {
		copy(k.b[:16], ip[8:])
		copy(k.b[16:32], ip[24:])
		k.b[36] = ip[0]<<4 | ip[1]>>4
	}
	copy(k.b[32:36], p.data[p.l4:])
	return k
}

// rule sends a flow to a queue.
type rule struct {
	location uint32
	kind     packetKind
	queue    uint32
	raw      [ruleBytes]byte // as the driver gave it
}

// matches reports whether a packet is one of the rule's.
func (r *rule) matches(k *flowKey) bool {
	if r.kind != k.kind {
		return false
	}
	want, mask := r.raw[4:], r.raw[4+specStride:]
	for i, b := range k.b {
		if (b^want[i])&mask[i] != 0 {
			return false
		}
	}
	return true
}

// route chooses a packet's queue: the first rule that it matches, else by its hash; what has none
// goes to queue 0.
func (f *Function) route(k *flowKey) (hash, queue uint32) {
	if k.kind == kindOther {
		return 0, 0
	}
	hash = f.rss.hash(k)
	for i := range f.rules {
		if r := &f.rules[i]; r.matches(k) {
			return hash, r.queue
		}
	}
	if f.rss.isSet {
		return hash, f.rss.lut[hash%lutEntries]
	}
	return hash, f.defaultLUT(hash % lutEntries)
}

// defaultLUT spreads over the queues that the driver has opened, until it sets a table.
func (f *Function) defaultLUT(i uint32) uint32 {
	n := uint32(1)
	for id, q := range f.rx {
		if q != nil {
			n = uint32(id) + 1
		}
	}
	return i % n
}

// configureRule adds or removes rules (struct gve_adminq_configure_flow_rule).
func (f *Function) configureRule(b [flowCommandBytes]byte) uint32 {
	const add, remove, reset = 0, 1, 2
	location := be.Uint32(b[flowCommandBytes-4:])
	at, found := slices.BinarySearchFunc(f.rules, location, func(r rule, l uint32) int {
		return cmp.Compare(r.location, l)
	})
	switch be.Uint16(b[:]) {
	case reset:
		f.rules = nil
		return passed
	case remove:
		if !found {
			return notFound
		}
		f.rules = slices.Delete(f.rules, at, at+1)
		return passed
	case add:
		if found {
			return exists
		}
	default:
		return invalid
	}
	r := rule{location: location, queue: uint32(be.Uint16(b[6:])), raw: [ruleBytes]byte(b[4:])}
	// GVE_FLOW_TYPE_*; others are kept, and match nothing that we tell apart.
	switch kind := be.Uint16(b[4:]); kind {
	case 0:
		r.kind = kindTCP4
	case 1:
		r.kind = kindUDP4
	case 5:
		r.kind = kindTCP6
	case 6:
		r.kind = kindUDP6
	default:
		return unimplemented
	}
	if location >= maxRules || r.queue >= maxQueues {
		return invalid
	}
	f.rules = slices.Insert(f.rules, at, r)
	return passed
}

// queryRules tells the rules from a location on, their locations, or how many there are.
func (f *Function) queryRules(c *command) uint32 {
	const rules, ids, stats = 0, 1, 2
	opcode, from, room, addr := c.u16(8), c.u32(12), c.u64(16), c.u64(24)
	const head = 16
	if room < head || opcode > stats {
		return invalid
	}
	each := map[uint16]uint64{rules: 4 + ruleBytes, ids: 4, stats: 1 << 30}[opcode]
	body, n := []byte(nil), uint32(0)
	for _, r := range f.rules {
		if r.location < from || head+uint64(len(body))+each > room || opcode == stats {
			continue
		}
		body = be.AppendUint32(body, r.location)
		if opcode == rules {
			body = append(body, r.raw[:]...)
		}
		n++
	}
	var b []byte
	for _, v := range []uint32{uint32(len(f.rules)), maxRules, n, uint32(head + len(body))} {
		b = be.AppendUint32(b, v)
	}
	return f.write(addr, append(b, body...))
}

// rss spreads flows over queues by Toeplitz's hash.
type rss struct {
	key   [keyBytes]byte
	lut   [lutEntries]uint32
	isSet bool // the table is the driver's
}

// newRSS has a key that a device may have at first: any one without a period.
func newRSS() (r rss) {
	x := uint32(0x6d5a56da)
	for i := range r.key {
		r.key[i] = byte(x >> 24)
		x = x*1664525 + 1013904223
	}
	return r
}

// hash is Toeplitz's of addresses and ports.
func (r *rss) hash(k *flowKey) (h uint32) {
	in := make([]byte, 0, 36)
	if k.kind.v4() {
		in = append(append(append(in, k.b[:4]...), k.b[16:20]...), k.b[32:36]...)
	} else {
		in = append(in, k.b[:36]...)
	}
	window := be.Uint32(r.key[:])
	for i, b := range in {
		next := r.key[i+4]
		for range 8 {
			if b&0x80 != 0 {
				h ^= window
			}
			window = window<<1 | uint32(next>>7)
			b, next = b<<1, next<<1
		}
	}
	return h
}

// configureRSS takes a key, a table, or both.
func (f *Function) configureRSS(c *command) uint32 {
	n, entries, key, lut := c.u16(12), c.u16(14), c.u64(16), c.u64(24)
	next := f.rss
	if n != 0 {
		b := f.host.Bytes(key, keyBytes)
		if n != keyBytes || b == nil {
			return invalid
		}
		copy(next.key[:], b)
	}
	if entries != 0 {
		b := f.host.Bytes(lut, 4*lutEntries)
		if entries != lutEntries || b == nil {
			return invalid
		}
		for i := range next.lut {
			if next.lut[i] = be.Uint32(b[4*i:]); next.lut[i] >= maxQueues {
				return invalid
			}
		}
		next.isSet = true
	}
	f.rss = next
	return passed
}

// queryRSS tells key and table (struct gve_query_rss_descriptor).
func (f *Function) queryRSS(c *command) uint32 {
	const head, tcp4, tcp6, udp4, udp6, toeplitz = 8, 1 << 1, 1 << 4, 1 << 6, 1 << 7, 1
	const total = head + keyBytes + 4*lutEntries
	if c.u64(8) < total {
		return invalid
	}
	b := be.AppendUint32(nil, total)
	b = append(be.AppendUint16(b, tcp4|tcp6|udp4|udp6), toeplitz, 0)
	b = append(b, f.rss.key[:]...)
	for i := range uint32(lutEntries) {
		q := f.rss.lut[i]
		if !f.rss.isSet {
			q = f.defaultLUT(i)
		}
		b = be.AppendUint32(b, q)
	}
	return f.write(c.u64(16), b)
}
