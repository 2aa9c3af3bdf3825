// SPDX-License-Identifier: MIT

package cardcounts

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// space is the configuration space of a gVNIC, with the capability.
func space() []byte {
	config := make([]byte, 256)
	copy(config, "\xe0\x1a\x42\x00")
	Put(config, 0)
	return config
}

// Each count has a name of its own, and is told by its index.
func TestTold(t *testing.T) {
	var c Of
	for q := range c.RX {
		n := uint64(q+1) << 32
		c.RX[q] = RX{n, n + 1, n + 2, n + 3, n + 4, n + 5}
		c.TX[q] = TX{n + 6, n + 7, n + 8}
	}
	config, seen := space(), map[string]bool{}
	names, values := c.All()
	for i, name := range names {
		Write(config, Offset+index, binary.LittleEndian.AppendUint32(nil, uint32(i)), &c)
		got := binary.LittleEndian.Uint64(config[Offset+value:])
		if seen[name] || got != values[i] || got == 0 {
			t.Errorf("%s: %#x, want %#x", name, got, values[i])
		}
		seen[name] = true
	}
	if !seen["rx7_provider_bytes"] || !seen["tx0_bytes"] || len(seen) != Queues*9 {
		t.Errorf("%d names: %q", len(seen), names)
	}
	before := string(config)
	Write(config, Offset, []byte{1, 2, 3, 4}, &c)
	Write(config, Offset+index, []byte{1}, &c)
	if string(config) != before {
		t.Error("another place, or less than an index, is written")
	}
}

// Only a NIC that has the capability is asked; what is no NIC, or another, is not written to.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if got, err := Read(path); got != nil || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"Google's own":  func(b []byte) []byte { b[Offset] = 0x10; return b },
		"no signature":  func(b []byte) []byte { b[Offset+signature] = 0; return b },
		"another NIC":   func(b []byte) []byte { b[2] = 1; return b },
		"unprivileged":  func(b []byte) []byte { return b[:64] },
		"nothing there": func(b []byte) []byte { return nil },
	} {
		b := change(space())
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if now, _ := os.ReadFile(path); got != nil || err != nil || string(now) != string(b) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	b := space()
	binary.LittleEndian.PutUint64(b[Offset+value:], 4711) // a file answers each index so
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || len(got) != Queues*9 || got["rx3_kernel_bytes"] != 4711 {
		t.Errorf("%v, %v", got, err)
	}
}
