// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"
	"time"
)

// field is a field of a protobuf message, of bytes.
func field(number int, text string) string {
	return string(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(text)))) + text
}

// Few bytes that would become a great many samples are refused before they do.
func TestParseBomb(t *testing.T) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
		return b.Bytes()
	}
	for what, text := range map[string]string{
		"empty samples":         strings.Repeat("\x12\x00", mostParts+1),
		"places of one sample":  field(2, field(1, strings.Repeat("\x01", 8*mostParts))),
		"values of one sample":  field(2, field(2, strings.Repeat("\x01", 8*mostParts))),
		"labels of one sample":  field(2, strings.Repeat("\x1a\x00", mostParts)),
		"lines of one place":    field(4, strings.Repeat("\x22\x00", mostParts)),
		"comments":              field(13, strings.Repeat("\x00", mostParts)),
		"a part beyond the end": "\x12\x7f",
		"a label beyond it":     field(2, "\x1a\x7f"),
		"no message":            "\x07",
	} {
		if _, err := Parse(pack(text)); err == nil || !strings.Contains(err.Error(), "too many parts") {
			t.Errorf("%s: %v", what, err)
		}
	}
	inside := field(2, field(1, strings.Repeat("\x01", 20))+"\x1a\x00"+"\x1a\x00") +
		field(4, "\x08\x01"+"\x22\x00") + field(5, strings.Repeat("\x00", 80))
	// a sample, its places, 16 bytes of them, 2 labels; a place, its number and line; a function
	if n := parts([]byte(inside)); n != 10 {
		t.Errorf("%d parts inside", n)
	}
	if n := parts([]byte("\x08\x01\x12\x02\x08\x01\x1d\x00\x00\x00\x00")); n != 4 {
		t.Errorf("%d parts", n)
	}
}

// What was unpacked is said, also of a profile that is refused, and no more is than was asked for.
func TestParseWithin(t *testing.T) {
	var b bytes.Buffer
	if err := built(clock, "7 100 | copy main").Pprof(0, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	_, n, err := ParseWithin(b.Bytes(), maxUnpacked)
	if err != nil || n < 100 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if _, m, err := ParseWithin(b.Bytes(), n); err != nil || m != n {
		t.Errorf("%d bytes, %v", m, err)
	}
	if p, m, err := ParseWithin(b.Bytes(), n-1); err == nil || p != nil || m != n {
		t.Errorf("%d bytes of a profile with one too many, %v", m, err)
	}
}
