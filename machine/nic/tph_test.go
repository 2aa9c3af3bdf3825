// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"testing"
)

// extended is a configuration space with extended capabilities, each with the place of the
// next.
func extended(caps map[int][2]uint32, ctrl map[int]uint32) []byte {
	b := make([]byte, 4096)
	for at, c := range caps {
		binary.LittleEndian.PutUint32(b[at:], c[0]|1<<16|c[1]<<20)
	}
	for at, v := range ctrl {
		binary.LittleEndian.PutUint32(b[at:], v)
	}
	return b
}

func TestTPHOn(t *testing.T) {
	t.Parallel()
	list := map[int][2]uint32{0x100: {1, 0x140}, 0x140: {pciExtTPH, 0}}
	for name, x := range map[string]struct {
		config []byte
		want   bool
	}{
		"on":                   {extended(list, map[int]uint32{0x148: 0x101}), true},
		"on, extended":         {extended(list, map[int]uint32{0x148: 0x301}), true},
		"off":                  {extended(list, map[int]uint32{0x148: 0x001}), false},
		"without":              {extended(map[int][2]uint32{0x100: {1, 0}}, nil), false},
		"none":                 {make([]byte, 4096), false},
		"for root alone":       {make([]byte, 64), false},
		"conventional PCI":     {make([]byte, 256), false},
		"nothing":              {nil, false},
		"a circle":             {extended(map[int][2]uint32{0x100: {1, 0x140}, 0x140: {2, 0x100}}, nil), false},
		"past the end":         {extended(map[int][2]uint32{0x100: {1, 0xffc}}, nil), false},
		"before the beginning": {extended(map[int][2]uint32{0x100: {1, 0x40}}, nil), false},
	} {
		if got := tphOn(x.config); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
