// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// iperf3 moves flows; extra are further client options. It is confined to its CPUs from
// outside: its own -A takes one CPU an end.
func (t Tools) iperf3(l Load, extra ...string) Contender {
	if l.Flows > 1 {
		extra = append([]string{"-P", strconv.Itoa(l.Flows)}, extra...)
	}
	return Contender{
		Name: strings.Join(append([]string{"iperf3"}, extra...), " "),
		Receiver: func(addr string, port int) []string {
			return []string{t.Iperf3, "-s", "-1", "-B", addr, "-p", strconv.Itoa(port)}
		},
		Sender: func(addr string, port int) []string {
			return append([]string{t.Iperf3, "-c", addr, "-p", strconv.Itoa(port), "-J", "-l", strconv.Itoa(l.Size),
				"-C", t.Congestion,
				"-t", strconv.Itoa(int(t.Duration / time.Second)), "--connect-timeout", "5000"}, extra...)
		},
		Outcome:      func(_, sender []byte) (Flow, error) { return parseIperf3(sender) },
		ReceiverCPUs: t.ReceiverCPUs, SenderCPUs: t.SenderCPUs,
	}
}

var iperfVersion = regexp.MustCompile(`^iperf (\d{1,4})\.(\d{1,4})`)

// threaded refuses an iperf3 without a thread for each flow, which it has from 3.16 on. One thread
// for all is another thing.
func (t Tools) threaded() error {
	m := iperfVersion.FindStringSubmatch(t.IperfVersion)
	if m == nil {
		return fmt.Errorf("%q is not a known version of iperf3", t.IperfVersion)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 3 || major == 3 && minor < 16 {
		return fmt.Errorf("%s has one thread for all flows: build 3.16 or later, and name it with --iperf3",
			t.IperfVersion)
	}
	return nil
}
