// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNetstatBetween(t *testing.T) {
	before, err := ReadNetstat(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadNetstat(fixture(t, "after"))
	if err != nil {
		t.Fatal(err)
	}
	want := []netstatDelta{
		{"Ip6InOctets", "/proc/net/snmp6", 250, ""},
		{"IpExtInOctets", "/proc/net/netstat", 1600, ""},
		{"TcpCurrEstab", "/proc/net/snmp", -1, ""}, // a gauge
		{"TcpExtTCPFromTheFuture", "/proc/net/netstat", 2, ""},
		{"TcpExtTCPRcvCoalesce", "/proc/net/netstat", 5000, ""},
		{"TcpInErrs", "/proc/net/snmp", -5, "the counter fell: it was reset in the window"},
		{"TcpInSegs", "/proc/net/snmp", 1000, ""},
		{"TcpOutSegs", "/proc/net/snmp", 200, "wrapped at 32 bits"},
		{"TcpRetransSegs", "/proc/net/snmp", 5, ""},
	}
	if diff := cmp.Diff(want, netstatBetween(before, after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := int64(before["TcpMaxConn"].Value); got != -1 {
		t.Errorf("TcpMaxConn = %d, want -1", got)
	}
}

func TestReadNetstatHere(t *testing.T) {
	n, err := ReadNetstat(FS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TcpRetransSegs", "TcpExtTCPRcvCoalesce", "IpExtInOctets"} {
		if _, ok := n[name]; !ok {
			t.Errorf("no %s among %d counters", name, len(n))
		}
	}
}

func TestParsePairsRefuses(t *testing.T) {
	for _, s := range []string{"Ip: A\n", "Ip: A\nTcp: 1\n", "Ip: A B\nIp: 1\n", "Ip A\nIp 1\n", "Ip: A\nIp: x\n"} {
		if err := parsePairs(bytes.NewBufferString(s), "f", Netstat{}); err == nil {
			t.Errorf("%q did not fail", s)
		}
	}
	for _, s := range []string{"A\n", "A 1 2\n", "A x\n"} {
		if err := parseSNMP6(bytes.NewBufferString(s), "f", Netstat{}); err == nil {
			t.Errorf("%q did not fail", s)
		}
	}
}

func FuzzParsePairs(f *testing.F) {
	f.Add([]byte("Ip: A B\nIp: 1 -2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Netstat{}
		if parsePairs(bytes.NewReader(b), "f", n) == nil && len(n) > len(b) {
			t.Error("more counters than bytes")
		}
	})
}

func FuzzParseSNMP6(f *testing.F) {
	f.Add([]byte("Ip6InReceives \t1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Netstat{}
		if parseSNMP6(bytes.NewReader(b), "f", n) == nil && len(n) > len(b) {
			t.Error("more counters than bytes")
		}
	})
}
