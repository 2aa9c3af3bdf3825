// SPDX-License-Identifier: MIT

package xdp

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// of Linux 7.3.4, shortened.
const pktgenText = `Params: count 1000  min_pkt_size: 60  max_pkt_size: 60
     frags: 0  delay: 0  clone_skb: 0  ifname: zctg@0
     flows: 0 flowlen: 0
Current:
     pkts-sofar: 958  errors: 42
     started: 11us  stopped: 99us idle: 3us
Result: OK: 88(c85+d3) usec, 958 (60byte,0frags)
`

func TestParsePktgen(t *testing.T) {
	if sent, refused, err := parsePktgen([]byte(pktgenText)); err != nil || sent != 958 || refused != 42 {
		t.Errorf("%d, %d, %v", sent, refused, err)
	}
	for _, bad := range []string{"", "Params: count 5\n", "     pkts-sofar: -1  errors: 0\n",
		"pkts-sofar: 1 errors: 99999999999999999999999\n", "\x1b[2J"} {
		if _, _, err := parsePktgen([]byte(bad)); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParsePktgen(f *testing.F) {
	f.Add([]byte(pktgenText))
	f.Fuzz(func(t *testing.T, b []byte) {
		sent, refused, err := parsePktgen(b)
		if err != nil && (sent != 0 || refused != 0) {
			t.Errorf("%d and %d with %v", sent, refused, err)
		}
	})
}

// What pktgen is told makes the frames that rungs know.
func TestPktgenCommands(t *testing.T) {
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	g := &kernelGenerator{GeneratorOptions: GeneratorOptions{Dev: "eth0", Tuples: tuples(), FrameBytes: 60,
		CPUs: []int{1, 3}, Rate: 5000, Burst: 1}, peer: mac}
	for _, want := range []string{"count 0", "pkt_size 60", "udp_src_min 40000", "udp_src_max 40004",
		"udp_dst_min 7719", "udp_dst_max 7719", "dst 10.77.0.1", "src_min 10.77.0.2", "delay 400000",
		"dst_mac 02:00:00:00:00:01"} {
		if !slices.Contains(g.commands(mac), want) {
			t.Errorf("no %q in %q", want, g.commands(mac))
		}
	}
	if slices.ContainsFunc(g.commands(mac), func(s string) bool {
		return strings.HasPrefix(s, "burst") ||
			strings.HasPrefix(s, "flag UDPCSUM")
	}) {
		t.Errorf("%q", g.commands(mac))
	}
	g.Tuples, g.Burst, g.Rate = tuples6(), 8, 0
	g.Tuples.Ports = 1
	for _, want := range []string{"flag UDPCSUM", "src6 fd00:77::2", "dst6 fd00:77::1", "burst 8",
		"udp_src_max 40000"} {
		if !slices.Contains(g.commands(mac), want) {
			t.Errorf("no %q in %q", want, g.commands(mac))
		}
	}
	last := tuples()
	last.FirstPort, last.Ports = 65535, 1
	if err := (&kernelGenerator{GeneratorOptions: GeneratorOptions{Dev: "lo", Tuples: last,
		FrameBytes: 60}}).open(); err == nil {
		t.Error("loopback is taken")
	}
}

// A pace is that of the packets, however many leave together and on however many CPUs: pktgen waits
// once for a burst. What it cannot keep is refused.
func TestPktgenPace(t *testing.T) {
	for _, x := range []struct {
		rate        float64
		cpus, burst int
		want        uint64
	}{{1e6, 1, 1, 1000}, {1e6, 1, 0, 1000}, {1e6, 1, 8, 8000}, {1e6, 4, 8, 32000}, {3e6, 1, 1, 333}, {7e6, 1, 1, 143},
		{6e8, 1, 1, 2}, {1e9, 1, 1, 1}, {1, 2, 1, 2e9}, {1, 1, 3, 0}, {1, 64, 1, 0}} {
		g := &kernelGenerator{GeneratorOptions: GeneratorOptions{Dev: "eth0", Tuples: tuples(), FrameBytes: 60,
			CPUs: make([]int, x.cpus), Rate: x.rate, Burst: x.burst}}
		if err := g.checkRate(); (err != nil) != (x.want == 0) || err != nil && fault.Fix(err) == "" {
			t.Errorf("%+v: %v", x, err)
		}
		if x.want > 0 && g.delay() != x.want {
			t.Errorf("%+v: every %d ns", x, g.delay())
		}
	}
	g := &kernelGenerator{GeneratorOptions: GeneratorOptions{CPUs: []int{0}}}
	if g.checkRate() != nil || slices.ContainsFunc(g.commands(nil),
		func(s string) bool { return strings.HasPrefix(s, "delay") && s != "delay 0" }) {
		t.Error("without a pace it waits")
	}
}

// What pktgen has as errors is in tx_dropped where the driver is known to count it there.
func TestDroppedOfSent(t *testing.T) {
	for _, x := range []struct {
		driver                 string
		dropped, refused, want uint64
	}{{"veth", 100, 30, 70}, {"veth", 100, 0, 100}, {"veth", 20, 30, 0}, {"virtio_net", 100, 30, 100},
		{"", 100, 30, 100}} {
		if got := droppedOfSent(x.driver, x.dropped, x.refused); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}
