// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// What is compared: the socket buffers of datagrams, of both ends and all tools, and their size.
const (
	smallBuffer = 4 << 20
	smallBytes  = 64
)

// smallPairs lists all comparisons.
func (t Tools) smallPairs() []smallPair {
	udp := func(tx string, batch int, what string, least float64) (ps []smallPair) {
		for _, theirs := range []smallWay{t.netperfUDP(), t.iperf3UDP()} {
			ps = append(ps, smallPair{Name: what + " " + theirs.Name, Ours: t.zcbenchUDP(tx, batch), Theirs: theirs,
				Rate: stat.AtLeast(least, least)})
		}
		return ps
	}
	all := []smallPair{
		{Name: "tcp rr", Ours: t.zcbenchRR("tcp", "rr", "1"), Theirs: t.netperfRR("TCP_RR", "1"),
			P50: stat.AtMost(1.05), CPU: stat.AtMost(1), trips: true},
		{Name: "udp rr", Ours: t.zcbenchRR("udp", "udp-rr", "18"), Theirs: t.netperfRR("UDP_RR", "18"),
			P50: stat.AtMost(1.05), CPU: stat.AtMost(1), trips: true},
	}
	crr := func(theirs smallWay) {
		all = append(all, smallPair{Name: "tcp crr " + theirs.Name, Ours: t.zcbenchRR("tcp", "crr", "1"),
			Theirs: theirs,
			Rate:   stat.AtLeast(1, 1), CPU: stat.AtMost(1.05)})
	}
	crr(t.netperfRR("TCP_CRR", "1"))
	if t.NeperCRR != "" {
		crr(t.neperCRR("1"))
	}
	return slices.Concat(all, udp("udp", 1, "udp single", .95), udp("udp", 64, "udp sendmmsg", 1),
		udp("udp-gso", 64, "udp gso", 1.3))
}

// smallBuilds lists all ways of ours, by two builds, without targets.
func smallBuilds(ours, theirs Tools) (ps []smallPair) {
	for _, of := range []struct {
		name  string
		way   func(Tools) smallWay
		trips bool
	}{
		{"tcp rr", func(t Tools) smallWay { return t.zcbenchRR("tcp", "rr", "1") }, true},
		{"tcp crr", func(t Tools) smallWay { return t.zcbenchRR("tcp", "crr", "1") }, false},
		{"udp rr", func(t Tools) smallWay { return t.zcbenchRR("udp", "udp-rr", "18") }, true},
		{"udp single", func(t Tools) smallWay { return t.zcbenchUDP("udp", 1) }, false},
		{"udp sendmmsg", func(t Tools) smallWay { return t.zcbenchUDP("udp", stream.MaxBatch) }, false},
		{"udp gso", func(t Tools) smallWay { return t.zcbenchUDP("udp-gso", stream.MaxBatch) }, false},
	} {
		p := smallPair{Name: of.name, Ours: of.way(ours), Theirs: of.way(theirs), trips: of.trips}
		p.Theirs.Name = "the other build"
		ps = append(ps, p)
	}
	return ps
}

// zcbenchRR makes round trips of size bytes.
func (t Tools) zcbenchRR(rx, tx, size string) smallWay {
	var own, asks []string
	if rx == "udp" {
		own, asks = []string{"--message-size", size, "--udp-batch", "1"}, []string{"--udp-batch", "1"}
	}
	return smallWay{Contender{
		Name: "zcbench " + tx + " -> " + rx,
		Receiver: func(addr string, port int) []string {
			return append([]string{t.Zcrecv, "--mode", rx, "--json", "--cpu", ofThreads(t.ReceiverCPUs, 1),
				"--accept-timeout", "10s", "--listen", fmt.Sprintf("%s:%d", addr, port)}, own...)
		},
		Sender: func(addr string, port int) []string {
			return append(append([]string{t.Zcsend, "--mode", tx, "--json", "--cpu", ofThreads(t.SenderCPUs, 1),
				"--duration", t.Duration.String(), "--request", size, "--response", size}, asks...),
				fmt.Sprintf("%s:%d", addr, port))
		},
		Outcome: smallRefusal,
	}, func(receiver, sender []byte) (n, rate float64, p50 *float64, err error) {
		n, rate, p50, err = parseTrips(sender)
		if err == nil && rx == "udp" {
			err = checkLedger(plan.Cell{RX: rx, TX: tx}, receiver, sender)
		}
		return n, rate, p50, err
	}}
}

// smallRefusal returns the reason why a receiver of ours ended before it listened, as an error.
func smallRefusal(receiver, _ []byte) (Flow, error) {
	var r zcrecvReport
	if json.Unmarshal(receiver, &r) == nil && r.Verdict != "" && r.Verdict != results.OK {
		return Flow{}, fmt.Errorf("zcrecv: %s: %s", r.Verdict, r.Reason)
	}
	return Flow{}, nil
}

// parseTrips reads what zcsend wrote of round trips.
func parseTrips(b []byte) (n, perSecond float64, p50 *float64, err error) {
	var r struct {
		zcrecvReport
		Transactions float64        `json:"transactions"`
		PerSecond    float64        `json:"transactions_per_s"`
		RoundTrip    *results.Times `json:"round_trip"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, 0, nil, fmt.Errorf("read zcsend's JSON: %w", err)
	}
	switch {
	case r.Verdict != results.OK:
		return 0, 0, nil, fmt.Errorf("zcsend: %s: %s", r.Verdict, r.Reason)
	case !(r.Transactions > 0) || r.RoundTrip == nil || r.RoundTrip.P50Us == nil:
		return 0, 0, nil, errors.New("read zcsend's JSON: no round trips in it")
	}
	return r.Transactions, r.PerSecond, r.RoundTrip.P50Us, nil
}

// netperfLine builds netperf's command line for a test, whose own options come last.
func (t Tools) netperfLine(addr string, port int, test string, own ...string) []string {
	return append([]string{t.Netperf, "-4", "-H", addr, "-p", strconv.Itoa(port), "-t", test, "-l",
		strconv.Itoa(int(t.Duration / time.Second)), "-P", "0",
		"--", "-P", "," + strconv.Itoa(port+dataPorts)}, own...)
}

// netperfRR makes round trips. Of datagrams one that is lost ends them all.
func (t Tools) netperfRR(test, size string) smallWay {
	c := t.netperf(Load{})
	c.Name = "netperf " + test
	c.Sender = func(addr string, port int) []string {
		return t.netperfLine(addr, port, test, "-r", size+","+size, "-k", "THROUGHPUT,ELAPSED_TIME,P50_LATENCY")
	}
	return smallWay{c, func(_, sender []byte) (n, rate float64, p50 *float64, err error) {
		v, err := netperfFigures(sender, "THROUGHPUT", "ELAPSED_TIME", "P50_LATENCY")
		if err != nil {
			return 0, 0, nil, err
		}
		return v[0] * v[1], v[0], &v[2], nil
	}}
}

// neperCRR makes a connection for each request, one at a time, by neper's tcp_crr. Without
// --time-wait its client would end each by a reset (SO_LINGER), which takes fewer packets than an
// end does, and leaves nothing to wait after.
func (t Tools) neperCRR(size string) smallWay {
	line := func(addr string, port int, more ...string) []string {
		p := strconv.Itoa
		return append([]string{t.NeperCRR, "--nolog", "-4", "-H", addr, "-C", p(port), "-P", p(port + dataPorts), "-F",
			"1",
			"-T", "1", "-Q", size, "-R", size, "-l", p(int(t.Duration / time.Second))}, more...)
	}
	return smallWay{Contender{
		Name:     "neper tcp_crr",
		Receiver: func(addr string, port int) []string { return line(addr, port) },
		Sender:   func(addr string, port int) []string { return line(addr, port, "-c", "--time-wait") },
		Outcome:  func(_, _ []byte) (Flow, error) { return Flow{}, nil }, ReceiverCPUs: t.ReceiverCPUs,
		SenderCPUs: t.SenderCPUs,
	}, func(_, sender []byte) (n, rate float64, p50 *float64, err error) { return parseNeperCRR(sender) }}
}

// parseNeperCRR reads what neper's client wrote: how many connections, and how many per second.
func parseNeperCRR(b []byte) (n, rate float64, _ *float64, err error) {
	kv := parseKeyvals(b)
	n, err = kv.positive("num_transactions")
	if err == nil {
		rate, err = kv.positive("throughput")
	}
	if err != nil {
		return 0, 0, nil, fmt.Errorf("read what neper wrote: %s", plaintext.Line(err.Error()))
	}
	return n, rate, nil, nil
}

func netperfFigures(text []byte, names ...string) ([]float64, error) {
	kv, out := parseKeyvals(text), make([]float64, len(names))
	for i, name := range names {
		var err error
		if out[i], err = kv.positive(name); err != nil {
			return nil, fmt.Errorf("read what netperf wrote: %s", plaintext.Line(err.Error()))
		}
	}
	return out, nil
}

// zcbenchUDP moves datagrams, so many a call.
func (t Tools) zcbenchUDP(tx string, batch int) smallWay {
	common := func(program, mode, cpus string) []string {
		return []string{program, "--mode", mode, "--json", "--cpu", cpus, "--message-size", strconv.Itoa(smallBytes),
			"--udp-batch", strconv.Itoa(batch),
			"--rcvbuf", strconv.Itoa(smallBuffer), "--sndbuf", strconv.Itoa(smallBuffer), "--duration",
			t.Duration.String()}
	}
	return smallWay{Contender{
		Name: fmt.Sprintf("zcbench %s, %d a call", tx, batch),
		Receiver: func(addr string, port int) []string {
			return append(common(t.Zcrecv, "udp", ofThreads(t.ReceiverCPUs, 1)), "--accept-timeout", "10s", "--listen",
				fmt.Sprintf("%s:%d", addr, port))
		},
		Sender: func(addr string, port int) []string {
			return append(common(t.Zcsend, tx, ofThreads(t.SenderCPUs, 1)), fmt.Sprintf("%s:%d", addr, port))
		},
		Outcome: smallRefusal,
	}, func(receiver, sender []byte) (n, rate float64, _ *float64, err error) {
		f, err := parseZcrecv(receiver)
		if err == nil {
			err = checkLedger(plan.Cell{RX: "udp", TX: tx, MessageBytes: smallBytes, UDPBatch: batch,
				UDPSegment: new(false)}, receiver, sender)
		}
		if err != nil {
			return 0, 0, nil, err
		}
		n = float64(f.Bytes) / smallBytes
		return n, n / f.Seconds, nil, nil
	}}
}

// netperfUDP moves datagrams, one a call.
func (t Tools) netperfUDP() smallWay {
	c := t.netperf(Load{})
	c.Name = "netperf UDP_STREAM"
	c.Sender = func(addr string, port int) []string {
		buffer := strconv.Itoa(smallBuffer)
		return t.netperfLine(addr, port, "UDP_STREAM", "-m", strconv.Itoa(smallBytes), "-s", buffer+","+buffer, "-S",
			buffer+","+buffer, "-k", "REMOTE_RECV_CALLS,ELAPSED_TIME")
	}
	return smallWay{c, func(_, sender []byte) (n, rate float64, _ *float64, err error) {
		v, err := netperfFigures(sender, "REMOTE_RECV_CALLS", "ELAPSED_TIME")
		if err != nil {
			return 0, 0, nil, err
		}
		return v[0], v[0] / v[1], nil, nil
	}}
}

// iperf3UDP moves datagrams, one a call.
func (t Tools) iperf3UDP() smallWay {
	c := t.iperf3(Load{Size: smallBytes, Flows: 1})
	c.Name = "iperf3 -u"
	c.Sender = func(addr string, port int) []string {
		return []string{t.Iperf3, "-c", addr, "-p", strconv.Itoa(port), "-J", "-u", "-b", "0", "-l",
			strconv.Itoa(smallBytes), "-w", strconv.Itoa(smallBuffer),
			"-t", strconv.Itoa(int(t.Duration / time.Second)), "--connect-timeout", "5000"}
	}
	return smallWay{c, func(_, sender []byte) (n, rate float64, _ *float64, err error) {
		return parseIperf3UDP(sender)
	}}
}

// parseIperf3UDP reads what an iperf3 client wrote of datagrams: those that the server received.
func parseIperf3UDP(b []byte) (n, rate float64, _ *float64, err error) {
	var r struct {
		Error string `json:"error"`
		End   struct {
			Sum struct {
				Seconds float64 `json:"seconds"`
				Packets float64 `json:"packets"`
				Lost    float64 `json:"lost_packets"`
			} `json:"sum"`
		} `json:"end"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, 0, nil, fmt.Errorf("read iperf3's JSON: %w", err)
	}
	s := r.End.Sum
	switch n = s.Packets - s.Lost; {
	case r.Error != "":
		return 0, 0, nil, fmt.Errorf("iperf3: %s", plaintext.Line(r.Error))
	case !(n > 0) || !(s.Seconds > 0):
		return 0, 0, nil, fmt.Errorf("read iperf3's JSON: %g datagrams less %g in %g s", s.Packets, s.Lost, s.Seconds)
	}
	return n, n / s.Seconds, nil, nil
}
