// SPDX-License-Identifier: MIT

package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"
)

// Names of sections that would fill the memory are refused before they are read.
func TestModest(t *testing.T) {
	file := func(size uint64, flags elf.SectionFlag, sections uint16) *bytes.Reader {
		b := make([]byte, 128)
		copy(b, "\x7fELF\x02\x01\x01")
		le := binary.LittleEndian
		le.PutUint64(b[40:], 64) // where the sections' headers are
		le.PutUint16(b[58:], 64)
		le.PutUint16(b[60:], sections)
		le.PutUint64(b[64+8:], uint64(flags))
		le.PutUint64(b[64+32:], size)
		return bytes.NewReader(b)
	}
	if err := modest(file(1<<10, 0, 1)); err != nil {
		t.Error(err)
	}
	for what, r := range map[string]*bytes.Reader{
		"names of 900 GB": file(900<<30, 0, 1),
		"packed names":    file(1<<10, elf.SHF_COMPRESSED, 1),
		"many sections":   file(1<<10, 0, 0),
	} {
		if _, err := Read(r, 1<<40); !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := goFuncs([]byte("\xf1\xff\xff\xff\x00\x00\x01\x08\x00\x00\x00\x00\x01\x00\x00\x00"),
		binary.LittleEndian); n != 1<<32 {
		t.Errorf("%d functions", n)
	}
}
