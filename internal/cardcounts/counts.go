// SPDX-License-Identifier: MIT

// Package cardcounts is how a NIC that the lab itself is (package lab/gvnic) tells a guest what it
// counted, past its driver, which knows of no such counts: by a vendor-specific capability of its
// PCI configuration space. Who writes a count's index there, reads its value.
package cardcounts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// Where the capability is in the configuration space, and what is where in it.
const (
	Offset = 0x50
	Length = 0x10

	vendorSpecific = 0x09
	signature      = 0x03 // a byte by which it is known
	signatureIs    = 0x5a
	index          = 0x04 // four bytes, written
	value          = 0x08 // eight bytes, read
)

// Queues is how many queues of each kind a card has counts of.
const Queues = 8

// Of are the counts of a NIC, in the order of their indices.
type Of struct {
	RX [Queues]RX
	TX [Queues]TX
}

// RX are a receive queue's.
type RX struct {
	Packets uint64 // as the driver gets them: aggregated ones are one
	Header  uint64 // bytes written into buffers for headers, which are the kernel's
	// Bytes of payload, TCP's and UDP's: Provider, written into buffers of a queue that has been
	// given memory, Kernel into those of any other.
	Provider, Kernel uint64
	Unsplit          uint64 // packets whose headers went into the same buffer as their payload
	Dropped          uint64 // packets, because buffers did not come for long
}

// TX are a transmit queue's.
type TX struct {
	Packets, Bytes uint64 // as the driver gives them: before they are cut into segments
	Refused        uint64 // packets whose descriptors make no sense
}

// All returns the counts by name.
func (c *Of) All() (names []string, values []uint64) {
	add := func(v uint64, format string, q int) {
		names, values = append(names, fmt.Sprintf(format, q)), append(values, v)
	}
	for q, r := range c.RX {
		add(r.Packets, "rx%d_packets", q)
		add(r.Header, "rx%d_header_bytes", q)
		add(r.Provider, "rx%d_provider_bytes", q)
		add(r.Kernel, "rx%d_kernel_bytes", q)
		add(r.Unsplit, "rx%d_unsplit", q)
		add(r.Dropped, "rx%d_dropped", q)
	}
	for q, t := range c.TX {
		add(t.Packets, "tx%d_packets", q)
		add(t.Bytes, "tx%d_bytes", q)
		add(t.Refused, "tx%d_refused", q)
	}
	return names, values
}

// Put writes the capability into a configuration space; next is the offset of the one after it, 0
// for none.
func Put(config []byte, next byte) {
	c := config[Offset:][:Length]
	c[0], c[1], c[2], c[signature] = vendorSpecific, next, Length, signatureIs
}

// Write takes what a guest writes into the configuration space: an index, whose value it will read.
func Write(config []byte, off int, p []byte, c *Of) {
	if off != Offset+index || len(p) != 4 {
		return
	}
	var v uint64
	if _, all := c.All(); uint64(binary.LittleEndian.Uint32(p)) < uint64(len(all)) {
		v = all[binary.LittleEndian.Uint32(p)]
	}
	copy(config[off:], p)
	binary.LittleEndian.PutUint64(config[Offset+value:], v)
}

// ours reports whether a configuration space is that of a gVNIC with the capability.
func ours(config []byte) bool {
	const gvnic = "\xe0\x1a\x42\x00"
	return len(config) >= Offset+Length && string(config[:4]) == gvnic && config[Offset] == vendorSpecific &&
		config[Offset+signature] == signatureIs
}

// Read reads all counts of a NIC by its configuration space, a file below /sys. nil: it is no such
// NIC.
func Read(path string) (map[string]uint64, error) {
	head, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !ours(head) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, _ := (&Of{}).All()
	out := make(map[string]uint64, len(names))
	for i, name := range names {
		var b [8]byte
		if _, err := f.WriteAt(binary.LittleEndian.AppendUint32(nil, uint32(i)), Offset+index); err != nil {
			return nil, err
		}
		if _, err := f.ReadAt(b[:], Offset+value); err != nil {
			return nil, err
		}
		out[name] = binary.LittleEndian.Uint64(b[:])
	}
	return out, nil
}
