// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParseSmall(t *testing.T) {
	type read func([]byte) (n, rate float64, p50 *float64, err error)
	netperf := Tools{}.netperfRR("UDP_RR", "18").read
	stream := Tools{}.netperfUDP().read
	for name, x := range map[string]struct {
		read read
		text string
		n    float64
		rate float64
		p50  float64
		want string // of the error
	}{
		"zcsend": {parseTrips, `{"verdict":"ok","transactions":1000,"transactions_per_s":500,` +
			`"round_trip":{"count":1000,"p50_us":20.5}}`, 1000, 500, 20.5, ""},
		"zcsend fails": {parseTrips, `{"verdict":"failed","reason":"no route"}`, 0, 0, 0, "no route"},
		"zcsend moved": {parseTrips, `{"verdict":"ok","bytes":1000}`, 0, 0, 0, "no round trips"},
		"cut off":      {parseTrips, `{"verdict":`, 0, 0, 0, "JSON"},
		"netperf": {func(b []byte) (float64, float64, *float64, error) { return netperf(nil, b) },
			"THROUGHPUT=500\nELAPSED_TIME=2.00\nP50_LATENCY=21\n", 1000, 500, 21, ""},
		"netperf without": {func(b []byte) (float64, float64, *float64, error) { return netperf(nil, b) },
			"THROUGHPUT=500\nELAPSED_TIME=2.00\n", 0, 0, 0, "P50_LATENCY"},
		"netperf stands": {func(b []byte) (float64, float64, *float64, error) { return netperf(nil, b) },
			"THROUGHPUT=0.00\nELAPSED_TIME=2.00\nP50_LATENCY=1\n", 0, 0, 0, "THROUGHPUT"},
		"neper": {func(b []byte) (float64, float64, *float64, error) { return parseNeperCRR(b) },
			"num_transactions=1000\nthroughput=500.00\n", 1000, 500, 0, ""},
		"neper without": {func(b []byte) (float64, float64, *float64, error) { return parseNeperCRR(b) },
			"throughput=500.00\n", 0, 0, 0, "num_transactions"},
		"UDP_STREAM": {func(b []byte) (float64, float64, *float64, error) { return stream(nil, b) },
			"REMOTE_RECV_CALLS=800\nELAPSED_TIME=2.00\n", 800, 400, 0, ""},
		"iperf3": {parseIperf3UDP, `{"end":{"sum":{"seconds":2,"packets":1000,"lost_packets":200}}}`, 800, 400,
			0, ""},
		"iperf3 fails": {parseIperf3UDP, `{"error":"unable\u001b to connect"}`, 0, 0, 0, "iperf3: unable"},
		"iperf3 lost all": {parseIperf3UDP, `{"end":{"sum":{"seconds":2,"packets":10,"lost_packets":10}}}`, 0, 0, 0,
			"10 datagrams less 10"},
	} {
		n, rate, p50, err := x.read([]byte(x.text))
		switch {
		case x.want != "":
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: %v, want %q", name, err, x.want)
			}
		case err != nil || n != x.n || rate != x.rate || (p50 == nil) != (x.p50 == 0) || p50 != nil && *p50 != x.p50:
			t.Errorf("%s: %g, %g, %v, %v", name, n, rate, p50, err)
		}
	}
}

// Each way of small messages says the same size, and has a name that tells it from the other.
func TestSmallPairs(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range (Tools{NeperCRR: "tcp_crr", ReceiverCPUs: []int{1}, SenderCPUs: []int{0}}).smallPairs() {
		if seen[p.Name] || p.Ours.Name == p.Theirs.Name {
			t.Errorf("%s: %s, %s", p.Name, p.Ours.Name, p.Theirs.Name)
		}
		seen[p.Name] = true
		size := "64"
		switch {
		case strings.HasPrefix(p.Name, "tcp rr"), strings.HasPrefix(p.Name, "tcp crr"):
			size = "1"
		case strings.HasPrefix(p.Name, "udp rr"):
			size = "18"
		}
		for _, w := range []smallWay{p.Ours, p.Theirs} {
			line := strings.Join(w.Sender("10.0.0.1", 5201), " ")
			if !strings.Contains(line, " "+size+" ") && !strings.Contains(line, " "+size+","+size+" ") {
				t.Errorf("%s: no size %s in %s", p.Name, size, line)
			}
		}
	}
}

// Of two builds each is asked to do the same, and each comparison with a rival has its like.
func TestSmallBuilds(t *testing.T) {
	ours, theirs := Tools{Zcsend: "/new/zcsend", ReceiverCPUs: []int{1}, SenderCPUs: []int{0}},
		Tools{Zcsend: "/old/zcsend", ReceiverCPUs: []int{1}, SenderCPUs: []int{0}}
	builds := smallBuilds(ours, theirs)
	for _, p := range builds {
		a, b := p.Ours.Sender("10.0.0.1", 5201), p.Theirs.Sender("10.0.0.1", 5201)
		if a[0] != "/new/zcsend" || b[0] != "/old/zcsend" || !slices.Equal(a[1:], b[1:]) ||
			p.Ours.Name == p.Theirs.Name {
			t.Errorf("%s: %s %q, %s %q", p.Name, p.Ours.Name, a, p.Theirs.Name, b)
		}
	}
	for _, p := range ours.smallPairs() {
		if !slices.ContainsFunc(builds, func(b smallPair) bool {
			return strings.HasPrefix(p.Name, b.Name) &&
				b.Ours.Name == p.Ours.Name
		}) {
			t.Errorf("%s: no such comparison of builds", p.Name)
		}
	}
}
