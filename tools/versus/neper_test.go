// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseNeper(t *testing.T) {
	b, err := os.ReadFile("testdata/neper-server.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseNeper(b)
	if err != nil {
		t.Fatal(err)
	}
	if !near(got.Seconds, 1.99) || !near(float64(got.Bytes)/1e9, 12.4375) {
		t.Errorf("got %+v, want 50 Gbit/s for 1.99 s", got)
	}
}

func TestParseNeperFailures(t *testing.T) {
	good := "time_start=10.5\ntime_end=12.5\nlocal_throughput=50000000000\n"
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "no local_throughput"},
		{"no end", "time_start=1\nlocal_throughput=5\n", "no time_end"},
		{"nothing received", strings.Replace(good, "=50000000000", "=0", 1), `local_throughput is "0"`},
		{"overflow", strings.Replace(good, "=5", "=-5", 1), `is "-5`},
		{"no number", strings.Replace(good, "=50000000000", "=NaN", 1), `is "NaN"`},
		{"infinite", strings.Replace(good, "=50000000000", "=inf", 1), `is "inf"`},
		{"too much", strings.Replace(good, "=50000000000", "=1e300", 1), "1e300"},
		{"ends before it began", strings.Replace(good, "=12.5", "=10.25", 1), "ended at 10.25"},
		{"ends when it began", strings.Replace(good, "=12.5", "=10.5", 1), "ended at 10.5"},
		{"a year", strings.Replace(good, "=12.5", "=1e12", 1), "ended at 1e+12"},
		{"more bytes than fit", "time_start=1\ntime_end=900000\nlocal_throughput=9e17\n", "too many"},
		{"what a terminal would obey", strings.Replace(good, "=5", "=\x1b[2J5", 1), `\x1b[2J`},
		{"what a terminal of one byte would obey", strings.Replace(good, "=5", "=\x9b2J5", 1), `\x9b2J`},
	} {
		_, err := parseNeper([]byte(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		} else if !utf8.ValidString(err.Error()) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: raw in the error: %q", tc.name, err)
		}
	}
}

// What comes last counts: options are printed first, and one of them could have the key's name.
func TestParseKeyvals(t *testing.T) {
	kv := parseKeyvals([]byte("a=1\n a = 2 \nb\n=3\na=4=5\n\nc=\x00"))
	if kv["a"] != "4=5" || kv["a "] != " 2" || kv["c"] != "\x00" {
		t.Errorf("got %q", kv)
	}
}
