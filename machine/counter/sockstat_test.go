// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/machine/measure"
)

func TestReadSockstat(t *testing.T) {
	got, err := ReadSockstat(fixture(t, "after"))
	if err != nil {
		t.Fatal(err)
	}
	four := func(name, unit string, v uint64) measure.Count {
		return level("sockstat", name, unit, "/proc/net/sockstat", v)
	}
	six := func(name, unit string, v uint64) measure.Count {
		return level("sockstat", name, unit, "/proc/net/sockstat6", v)
	}
	want := []measure.Count{four("sockets_used", "1", 290),
		four("tcp_inuse", "1", 5), four("tcp_orphan", "1", 0), four("tcp_tw", "1", 3),
		four("tcp_alloc", "1", 9), four("tcp_mem", "pages", 5000000000),
		four("udp_inuse", "1", 2), four("udp_mem", "pages", 1), four("frag_inuse", "1", 0),
		four("frag_memory", "bytes", 4096),
		six("tcp6_inuse", "1", 7), six("frag6_memory", "bytes", 0)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if c := want[0]; c.Name != "sockstat sockets_used" || c.Metric != "sockstat_sockets_used" ||
		c.Kind != measure.Gauge {
		t.Errorf("%+v", c)
	}
	mem, err := ReadTCPMem(fixture(t, "after"))
	limit := func(name string, v uint64) measure.Count {
		return level("tcp_mem", name, "pages", "/proc/sys/net/ipv4/tcp_mem", v)
	}
	if d := cmp.Diff([]measure.Count{limit("low", 287901), limit("pressure", 383868), limit("high", 575802)},
		mem); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if mem, err := ReadTCPMem(fixture(t, "before")); mem != nil || err != nil {
		t.Errorf("a namespace that does not show it: %v, %v", mem, err)
	}
}

func TestReadSockstatHere(t *testing.T) {
	all, err := ReadSockstat(FS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sockets_used", "tcp_inuse", "tcp_mem"} {
		found := false
		for _, l := range all {
			found = found || l.Metric == "sockstat_"+want
		}
		if !found {
			t.Errorf("no %s in %+v", want, all)
		}
	}
}

func TestParseSockstatRefuses(t *testing.T) {
	for _, s := range []string{"TCP inuse 1\n", "TCP: inuse\n", "TCP: inuse x\n", ": a 1\n", "TCP: in\x1bse 1\n",
		"TCP: inuse 99999999999999999999999\n",
		"TCP:" + strings.Repeat(" a 1", mostLevels+1) + "\n"} {
		if got, err := parseSockstat(strings.NewReader(s), "f"); err == nil {
			t.Errorf("%.60q: %d levels", s, len(got))
		}
	}
	for _, s := range []string{"", "1 2", "1 2 3 4", "1 x 3", "-1 2 3"} {
		if got, err := parseTCPMem(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
	if got, err := parseSockstat(strings.NewReader("TCP: inuse -1\n"), "f"); err != nil || len(got) != 1 ||
		got[0].Value != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzParseSockstat(f *testing.F) {
	f.Add([]byte("sockets: used 290\nTCP: inuse 5 mem 3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := parseSockstat(bytes.NewReader(b), "f")
		if err == nil && len(all) > min(len(b), mostLevels) {
			t.Error("more levels than there may be")
		}
		for _, l := range all {
			for _, c := range []byte(l.Metric) {
				if c != '_' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
					t.Fatalf("the name %q", l.Metric)
				}
			}
		}
		_, _ = parseTCPMem(string(b))
	})
}
