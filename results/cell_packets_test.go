// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"strings"
	"testing"
)

// A rate without loss is looked for of packets alone, and searches have figures that can be.
func TestCheckLossFree(t *testing.T) {
	for name, x := range map[string]struct {
		c    Cell
		want string
	}{
		"datagrams":   {Cell{RX: "udp", TX: "udp", LossFree: true}, ""},
		"frames":      {Cell{RX: "xdp-drop", TX: "pktgen-xdp", LossFree: true}, ""},
		"a stream":    {Cell{RX: "tcp", TX: "tcp", LossFree: true}, "carries a stream"},
		"round trips": {Cell{RX: "udp", TX: "udp-rr", LossFree: true}, "rr_rate"},
	} {
		err := x.c.CheckLossFree()
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := x.c.Check(); (err == nil) != (x.want == "") {
			t.Errorf("%s: check says %v", name, err)
		}
	}
	var none *LossFree
	for _, f := range []*LossFree{none, {Trials: 1}, {Trials: 3, Passed: 3, PacketsPerS: 5, FailedAt: 6, MaxLoss: .1}} {
		if err := f.Check(); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []LossFree{{}, {Trials: 1, Passed: 2}, {Trials: 1, PacketsPerS: math.Inf(1)},
		{Trials: 1, FailedAt: -1}, {Trials: 1, MaxLoss: 1}, {Trials: 1, Inconclusive: -1}} {
		if f.Check() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}
