// SPDX-License-Identifier: MIT

package survey

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// device is a memory device as firmware has it (DSP0134, 7.18).
func device(size uint16, extended uint32) []byte {
	b := make([]byte, 0x28)
	b[0], b[1] = memoryDevice, byte(len(b))
	binary.LittleEndian.PutUint16(b[0x0c:], size)
	b[0x10], b[0x11], b[0x12] = 1, 2, 0x22
	binary.LittleEndian.PutUint16(b[0x15:], 5600)
	b[0x17], b[0x18], b[0x19], b[0x1a], b[0x1b] = 3, 4, 5, 6, 2
	binary.LittleEndian.PutUint32(b[0x1c:], extended)
	binary.LittleEndian.PutUint16(b[0x20:], 4800)
	return append(b, "P0_A1\x00BANK 0\x00Micron\x00SERIAL4711\x00TAG4711\x00MTC20F\x00\x00"...)
}

func table() []byte {
	t := append([]byte{1, 6, 0, 0, 1, 0}, "vendor\x00\x00"...)
	t = append(t, device(16384, 0)...)
	t = append(t, device(0, 0)...)
	t = append(t, device(0x7fff, 65536)...)
	return append(t, endOfTable, 4, 0, 0, 0, 0)
}

func TestModules(t *testing.T) {
	got := modules(table())
	want := []string{"P0_A1 BANK 0, 16384 MB, DDR5, 5600 MT/s, runs at 4800 MT/s, rank 2, Micron MTC20F",
		"P0_A1 BANK 0, 65536 MB, DDR5, 5600 MT/s, runs at 4800 MT/s, rank 2, Micron MTC20F"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if strings.Contains(strings.Join(got, ""), "4711") {
		t.Error("a serial number is in it")
	}
	for n := range table() {
		modules(table()[:n]) // cut anywhere: no panic
	}
}

// Firmware is anybody's: whatever the table, the modules end, and are few.
func FuzzModules(f *testing.F) {
	f.Add(table())
	f.Add([]byte{memoryDevice, 4, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(modules(b)); n > mostModules {
			t.Fatal(n)
		}
	})
}
