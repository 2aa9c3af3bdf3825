// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// bzImage is an image that holds a payload, which unpacks to so many bytes.
func bzImage(packed []byte, size int) []byte {
	const setup, before = 1, 20
	le := binary.LittleEndian
	b := make([]byte, (setup+1)*512+before)
	b[bootSetupSects] = setup
	le.PutUint16(b[bootFlag:], 0xaa55)
	copy(b[bootMagic:], "HdrS")
	le.PutUint16(b[bootVersion:], 0x20f)
	le.PutUint32(b[bootPayloadOffset:], before)
	le.PutUint32(b[bootPayloadLength:], uint32(len(packed)+4))
	b = append(b, packed...)
	b = le.AppendUint32(b, uint32(size))
	return append(b, "what follows"...)
}

func TestFindPayload(t *testing.T) {
	b := bzImage([]byte("packed"), 77)
	p, err := findPayload(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b[p.off : p.off+p.len]); got != "packed" || p.size != 77 {
		t.Errorf("payload %q of %d bytes unpacked", got, p.size)
	}
}

func TestFindPayloadRefuses(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		want  string
	}{
		{"cut", func(b []byte) []byte { return b[:bootHeaderEnd-1] }, "boot header"},
		{"no boot flag", func(b []byte) []byte { b[bootFlag] = 0; return b }, "no bzImage"},
		{"no magic", func(b []byte) []byte { b[bootMagic] = 'X'; return b }, "no bzImage"},
		{"old", func(b []byte) []byte { le.PutUint16(b[bootVersion:], 0x207); return b }, "protocol 2.07"},
		{"empty payload", func(b []byte) []byte { le.PutUint32(b[bootPayloadLength:], 0); return b },
			"does not fit an image"},
		{"long payload", func(b []byte) []byte { le.PutUint32(b[bootPayloadLength:], 1<<32-1); return b },
			"does not fit an image"},
		{"far payload", func(b []byte) []byte { le.PutUint32(b[bootPayloadOffset:], 1<<32-1); return b },
			"does not fit an image"},
	} {
		b := c.spoil(bzImage([]byte("packed"), 77))
		if _, err := findPayload(bytes.NewReader(b), int64(len(b))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Whatever the header says, the payload is within the image.
func FuzzFindPayload(f *testing.F) {
	f.Add(bzImage([]byte("packed"), 77))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := findPayload(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		if p.off < bootHeaderEnd || p.len < 4 || p.off+p.len+4 > int64(len(b)) || p.size < 0 || p.size > 1<<32-1 {
			t.Errorf("payload %+v in an image of %d bytes", p, len(b))
		}
	})
}
