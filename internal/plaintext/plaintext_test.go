// SPDX-License-Identifier: MIT

package plaintext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestClean(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"", ""},
		{"zcrx: 9.8 Gbit/s\n\tcopied 0 %, µs, 网卡, é", "zcrx: 9.8 Gbit/s\n\tcopied 0 %, µs, 网卡, é"},
		{"a\x1b]0;title\x07b", `a\u001b]0;title\u0007b`},       // OSC
		{"\x1b[2J\x1b[31m", `\u001b[2J\u001b[31m`},             // CSI
		{"\x1bP+q\x1b\\", `\u001bP+q\u001b\`},                  // DCS
		{"\u009b2J\u009d0;x\u009c", `\u009b2J\u009d0;x\u009c`}, // C1 as UTF-8
		{"\x9b2J", `\x9b2J`}, // C1 as a byte
		{"ok\rFAILED\b\x7f\x00", `ok\u000dFAILED\u0008\u007f\u0000`},
		{"\u202egnp.exe\u2066x\u2069\u200e\u200f\u061c", `\u202egnp.exe\u2066x\u2069\u200e\u200f\u061c`},
		{"a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\u0085d`},
		{"ro\u200bot\ufeff\u2060\u00ad", `ro\u200bot\ufeff\u2060\u00ad`},
		{"\U000e0041\U000e007f", `\udb40\udc41\udb40\udc7f`}, // tags
		{"\ue000", `\ue000`},
		{"\xe2\x80", `\xe2\x80`},
		{"\ufffd", "\ufffd"}, // somebody else's sign for what was no character
		{"\xed\xa0\x80", `\xed\xa0\x80`},
	} {
		// The test's text says it as Go does, the output as JSON: the same for these.
		if got := Clean(x.in); got != x.want {
			t.Errorf("%q: %q, want %q", x.in, got, x.want)
		}
	}
	if got := Line("a\n\tb\r"); got != `a  b\u000d` {
		t.Errorf("%q", got)
	}
}

// A Writer makes of any pieces what Clean makes of the whole.
func TestWriterPieces(t *testing.T) {
	const text = "µs \x1b[1m \u009b 网 \xe2\x80 \U000e0041 \xf0\x9f\x98"
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		w := NewWriter(&b)
		for at := 0; at < len(text); at += size {
			if n, err := w.Write([]byte(text[at:min(at+size, len(text))])); err != nil || n == 0 {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != Clean(text) {
			t.Errorf("in pieces of %d: %q, want %q", size, b.String(), Clean(text))
		}
	}
}

// JSON means what it meant.
func TestWriterJSON(t *testing.T) {
	in := "a\x1b\x7f\u009b\u202e\U000e0041\u2028 \\u001b é"
	var b bytes.Buffer
	if err := json.NewEncoder(NewWriter(&b)).Encode(map[string]string{in: in}); err != nil {
		t.Fatal(err)
	}
	wantShown(t, b.String())
	var out map[string]string
	if err := json.Unmarshal(b.Bytes(), &out); err != nil || out[in] != in {
		t.Errorf("%v: %q from %s", err, out, &b)
	}
}

func wantShown(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return !Safe(c) }) {
		t.Errorf("a terminal obeys a part of %q", s)
	}
}

func FuzzWriter(f *testing.F) {
	f.Add([]byte("a\x1b]0;x\x07"), 3)
	f.Add([]byte("\xe2\x80\xae\xf3\xa0\x81\x81\x9b"), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, size)
		var b bytes.Buffer
		w := NewWriter(&b)
		for at := 0; at < len(data); at += size {
			w.Write(data[at:min(at+min(size, len(data)), len(data))])
		}
		w.Flush()
		wantShown(t, b.String())
		if got := Clean(string(data)); got != b.String() {
			t.Errorf("Clean %q, Writer %q", got, b.String())
		}
		if again := Clean(b.String()); again != b.String() {
			t.Errorf("cleaned twice: %q, once: %q", again, b.String())
		}
	})
}
