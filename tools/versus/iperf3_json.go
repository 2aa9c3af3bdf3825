// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
)

// iperf3Report is the part of iperf3 -J that is read. An iperf3 client that
// failed says so in error, and exits with 0 all the same.
type iperf3Report struct {
	Error string `json:"error"`
	End   struct {
		SumReceived iperf3Sum `json:"sum_received"`
		// The other way, with --bidir.
		Reverse            iperf3Sum `json:"sum_received_bidir_reverse"`
		SenderCongestion   string    `json:"sender_tcp_congestion"`
		ReceiverCongestion string    `json:"receiver_tcp_congestion"`
	} `json:"end"`
}

type iperf3Sum struct {
	Bytes   uint64  `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// parseIperf3 reads what an iperf3 client wrote: the server sends it what it
// received.
func parseIperf3(b []byte) (Flow, error) {
	var r iperf3Report
	if err := json.Unmarshal(b, &r); err != nil {
		return Flow{}, fmt.Errorf("read iperf3's JSON: %w", err)
	}
	if r.Error != "" {
		return Flow{}, fmt.Errorf("iperf3: %s", r.Error)
	}
	s := r.End.SumReceived
	if s.Bytes == 0 || s.Seconds <= 0 {
		return Flow{}, fmt.Errorf("read iperf3's JSON: end.sum_received says %d bytes in %v s", s.Bytes, s.Seconds)
	}
	return Flow{Bytes: s.Bytes + r.End.Reverse.Bytes, Seconds: s.Seconds}, nil
}
