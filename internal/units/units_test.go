// SPDX-License-Identifier: MIT

package units

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]Bytes{
		"0": 0, "1": 1, "4096": 4096, "128K": 128 << 10, "128k": 128 << 10, "64M": 64 << 20, "64MB": 64 << 20,
		"64MiB": 64 << 20,
		"1G":    1 << 30, "2T": 2 << 40, "0.5K": 512, "1.5M": 3 << 19, " 7K ": 7 << 10, "1e3": 1000, "9B": 9,
		"1024T": 1 << 50,
	} {
		if got, err := ParseBytes(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

func TestParseBitRate(t *testing.T) {
	for s, want := range map[string]BitRate{
		"0": 0, "800M": 800e6, "10G": 10e9, "2.5G": 2.5e9, "1T": 1e12, "1k": 1000, "0.001K": 1, "1000T": 1e15,
		"1.001K": 1001, "4.35K": 4350, "0.29M": 290000, "1.15G": 1_150_000_000, "8.2K": 8200, "16.1M": 16_100_000,
	} {
		if got, err := ParseBitRate(s); err != nil || got != want {
			t.Errorf("%q: %d, %v", s, got, err)
		}
	}
}

// What is not a quantity is refused, and named.
func TestRefused(t *testing.T) {
	for _, s := range []string{"", " ", "K", "B", "iB", "-1", "+1", "0x10", "1_000", "NaN", "inf", "Infinity", "1P",
		"1KK", "1 K", "1Kb/s", "ten", "1e400", "1,5K",
		"1.5", "0.1", "1e30", "0.0001K", "\xff", "5\x00"} {
		if n, err := ParseBytes(s); err == nil || !strings.HasPrefix(err.Error(), "size ") {
			t.Errorf("size %q became %d: %v", s, n, err)
		}
		if n, err := ParseBitRate(s); err == nil || !strings.HasPrefix(err.Error(), "bit rate ") {
			t.Errorf("bit rate %q became %d: %v", s, n, err)
		}
	}
	for _, s := range []string{"-1", "-4K"} {
		if _, err := ParseBytes(s); err == nil || !strings.Contains(err.Error(), "is below 0") {
			t.Errorf("size %q: %v", s, err)
		}
	}
	for _, s := range []string{"1025T", "0.1K", "1.1K"} {
		if n, err := ParseBytes(s); err == nil {
			t.Errorf("size %q became %d", s, n)
		}
	}
	if n, err := ParseBitRate("1001T"); err == nil {
		t.Errorf("1001T became %d", n)
	}
}

func TestString(t *testing.T) {
	for b, want := range map[Bytes]string{0: "0", 1: "1", 1023: "1023", 1024: "1K", 1536: "1536", 64 << 20: "64M",
		3 << 30: "3G", 1 << 50: "1024T"} {
		if b.String() != want {
			t.Errorf("%d: %q, not %q", int(b), b, want)
		}
	}
	for r, want := range map[BitRate]string{0: "0", 999: "999", 1000: "1K", 2.5e9: "2500M", 1e15: "1000T"} {
		if r.String() != want {
			t.Errorf("%d: %q, not %q", uint64(r), r, want)
		}
	}
}

func TestFlagValues(t *testing.T) {
	var b Bytes
	if b.Set("1K") != nil || b != 1024 {
		t.Errorf("%d", b)
	}
	if b.Set("x") == nil {
		t.Error("x was taken")
	}
	if b.Type() != "bytes" {
		t.Errorf("%q", b.Type())
	}
}

// What is taken prints as something that is taken as the same.
func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"1K", "64MiB", "0.5G", "1e3", "1024T", "-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBytes(s)
		if err != nil {
			return
		}
		if again, err := ParseBytes(b.String()); err != nil || again != b || b < 0 {
			t.Fatalf("%q is %d, prints %q, which is %d: %v", s, int(b), b, int(again), err)
		}
	})
}

func FuzzParseBitRate(f *testing.F) {
	for _, s := range []string{"10G", "2.5G", "1e3", "1000T", "0.5", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseBitRate(s)
		if err != nil {
			return
		}
		if again, err := ParseBitRate(r.String()); err != nil || again != r {
			t.Fatalf("%q is %d, prints %q, which is %d: %v", s, uint64(r), r, uint64(again), err)
		}
	})
}
