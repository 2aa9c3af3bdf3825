// SPDX-License-Identifier: MIT

package plan

import (
	"strings"
	"testing"
	"time"
)

// At a rate each flow has a request in the window. What is said to do instead helps.
func TestCheckRequests(t *testing.T) {
	for _, x := range []struct {
		cell   Cell
		window time.Duration
		want   string
	}{
		{Cell{RX: "tcp", TX: "rr", Flows: 64, RRRate: 10}, 2 * time.Second,
			"rr_rate 10: 20 requests are due in 2s, of all flows together, and each of 64 flows needs one: " +
				"ask for 32 or more, or measure for 6.4s or longer, or use at most 20 flows"},
		{Cell{RX: "tcp", TX: "rr", Flows: 64, RRRate: 32}, 2 * time.Second, ""},
		{Cell{RX: "tcp", TX: "rr", Flows: 64, RRRate: 10}, 6400 * time.Millisecond, ""},
		{Cell{RX: "tcp", TX: "rr", Flows: 20, RRRate: 10}, 2 * time.Second, ""},
		{Cell{RX: "udp", TX: "udp-rr", Flows: 3, RRRate: 10}, 100 * time.Millisecond,
			"ask for 30 or more, or measure for 300ms or longer, or use at most 1 flows"},
		{Cell{RX: "tcp", TX: "rr", RRRate: 1}, 500 * time.Millisecond,
			"each of 1 flows needs one: ask for 2 or more, or measure for 1s or longer"},
		{Cell{RX: "tcp", TX: "rr", Flows: 64, RRRate: 10}, 0, ""},
		{Cell{RX: "tcp", TX: "rr", Flows: 64}, time.Second, ""},
		{Cell{RX: "tcp", TX: "tcp", Flows: 64, RRRate: 10}, time.Second, ""}, // of no mode of it
	} {
		err := x.cell.CheckRequests(x.window)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%d flows, rate %d, %v: %v, want %q", x.cell.NFlows(), x.cell.RRRate, x.window, err, x.want)
		}
	}
}
