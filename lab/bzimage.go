// SPDX-License-Identifier: MIT

package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The boot protocol's header (Documentation/arch/x86/boot.rst): where its fields are in
// a bzImage.
const (
	bootSetupSects    = 0x1f1
	bootFlag          = 0x1fe
	bootMagic         = 0x202
	bootVersion       = 0x206
	bootPayloadOffset = 0x248
	bootPayloadLength = 0x24c
	bootHeaderEnd     = 0x250
)

// payload is where a bzImage holds the compressed kernel.
type payload struct {
	off, len int64 // of the compressed bytes
	size     int64 // what they unpack to
}

// findPayload reads the header of a bzImage of so many bytes. The last four bytes of
// the payload are its unpacked size.
func findPayload(r io.ReaderAt, total int64) (payload, error) {
	var h [bootHeaderEnd]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return payload{}, fmt.Errorf("read the boot header: %w", err)
	}
	le := binary.LittleEndian
	if le.Uint16(h[bootFlag:]) != 0xaa55 || string(h[bootMagic:bootMagic+4]) != "HdrS" {
		return payload{}, errors.New("no bzImage")
	}
	if v := le.Uint16(h[bootVersion:]); v < 0x208 {
		return payload{}, fmt.Errorf("boot protocol %d.%02d does not give the payload's position", v>>8, v&0xff)
	}
	setup := int64(h[bootSetupSects])
	if setup == 0 {
		setup = 4
	}
	p := payload{
		off: (setup+1)*512 + int64(le.Uint32(h[bootPayloadOffset:])),
		len: int64(le.Uint32(h[bootPayloadLength:])) - 4,
	}
	if p.len < 4 || p.off+p.len+4 > total {
		return payload{}, fmt.Errorf("the payload, %d bytes at %d, does not fit an image of %d", p.len+4, p.off, total)
	}
	var size [4]byte
	if _, err := r.ReadAt(size[:], p.off+p.len); err != nil {
		return payload{}, fmt.Errorf("read the payload's size: %w", err)
	}
	p.size = int64(le.Uint32(size[:]))
	return p, nil
}
