// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// netperf moves one flow. Its server is told not to fork: the time of a child that it does not
// wait for would be in nobody's figure. Its memory begins at pages, as ours does: unless told
// otherwise it begins 8 bytes or more behind, where some processors copy three times as slowly.
func (t Tools) netperf(l Load) Contender {
	return Contender{
		Name: "netperf",
		Receiver: func(addr string, port int) []string {
			return []string{t.Netserver, "-D", "-f", "-N", "-4", "-L", addr, "-p", strconv.Itoa(port)}
		},
		Sender: func(addr string, port int) []string {
			size := strconv.Itoa(l.Size)
			return []string{t.Netperf, "-4", "-H", addr, "-p", strconv.Itoa(port), "-t", "TCP_STREAM", "-l",
				strconv.Itoa(int(t.Duration / time.Second)), "-P", "0", "-f", "m",
				"-a", aligned, "-A", aligned, "--", "-m", size, "-M", size, "-P", "," + strconv.Itoa(port+dataPorts),
				"-K", t.Congestion, "-k", "THROUGHPUT,THROUGHPUT_UNITS,REMOTE_BYTES_RECVD"}
		},
		Outcome:      func(_, sender []byte) (Flow, error) { return parseNetperf(sender) },
		ReceiverCPUs: t.ReceiverCPUs, SenderCPUs: t.SenderCPUs,
		Stays: true,
	}
}

// aligned is where the memory of netperf's ends begins, sent and received.
const aligned = "4096,4096"

// parseNetperf reads what netperf wrote: what the server received, and at which rate; its
// elapsed time is rounded more.
func parseNetperf(b []byte) (Flow, error) {
	kv := parseKeyvals(b)
	bytes, err := kv.positive("REMOTE_BYTES_RECVD")
	var rate float64
	if err == nil {
		rate, err = kv.positive("THROUGHPUT")
	}
	if unit := kv["THROUGHPUT_UNITS"]; err == nil && unit != "10^6bits/s" {
		err = fmt.Errorf("THROUGHPUT_UNITS is %q, want 10^6bits/s", unit)
	}
	if err != nil {
		return Flow{}, fmt.Errorf("read what netperf wrote: %s", plaintext.Line(err.Error()))
	}
	return Flow{Bytes: uint64(bytes), Seconds: bytes * 8 / (rate * 1e6)}, nil
}
