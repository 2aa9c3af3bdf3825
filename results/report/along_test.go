// SPDX-License-Identifier: MIT

package report

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
)

// Steps of several runs are those of the path, in its order, with medians; what counters tell of is
// beside the loss, and what none tells of is said.
func TestAlongThePath(t *testing.T) {
	path := func(lost, told int64) *results.AlongPath {
		step := func(from, to int, lost, untold int64, told ...results.PathLoss) results.PathStep {
			return results.PathStep{From: from, To: to, Left: "rx", Came: "tx", Sent: new(uint64(1000)),
				Arrived: new(uint64(1000 - lost)), Skew: new(uint64(2)),
				Lost: &lost, LostLeast: new(lost - 1), LostMost: new(lost + 1), UntoldLeast: &untold,
				UntoldMost: new(untold + 2), Told: told}
		}
		return &results.AlongPath{Seconds: 1, Interfaces: []results.PathHop{{Name: "tg:eth0"}, {Name: "br\x1b0"},
			{Name: "sut:eth0"}},
			Between: []results.PathStep{step(1, 2, 0, 0),
				step(2, 3, lost, lost-told, results.PathLoss{Counter: "sut:eth0 qdisc drops", Name: "qdisc drops",
					Packets: uint64(told)})}}
	}
	steps := alongSteps([]*results.AlongPath{path(10, 10), path(30, 12), path(20, 11)})
	if len(steps) != 2 || steps[0].Where != "tg:eth0 rx -> br\x1b0 tx" || steps[1].Lost.Median != 20 ||
		steps[1].Untold.Median != 9 || len(steps[1].Told) != 1 || steps[1].Told[0].Packets.Median != 11 {
		t.Fatalf("%+v", steps)
	}
	var b strings.Builder
	w := screen.NewWriter(&b)
	writeAlong(w, []alongCell{{Cell: "udp/udp", Steps: steps}})
	w.Flush()
	for _, want := range []string{"Along the path", "udp/udp", "1000         20         19         21",
		"sut:eth0 qdisc drops 11; at least 9 that no counter tells"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	more := alongSteps([]*results.AlongPath{path(-5, 0)})
	if why := more[1].Why(); !strings.Contains(why, "more arrived than were sent") {
		t.Errorf("of -5 lost: %q", why)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
