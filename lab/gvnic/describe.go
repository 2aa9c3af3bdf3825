// SPDX-License-Identifier: MIT

package gvnic

// The options of the device (enum gve_dev_opt_id), and the bits of their features.
const (
	optionDQO        = 0x4
	optionRings      = 0x6
	optionJumbo      = 0x8
	optionBuffers    = 0xa
	optionRules      = 0xb
	optionRSS        = 0xe
	featureRings     = 1 << 0
	featureJumbo     = 1 << 2
	featureBuffers   = 1 << 4
	featureRules     = 1 << 5
	featureRSS       = 1 << 7
	descriptorLength = 40
)

// describe tells the driver what the device is and can (struct gve_device_descriptor and the
// options behind it, gve_adminq_describe_device).
func (f *Function) describe(c *command) uint32 {
	const version = 1
	b := f.descriptor()
	if c.u32(16) != version || int64(c.u32(20)) < int64(len(b)) {
		return invalid
	}
	return f.write(c.u64(8), b)
}

func (f *Function) descriptor() []byte {
	b := make([]byte, descriptorLength)
	be.PutUint16(b[10:], ringDefault) // of a transmit queue
	be.PutUint16(b[12:], ringDefault)
	be.PutUint16(b[14:], defaultQueues)
	be.PutUint16(b[16:], defaultMTU)
	be.PutUint16(b[18:], counters)
	copy(b[24:], f.mac[:])
	n := uint16(0)
	option := func(id uint16, payload []byte) {
		b = be.AppendUint16(b, id)
		b = be.AppendUint16(b, uint16(len(payload)))
		b = append(append(b, 0, 0, 0, 0), payload...) // no feature is required
		n++
	}
	option(optionDQO, join(featureRings|featureJumbo|featureBuffers|featureRules|featureRSS, 0, 0))
	option(optionRings, join(featureRings, ringMost, ringMost, ringLeastRX, ringLeastTX))
	option(optionJumbo, join(featureJumbo, maxMTU, 0))
	option(optionBuffers, join(featureBuffers, bufferBytes, headerBytes))
	option(optionRules, join(featureRules, 0, 0, 0, maxRules))
	option(optionRSS, join(featureRSS, keyBytes, lutEntries))
	be.PutUint16(b[30:], n)
	be.PutUint16(b[32:], uint16(len(b)))
	return b
}

// join builds an option's payload: its features, and numbers of 16 bits.
func join(features uint32, all ...uint16) []byte {
	b := be.AppendUint32(nil, features)
	for _, v := range all {
		b = be.AppendUint16(b, v)
	}
	return b
}

// types tells what the kinds of packets in completions mean (gve_adminq_get_ptype_map_dqo).
func (f *Function) types(c *command) uint32 {
	const entries = 1024
	if c.u64(8) < 2*entries {
		return invalid
	}
	b := make([]byte, 2*entries)
	const l3v4, l3v6, l4tcp, l4udp = 2, 3, 2, 3
	for kind, t := range map[packetKind][2]byte{
		kindTCP4: {l3v4, l4tcp}, kindUDP4: {l3v4, l4udp}, kindTCP6: {l3v6, l4tcp}, kindUDP6: {l3v6, l4udp},
	} {
		copy(b[2*kind:], t[:])
	}
	return f.write(c.u64(16), b)
}
