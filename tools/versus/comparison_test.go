// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/results/stat"
)

func tools() Tools {
	return Tools{Iperf3: "iperf3", IperfVersion: "iperf 3.21", Neper: "tcp_stream", Netperf: "netperf",
		Netserver: "netserver", Zcrecv: "zcrecv", Zcsend: "zcsend",
		SenderCPUs: []int{0}, ReceiverCPUs: []int{1}, Congestion: "cubic", Duration: 2 * time.Second}
}

// Every rival runs with every layout, size and number of flows that it can.
func TestComparisons(t *testing.T) {
	cs := comparisons(tools(), Field{Layouts: layouts, Flows: []int{1, 2}, Rivals: rivals})
	count := map[string]int{}
	for _, c := range cs {
		count[strings.Fields(c.Theirs.Name)[0]]++
		if !strings.HasSuffix(c.Name, " "+string(c.Layout)) {
			t.Errorf("%q does not name its layout, %s", c.Name, c.Layout)
		}
	}
	if want := map[string]int{"iperf3": 2 * 2 * 2 * 5, "neper": 2 * 2 * 2 * 2,
		"netperf": 2 * 2 * 2}; fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("comparisons by rival: %v, want %v", count, want)
	}
}

func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		layout    Layout
		flows     int
		speed, of stat.Target
	}{
		{Apart, 1, stat.AtLeast(0.97, 0.97), stat.AtMost(1)},
		{Together, 1, stat.AtLeast(1, 0.97), stat.AtMost(1)},
		{Together, 2, stat.AtLeast(0.95, 0.95), stat.AtMost(1.05)},
	} {
		c := Comparison{}.of(tc.layout, Load{Flows: tc.flows})
		if c.Throughput != tc.speed || c.CPU != tc.of {
			t.Errorf("%s, %d flows: throughput %v, CPU %v", tc.layout, tc.flows, c.Throughput, c.CPU)
		}
	}
}

// zcbench is told of no more CPUs than it has threads: it refuses others.
func TestCPUsOfThreads(t *testing.T) {
	all := tools()
	all.ReceiverCPUs, all.SenderCPUs = cpulist.Flag{1, 2, 3}, cpulist.Flag{4, 5}
	for flows, want := range map[int][2]string{0: {"--cpu 1 ", "--cpu 4 "}, 2: {"--cpu 1,2 ", "--cpu 4,5 "},
		8: {"--cpu 1,2,3 ", "--cpu 4,5 "}} {
		c := all.zcbench("tcp", "tcp", Load{Size: 1, Flows: flows})
		for i, line := range [][]string{c.Receiver("10.0.0.1", 1), c.Sender("10.0.0.1", 1)} {
			if got := strings.Join(line, " "); !strings.Contains(got, want[i]) {
				t.Errorf("%d flows: %s, want %s", flows, got, want[i])
			}
		}
	}
}

// What tools are told is alike: sizes, flows, time, congestion control.
func TestCommandLines(t *testing.T) {
	l := Load{Size: 128 << 10, Flows: 2}
	for _, tc := range []struct {
		c              Contender
		receiver, send string
	}{
		{tools().iperf3(l, "-Z"), "iperf3 -s -1 -B 10.0.0.1 -p 5201",
			"iperf3 -c 10.0.0.1 -p 5201 -J -l 131072 -C cubic -t 2 --connect-timeout 5000 -P 2 -Z"},
		{tools().neper(l), "tcp_stream --nolog -4 -H 10.0.0.1 -C 5201 -P 15201 -F 2 -T 2 -B 131072 -l 2 -I 0.01 " +
			"--congestion-control cubic",
			"tcp_stream --nolog -4 -H 10.0.0.1 -C 5201 -P 15201 -F 2 -T 2 -B 131072 -l 2 -I 0.01 " +
				"--congestion-control cubic -c"},
		{tools().netperf(l), "netserver -D -f -N -4 -L 10.0.0.1 -p 5201",
			"netperf -4 -H 10.0.0.1 -p 5201 -t TCP_STREAM -l 2 -P 0 -f m -a 4096,4096 -A 4096,4096 -- -m 131072 " +
				"-M 131072 -P ,15201 -K cubic -k THROUGHPUT,THROUGHPUT_UNITS,REMOTE_BYTES_RECVD"},
		{tools().zcbench("tcp", "sendfile", l), "zcrecv --mode tcp --json --message-size 131072 --congestion " +
			"cubic --cpu 1 --duration 2s --flows 2 --read-size 131072 --accept-timeout 10s --listen 10.0.0.1:5201",
			"zcsend --mode sendfile --json --message-size 131072 --congestion cubic --cpu 0 --duration 2s " +
				"--flows 2 10.0.0.1:5201"},
		{tools().bothWays(l), "zcrecv --both on --mode tcp --json --message-size 131072 --congestion " +
			"cubic --cpu 1 --duration 2s --flows 2 --read-size 131072 --accept-timeout 10s --listen 10.0.0.1:5201",
			"zcsend --both on --mode tcp --json --message-size 131072 --congestion cubic --cpu 0 --duration 2s " +
				"--flows 2 10.0.0.1:5201"},
	} {
		if got := strings.Join(tc.c.Receiver("10.0.0.1", 5201), " "); got != tc.receiver {
			t.Errorf("%s: receiver\n%s, want\n%s", tc.c.Name, got, tc.receiver)
		}
		if got := strings.Join(tc.c.Sender("10.0.0.1", 5201), " "); got != tc.send {
			t.Errorf("%s: sender\n%s, want\n%s", tc.c.Name, got, tc.send)
		}
	}
}

// One flow is not told to older builds, which do not know the flag.
func TestOneFlowOfAnOlderBuild(t *testing.T) {
	c := tools().zcbench("uring", "tcp", Load{Size: 1 << 20, Flows: 1})
	for _, line := range [][]string{c.Receiver("10.0.0.1", 1), c.Sender("10.0.0.1", 1)} {
		if slices.Contains(line, "--flows") {
			t.Errorf("%q has --flows", line)
		}
	}
}

func TestParseRivals(t *testing.T) {
	got, err := parseRivals([]string{"netperf", "iperf3"})
	if err != nil || !slices.Equal(got, []Rival{Netperf, Iperf3}) {
		t.Errorf("got %v, %v", got, err)
	}
	for in, want := range map[string]string{"nuttcp": "iperf3, neper, netperf", "neper,neper": "twice"} {
		if _, err := parseRivals(strings.Split(in, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", in, err, want)
		}
	}
	if _, err := parseRivals(nil); err == nil {
		t.Error("no rival is taken")
	}
}
