// SPDX-License-Identifier: MIT

package survey

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// dimms adds the memory modules that the firmware lists in its tables, for root.
func (f *facts) dimms() {
	for i, d := range modules(read(f.fs.sys("firmware/dmi/tables/DMI"), mostTable)) {
		f.add(fmt.Sprintf("dimm/%02d", i), d)
	}
}

// memoryDevice and endOfTable are types of structures in the firmware's tables (DMTF DSP0134,
// System Management BIOS, 7.18 and 7.45).
const (
	memoryDevice = 17
	endOfTable   = 127
)

// mostModules is more than any host has.
const mostModules = 256

// kinds of memory (DSP0134, 7.18.2) that hosts of today have.
var memoryKinds = map[byte]string{0x18: "DDR3", 0x1a: "DDR4", 0x1e: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5",
	0x23: "LPDDR5", 0x24: "HBM3", 0x07: "RAM"}

// modules describes the memory modules of a host, from the firmware's tables: place, size,
// kind, speeds, ranks, maker and part. Their serial numbers and asset tags are not looked at.
func modules(table []byte) (out []string) {
	for len(table) >= 4 && len(out) < mostModules {
		kind, length := table[0], int(table[1])
		if length < 4 || length > len(table) || kind == endOfTable {
			return out
		}
		body := table[:length]
		texts, rest := stringsOf(table[length:])
		if kind == memoryDevice {
			if d := module(body, texts); d != "" {
				out = append(out, d)
			}
		}
		table = rest
	}
	return out
}

// stringsOf splits off the texts behind a structure, which two zeros end.
func stringsOf(b []byte) (texts []string, rest []byte) {
	at := bytes.Index(b, []byte("\x00\x00"))
	if at < 0 {
		return nil, nil
	}
	if at > 0 {
		texts = strings.Split(string(b[:at]), "\x00")
	}
	return texts, b[at+2:]
}

// module describes a memory device; "" for an empty socket.
func module(b []byte, texts []string) string {
	at := func(i, n int) uint64 {
		if i+n > len(b) {
			return 0
		}
		var full [8]byte
		copy(full[:], b[i:i+n])
		return binary.LittleEndian.Uint64(full[:])
	}
	word := func(i int) string {
		if n := int(at(i, 1)); n > 0 && n <= len(texts) {
			return strings.TrimSpace(texts[n-1])
		}
		return ""
	}
	size := at(0x0c, 2)
	mb := size
	switch {
	case size == 0 || size == 0xffff:
		return ""
	case size == 0x7fff:
		mb = at(0x1c, 4) & 0x7fffffff
	case size&0x8000 != 0: // in kilobytes
		mb = size & 0x7fff >> 10
	}
	parts := []string{strings.TrimSpace(word(0x10) + " " + word(0x11)), fmt.Sprintf("%d MB", mb),
		memoryKinds[byte(at(0x12, 1))]}
	if s := at(0x15, 2); s > 0 {
		parts = append(parts, fmt.Sprintf("%d MT/s", s))
	}
	if s := at(0x20, 2); s > 0 {
		parts = append(parts, fmt.Sprintf("runs at %d MT/s", s))
	}
	if r := at(0x1b, 1) & 0xf; r > 0 {
		parts = append(parts, fmt.Sprintf("rank %d", r))
	}
	parts = append(parts, strings.TrimSpace(word(0x17)+" "+word(0x1a)))
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, ", ")
}
