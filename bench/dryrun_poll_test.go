// SPDX-License-Identifier: MIT

package bench

import (
	"maps"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// The dry run tells how NAPI is set, of which queues, at which end.
func TestDryRunOfPolls(t *testing.T) {
	o := Options{SUTDev: "eth0"}
	o.rxQueues[index(stream.RX)] = []int{0, 1, 2, 3}
	for _, x := range []struct {
		c    plan.Cell
		role stream.Role
		want map[string]string
	}{
		{plan.Cell{RX: "tcp", TX: "tcp"}, stream.RX, nil},
		{plan.Cell{RX: "tcp", TX: "tcp", BusyPollUs: 50}, stream.RX, nil},
		{plan.Cell{RX: "tcp", TX: "tcp", Poll: plan.PollBusy}, stream.TX, nil},
		{plan.Cell{RX: "tcp", TX: "rr", Poll: plan.PollSuspend}, stream.TX, map[string]string{
			"eth0: NAPI of every RX queue": "defer-hard-irqs 100, gro-flush-timeout 50000, irq-suspend-timeout 20000000"}},
		{plan.Cell{RX: "zcrx", TX: "tcp", Poll: plan.PollThreaded}, stream.RX, map[string]string{
			"eth0: NAPI of RX queue 3": "threaded on, threads bound"}},
	} {
		s := &collected{values: map[string][]string{}, counts: map[string]int{}}
		s.ofPoll(x.role, x.c, "eth0", o)
		got := map[string]string{}
		for name, v := range s.values {
			got[name] = v[0]
		}
		if !maps.Equal(got, x.want) {
			t.Errorf("%+v at %s: %q, want %q", x.c, x.role, got, x.want)
		}
	}
}
