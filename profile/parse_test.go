// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

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
		"a part beyond the end": "\x12\x7f",
		"no message":            "\x07",
	} {
		if _, err := Parse(pack(text)); err == nil || !strings.Contains(err.Error(), "too many parts") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := parts([]byte("\x08\x01\x12\x02ab\x1d\x00\x00\x00\x00")); n != 3 {
		t.Errorf("%d parts", n)
	}
}
