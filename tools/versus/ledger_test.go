// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// endJSON is what an end of ours writes, with figures of its datagrams.
func endJSON(mode string, figures map[string]int) []byte {
	rows := []string{`{"metric":"strangers","unit":"1","value":0}`}
	for name, n := range figures {
		rows = append(rows, fmt.Sprintf(`{"metric":"packets_%s","unit":"packets","value":%d,"source":"counters: x"}`,
			name, n))
	}
	return fmt.Appendf(nil, `{"mode":%q,"verdict":"ok","bytes":6400,"duration_s":2,"metrics":[%s]}`, mode,
		strings.Join(rows, ","))
}

// A run of ours whose datagrams are not all accounted for is not taken.
func TestCheckLedger(t *testing.T) {
	type figures = map[string]int
	none := plan.Cell{RX: "udp", TX: "udp"}
	trips := plan.Cell{RX: "udp", TX: "udp-rr"}
	for name, x := range map[string]struct {
		cell   plan.Cell
		rx, tx figures
		want   string
	}{
		"all came": {none, figures{"sent": 100, "received": 100}, figures{"sent": 100}, ""},
		"lost at the socket": {none, figures{"sent": 100, "received": 60, "counted_udp_rcvbuf_errors": 40},
			figures{"sent": 100}, ""},
		"at both ends": {none, figures{"sent": 100, "received": 60, "counted_udp_rcvbuf_errors": 30},
			figures{"sent": 100, "counted_tx_dropped": 10}, ""},
		"in no counter": {none, figures{"sent": 100, "received": 60, "counted_udp_rcvbuf_errors": 30},
			figures{"sent": 100}, "invalid: 40 packets were lost; no counter shows where 10"},
		"in too many": {none, figures{"sent": 100, "received": 60, "counted_udp_rcvbuf_errors": 41},
			figures{"sent": 100}, "counters show 1 more"},
		"another number": {none, figures{"sent": 99, "received": 60}, figures{"sent": 100}, "told the receiver 99"},
		"no account":     {none, figures{"sent": 100, "received": 100}, nil, "zcsend's JSON: no account"},
		"more than were": {none, figures{"received": 101}, figures{"sent": 100},
			"100 packets sent, and 101 received"},
		"round trips": {trips, figures{"sent": 9, "received": 9, "answers": 9}, figures{"sent": 9, "answers": 9},
			""},
		"an answer lost": {trips, figures{"sent": 9, "received": 9, "answers": 9}, figures{"sent": 9, "answers": 8},
			"no counter shows where 1"},
	} {
		err := checkLedger(x.cell, endJSON(x.cell.RX, x.rx), endJSON(x.cell.TX, x.tx))
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	good := endJSON("udp", figures{"sent": 1, "received": 1})
	for want, ends := range map[string][2][]byte{"mode tcp": {endJSON("tcp", nil), good},
		"zcsend's JSON": {good, []byte("{")}} {
		if err := checkLedger(none, ends[0], ends[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What our datagrams are read by asks for their account.
func TestSmallReadsLedger(t *testing.T) {
	way := Tools{ReceiverCPUs: []int{1}, SenderCPUs: []int{0}}.zcbenchUDP("udp", 1)
	for lost, ok := range map[int]bool{0: true, 10: false} {
		n, _, _, err := way.read(endJSON("udp", map[string]int{"sent": 100 + lost, "received": 100}),
			endJSON("udp", map[string]int{"sent": 100 + lost}))
		if (err == nil) != ok || ok && n != 100 {
			t.Errorf("%d lost: %g, %v", lost, n, err)
		}
	}
}
