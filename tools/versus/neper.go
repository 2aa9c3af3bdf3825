// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// dataPorts is how far neper's and netperf's data port is from their control port.
const dataPorts = ports

// neper moves flows by its tcp_stream, each in a thread of its own.
func (t Tools) neper(l Load) Contender {
	common := func(addr string, port int, more ...string) []string {
		n, p := strconv.Itoa(l.Flows), strconv.Itoa
		// A sample each 10 ms: what it received before the first and after the last is in no
		// figure.
		return append([]string{t.Neper, "--nolog", "-4", "-H", addr, "-C", p(port), "-P", p(port + dataPorts), "-F",
			n, "-T", n,
			"-B", p(l.Size), "-l", p(int(t.Duration / time.Second)), "-I", "0.01", "--congestion-control",
			t.Congestion}, more...)
	}
	c := Contender{
		Name:         "neper",
		Receiver:     func(addr string, port int) []string { return common(addr, port) },
		Sender:       func(addr string, port int) []string { return common(addr, port, "-c") },
		Outcome:      func(receiver, _ []byte) (Flow, error) { return parseNeper(receiver) },
		ReceiverCPUs: t.ReceiverCPUs, SenderCPUs: t.SenderCPUs,
	}
	if l.Flows > 1 {
		c.Name = fmt.Sprintf("neper -F %d -T %[1]d", l.Flows)
	}
	return c
}

// parseNeper reads what neper's server wrote: its rate, in bit/s, is of the time from the first
// sample to the last, and of all flows.
func parseNeper(b []byte) (Flow, error) {
	kv := parseKeyvals(b)
	rate, err := kv.positive("local_throughput")
	var from, to float64
	if err == nil {
		from, err = kv.positive("time_start")
	}
	if err == nil {
		to, err = kv.positive("time_end")
	}
	if err == nil && !(to > from && to-from < 1e6) {
		err = fmt.Errorf("it began at %v s and ended at %v s", from, to)
	}
	if err == nil && rate/8*(to-from) >= 1<<63 {
		err = fmt.Errorf("%v bit/s are too many", rate)
	}
	if err != nil {
		return Flow{}, fmt.Errorf("read what neper wrote: %s", plaintext.Line(err.Error()))
	}
	return Flow{Bytes: uint64(rate / 8 * (to - from)), Seconds: to - from}, nil
}
