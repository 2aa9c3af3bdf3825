// SPDX-License-Identifier: MIT

package main

import (
	"strings"
	"testing"
)

func TestParseNetperf(t *testing.T) {
	got, err := parseNetperf(
		[]byte("THROUGHPUT=50000.00\nTHROUGHPUT_UNITS=10^6bits/s\nREMOTE_BYTES_RECVD=12500000000\n"))
	if err != nil || got.Bytes != 12500000000 || !near(got.Seconds, 2) {
		t.Errorf("got %+v, %v, want 12.5 GB in 2 s", got, err)
	}
}

func TestParseNetperfFailures(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"refused", "establish control: are you sure there is a netserver listening on 10.77.0.1 at port 5201?\n",
			"no REMOTE_BYTES_RECVD"},
		{"no rate", "REMOTE_BYTES_RECVD=1\n", "no THROUGHPUT"},
		{"another unit", "THROUGHPUT=1\nTHROUGHPUT_UNITS=KBytes/s\nREMOTE_BYTES_RECVD=1\n", `"KBytes/s"`},
		{"no unit", "THROUGHPUT=1\nREMOTE_BYTES_RECVD=1\n", `THROUGHPUT_UNITS is ""`},
		{"nothing received", "THROUGHPUT=1\nTHROUGHPUT_UNITS=10^6bits/s\nREMOTE_BYTES_RECVD=0\n", `"0"`},
		{"what a terminal would obey", "REMOTE_BYTES_RECVD=\x1b]0;x\x07\n", `\x1b]0`},
	} {
		if _, err := parseNetperf([]byte(tc.in)); err == nil || !strings.Contains(err.Error(), tc.want) ||
			strings.ContainsAny(err.Error(), "\x1b\x07") {
			t.Errorf("%s: error %q, want one with %q and nothing raw", tc.name, err, tc.want)
		}
	}
}
