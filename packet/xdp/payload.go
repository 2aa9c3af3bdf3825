// SPDX-License-Identifier: MIT

package xdp

// payloadOf returns how to recognise the payload of a flow, by its sender's mode and its tag.
func payloadOf(mode string, tag uint32) Payload {
	if mode == kernelPktgen {
		return Payload{At: 0, Mark: pktgenMagic}
	}
	return Tagged(tag)
}

// kernelPktgen is the mode of the kernel's own generator, and pktgenMagic what its packets begin
// with (PKTGEN_MAGIC of net/core/pktgen.c).
const (
	kernelPktgen = "pktgen"
	pktgenMagic  = 0xbe9be955
)
