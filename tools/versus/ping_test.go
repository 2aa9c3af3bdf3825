// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/veth"
)

const pingText = `PING 10.99.0.1 (10.99.0.1) 18(46) bytes of data.
26 bytes from 10.99.0.1: icmp_seq=1 ttl=64 time=0.032 ms
26 bytes from 10.99.0.1: icmp_seq=2 ttl=64 time=0.015 ms
26 bytes from 10.99.0.1: icmp_seq=2 ttl=64 time=0.016 ms (DUP!)
26 bytes from 10.99.0.1: icmp_seq=3 ttl=64 time=0.028 ms

--- 10.99.0.1 ping statistics ---
3 packets transmitted, 3 received, +1 duplicates, 0% packet loss, time 4ms
rtt min/avg/max/mdev = 0.015/0.025/0.032/0.007 ms, ipg/ewma 2.010/0.026 ms
`

func TestParsePing(t *testing.T) {
	e, err := parsePing([]byte(pingText))
	if want := (Echoes{Count: 3, MinUs: 15, AvgUs: 25, P50Us: 28, MaxUs: 32}); err != nil || e != want {
		t.Errorf("%+v, %v; want %+v", e, err, want)
	}
	change := func(old, new string) string {
		if !strings.Contains(pingText, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(pingText, old, new, 1)
	}
	for name, x := range map[string]struct{ text, want string }{
		"nothing":   {"", "no summary"},
		"no answer": {"\n2 packets transmitted, 0 received, 100% packet loss, time 4ms\n", "no summary"},
		"a line is missing": {change("26 bytes from 10.99.0.1: icmp_seq=3 ttl=64 time=0.028 ms\n", ""),
			"3 echoes, and 2 lines"},
		"another unit":      {change("time=0.028 ms", "time=28 us"), "time=28 us"},
		"no number":         {change("time=0.028", "time=\x1b[2J"), "read what ping wrote"},
		"three figures":     {change("0.015/0.025/0.032/0.007", "0.015/0.025/0.032"), "rtt min"},
		"avg below min":     {change("/0.025/", "/0.001/"), "min 0.015, avg 0.001"},
		"another machine's": {change("0.015/0.025/0.032/", "1.015/1.025/1.032/"), "half of the echoes"},
	} {
		if _, err := parsePing([]byte(x.text)); err == nil || !strings.Contains(err.Error(), x.want) ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

func FuzzParsePing(f *testing.F) {
	f.Add([]byte(pingText))
	f.Add([]byte("1 packets transmitted, 1 received\nx time=1 ms\nrtt min/avg/max/mdev = 1/1/1/0 ms"))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parsePing(text)
		const rounded = 2.2 // us
		switch {
		case err != nil && (e != Echoes{} || strings.ContainsAny(err.Error(), "\x1b\n")):
			t.Errorf("%+v, %q", e, err)
		case err == nil && (e.Count < 1 || e.MinUs < 0 || e.MinUs > e.P50Us+rounded || e.P50Us > e.MaxUs+rounded ||
			e.MinUs > e.AvgUs+rounded || e.AvgUs > e.MaxUs+rounded):
			t.Errorf("%+v", e)
		}
	})
}

// ping itself is understood, over a link as that of the comparisons.
func TestIntegrationPing(t *testing.T) {
	if e := pinged(t); e.Count < 1 || e.Count > pingEchoes || e.P50Us <= 0 {
		t.Errorf("%+v", e)
	}
}

// All its echoes come back within its limit, and soon.
func TestIntegrationPingIsFast(t *testing.T) {
	kind.Timed(t)
	if e := pinged(t); e.Count != pingEchoes || e.P50Us >= 10_000 {
		t.Errorf("%+v", e)
	}
}

// pinged is a run of ping over such a link.
func pinged(t *testing.T) Echoes {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a veth link needs root")
	}
	path, err := exec.LookPath("ping")
	if err != nil {
		t.Skip("ping is not installed")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	o := options{tools: Tools{Ping: path, SenderCPUs: []int{0}}}
	e, err := o.ping(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The row of ping stands below its round trips, and is said to be no rival.
func TestPingIsPrinted(t *testing.T) {
	x := &smallOutcome{Comparison: "udp rr", PingRuns: []Echoes{{Count: 5000, MinUs: 4, AvgUs: 5.25, P50Us: 5,
		MaxUs: 79}, {Count: 5000, MinUs: 4, AvgUs: 5.75, P50Us: 6, MaxUs: 80}}}
	x.judge()
	var out bytes.Buffer
	if err := printSmall(&out, []*smallOutcome{x}, false, ""); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"ping us min 4.0 avg 5.5 p50 5.5", "without a process at the far end", "no rival"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	out.Reset()
	if err := printSmall(&out, []*smallOutcome{{Comparison: "udp single"}}, false, ""); err != nil ||
		strings.Contains(out.String(), "ping") {
		t.Errorf("%v, %s", err, &out)
	}
	if i := slices.IndexFunc((Tools{}).smallPairs(),
		func(p smallPair) bool { return p.trips != strings.HasSuffix(p.Name, " rr") }); i >= 0 {
		t.Errorf("comparison %d: whether it is of round trips is wrong", i)
	}
}
