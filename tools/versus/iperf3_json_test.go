// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"strings"
	"testing"
)

func TestParseIperf3(t *testing.T) {
	b, err := os.ReadFile("testdata/iperf3-3.12.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseIperf3(b)
	if err != nil {
		t.Fatal(err)
	}
	// What the server received, not what the client sent (1744568320).
	if want := (Flow{Bytes: 1739980800, Seconds: 1.001567}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Of two ways the figure is the sum, as of zcrecv.
func TestParseBothWays(t *testing.T) {
	b, err := os.ReadFile("testdata/iperf3-3.12-bidir.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseIperf3(b)
	if err != nil || got.Bytes != 230686720+144310272 {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = parseZcrecv([]byte(`{"verdict":"ok","bytes":1000,"duration_s":2,"back_bytes":500}`))
	if want := (Flow{Bytes: 1500, Seconds: 2}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestParseIperf3Failures(t *testing.T) {
	refused, err := os.ReadFile("testdata/iperf3-3.12-refused.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, in, want string }{
		{"refused", string(refused), "unable to connect to server: Connection refused"},
		{"nothing received", `{"end":{"sum_received":{"bytes":0,"seconds":1}}}`, "0 bytes"},
		{"no end", `{}`, "0 bytes"},
		{"cut off", `{"end":`, "unexpected end"},
		{"empty", "", "unexpected end"},
	} {
		if _, err := parseIperf3([]byte(tc.in)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}
