// SPDX-License-Identifier: MIT

package stream

import (
	"encoding"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/records"
)

var (
	someHello = Hello{Cookie: Cookie{1, 2, 15: 9}, TXMode: "msg-zerocopy", MessageBytes: 64 << 20,
		PeriodBytes: 251 * 4096, Duration: 1500 * time.Millisecond, Flows: 1, Back: 4711}
	someVisits = Hello{TXMode: "crr", MessageBytes: 1, PeriodBytes: 31 * 4096, Flows: 1, ResponseBytes: 1,
		Connects: true}
	someTrips = Hello{TXMode: "rr", MessageBytes: 1, PeriodBytes: 31 * 4096, Flows: 1, ResponseBytes: 1,
		Records: records.TLS13, InKernel: true}
	someWelcome  = Welcome{Duration: 3 * time.Second, Port: 5202}
	someFarewell = Farewell{Bytes: math.MaxUint64, Mismatches: 7, Verified: true}
)

func encode(t testing.TB, v encoding.BinaryAppender) []byte {
	t.Helper()
	b, err := v.AppendBinary([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	if string(b[:6]) != "before" {
		t.Fatalf("AppendBinary overwrote what was there: %q", b[:6])
	}
	return b[6:]
}

// someRecords is a hello of a flow that is encrypted, and of one who only looks.
var someRecords = func() Hello {
	h := someHello
	h.Records, h.Looks = records.TLS12, true
	return h
}()

// frames are the frames with their parsers.
var frames = []struct {
	name  string
	value encoding.BinaryAppender
	size  int
	parse func([]byte) (encoding.BinaryAppender, error)
}{
	{"hello", someHello, helloSize, func(b []byte) (encoding.BinaryAppender, error) { return ParseHello(b) }},
	{"hello", someRecords, helloSize, func(b []byte) (encoding.BinaryAppender, error) { return ParseHello(b) }},
	{"hello", someVisits, helloSize, func(b []byte) (encoding.BinaryAppender, error) { return ParseHello(b) }},
	{"hello", someTrips, helloSize, func(b []byte) (encoding.BinaryAppender, error) { return ParseHello(b) }},
	{"welcome", someWelcome, welcomeSize, func(b []byte) (encoding.BinaryAppender, error) { return parseWelcome(b) }},
	{"farewell", someFarewell, farewellSize, func(b []byte) (encoding.BinaryAppender,
		error) {
		return parseFarewell(b)
	}},
	{"end", Ended{Packets: math.MaxUint64 - 1}, endedSize, func(b []byte) (encoding.BinaryAppender,
		error) {
		return parseEnded(b)
	}},
}

func TestFramesRoundTrip(t *testing.T) {
	for _, f := range frames {
		b := encode(t, f.value)
		if len(b) != f.size {
			t.Errorf("%s: %d bytes, not %d", f.name, len(b), f.size)
		}
		if got, err := f.parse(b); err != nil || got != f.value {
			t.Errorf("%s: %+v became %+v, %v", f.name, f.value, got, err)
		}
	}
}

func TestTruncatedAndLongFramesAreRefused(t *testing.T) {
	for _, f := range frames {
		b := encode(t, f.value)
		for n := range b {
			if _, err := f.parse(b[:n]); err == nil || !strings.HasPrefix(err.Error(), f.name) {
				t.Errorf("%s of %d bytes: %v", f.name, n, err)
			}
		}
		if _, err := f.parse(append(b, 0)); err == nil {
			t.Errorf("%s with a byte too many was taken", f.name)
		}
	}
}

func TestEveryFlippedBitIsSeen(t *testing.T) {
	for _, f := range frames {
		b := encode(t, f.value)
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if _, err := f.parse(b); err == nil {
				t.Errorf("%s: bit %d flipped, and taken", f.name, bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// reseal changes one byte of a frame and mends its checksum.
func reseal(b []byte, at int, v byte) []byte {
	b = append([]byte(nil), b[:len(b)-4]...)
	b[at] = v
	return seal(b)
}

func TestHelloRefusesWhatItCannotMean(t *testing.T) {
	for _, c := range []struct {
		change func(*Hello)
		say    string
	}{
		{func(h *Hello) { h.MessageBytes = 0 }, "message size 0"},
		{func(h *Hello) { h.MessageBytes = MaxMessageBytes + 1 }, "outside 1.."},
		{func(h *Hello) { h.PeriodBytes = 0 }, "period of 0"},
		{func(h *Hello) { h.PeriodBytes = 12 }, "multiple of 8"},
		{func(h *Hello) { h.PeriodBytes = MaxPeriodBytes + 8 }, "payload period"},
		{func(h *Hello) { h.TXMode = "two words" }, "printable"},
		{func(h *Hello) { h.TXMode = "a\x00b" }, "garbage"},
		{func(h *Hello) { h.TXMode = "dé" }, "printable"},
	} {
		h := someHello
		c.change(&h)
		if _, err := ParseHello(encode(t, h)); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, not %q", h, err, c.say)
		}
	}
	if _, err := ParseHello(reseal(encode(t, someHello), 29, 64)); err == nil ||
		!strings.Contains(err.Error(), "flags") {
		t.Errorf("unknown flags: %v", err)
	}
	unanswered := someVisits
	unanswered.ResponseBytes = 0
	if _, err := ParseHello(encode(t, unanswered)); err == nil || !strings.Contains(err.Error(), "without answers") {
		t.Errorf("connections without answers: %v", err)
	}
	for name, change := range map[string]func(*Hello){"no answers": func(h *Hello) { h.ResponseBytes = 0 },
		"no records": func(h *Hello) { h.Records = 0 }} {
		h := someTrips
		change(&h)
		if _, err := ParseHello(encode(t, h)); err == nil || !strings.Contains(err.Error(), "none are in records") {
			t.Errorf("keys, and %s: %v", name, err)
		}
	}
	if _, err := ParseHello(reseal(encode(t, someHello), 36, 0xff)); err == nil ||
		!strings.Contains(err.Error(), "byte 36") {
		t.Errorf("endless duration: %v", err)
	}
	if _, err := parseFarewell(reseal(encode(t, someFarewell), 27, 2)); err == nil ||
		!strings.Contains(err.Error(), "flags") {
		t.Errorf("unknown flag: %v", err)
	}
}

func TestLongestModeName(t *testing.T) {
	h := someHello
	h.TXMode = strings.Repeat("m", 20)
	if got, err := ParseHello(encode(t, h)); err != nil || got != h {
		t.Errorf("20 characters: %+v, %v", got, err)
	}
	h.TXMode += "m"
	if _, err := h.AppendBinary(nil); err == nil {
		t.Error("25 characters were taken")
	}
}

// A wish is no less than what was wished, and never becomes none.
func TestShortDurationStaysAWish(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		-1: 0, 0: 0, 1: time.Millisecond, 999 * time.Microsecond: time.Millisecond, time.Millisecond: time.Millisecond,
		1_000_001: 2 * time.Millisecond, time.Hour: time.Hour,
	} {
		got, err := parseWelcome(encode(t, Welcome{Duration: d}))
		if err != nil || got.Duration != want {
			t.Errorf("%v became %v, not %v: %v", d, got.Duration, want, err)
		}
	}
}

func TestCookieText(t *testing.T) {
	c := NewCookie()
	if c == NewCookie() {
		t.Error("two cookies are equal")
	}
	var back Cookie
	b, _ := c.MarshalText()
	if err := back.UnmarshalText(b); err != nil || back != c {
		t.Errorf("%v became %v: %v", c, back, err)
	}
	for _, s := range []string{"", "00", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("g", 32)} {
		if err := back.UnmarshalText([]byte(s)); err == nil || !strings.Contains(err.Error(), "cookie") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// fuzzFrame holds for any body with a right checksum: what is taken encodes to
// a frame that is taken as the same.
func fuzzFrame(f *testing.F, name string, magic [4]byte) {
	i := 0
	for frames[i].name != name {
		i++
	}
	frame := frames[i]
	valid, err := frame.value.AppendBinary(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add(valid[:len(valid)-4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, seal(append([]byte(nil), b...)),
			seal(append(append([]byte(nil), magic[:]...), b...))} {
			v, err := frame.parse(b)
			if err != nil {
				continue
			}
			again, err := v.AppendBinary(nil)
			if err != nil {
				t.Fatalf("%+v was taken but does not encode: %v", v, err)
			}
			if w, err := frame.parse(again); err != nil || w != v {
				t.Fatalf("%+v became %+v, %v", v, w, err)
			}
		}
	})
}

func FuzzHello(f *testing.F)    { fuzzFrame(f, "hello", helloMagic) }
func FuzzWelcome(f *testing.F)  { fuzzFrame(f, "welcome", welcomeMagic) }
func FuzzFarewell(f *testing.F) { fuzzFrame(f, "farewell", farewellMagic) }
func FuzzEnded(f *testing.F)    { fuzzFrame(f, "end", endedMagic) }
