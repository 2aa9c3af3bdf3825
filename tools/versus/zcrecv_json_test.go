// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"strings"
	"testing"
)

func TestParseZcrecv(t *testing.T) {
	got, err := parseZcrecv([]byte(`{"verdict":"ok","bytes":1000000000,"duration_s":2.5,"cpu_user_s":0.1}`))
	if want := (Flow{Bytes: 1e9, Seconds: 2.5}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestParseZcrecvUnsupported(t *testing.T) {
	_, err := parseZcrecv([]byte(`{"verdict":"unsupported","reason":"io_uring_setup: function not implemented"}`))
	u := (*UnsupportedError)(nil)
	if !errors.As(err, &u) || u.Reason != "io_uring_setup: function not implemented" {
		t.Errorf("got %v, want an UnsupportedError with the reason", err)
	}
}

func TestParseZcrecvFailures(t *testing.T) {
	for in, want := range map[string]string{
		`{"verdict":"failed","reason":"no payload"}`: "failed: no payload",
		`{"verdict":"ok","bytes":0,"duration_s":1}`:  "0 bytes",
		`{"verdict":"ok","bytes":10,"duration_s":0}`: "10 bytes in 0 s",
		`zcrecv: panic`: "read zcrecv's JSON",
	} {
		if _, err := parseZcrecv([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", in, err, want)
		}
	}
}
