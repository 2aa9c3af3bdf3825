// SPDX-License-Identifier: MIT

package agent

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

func TestInterfacesHaveLoopback(t *testing.T) {
	is, err := interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range is {
		if i.Loopback {
			if i.Name != "lo" || i.MTU == 0 || i.Up && (len(i.Addrs) == 0 || i.Addrs[0] != "127.0.0.1") {
				t.Errorf("loopback: %+v", i)
			}
			return
		}
	}
	t.Errorf("no loopback interface in %+v", is)
}

func TestRoute(t *testing.T) {
	c := greeted(t)
	var r wire.Route
	c.ok(wire.OpRoute, wire.RouteParams{Addr: "127.0.0.1"}, &r)
	if r.Dev != "lo" {
		t.Errorf("127.0.0.1 is reached by %q", r.Dev)
	}
	c.refused(wire.OpRoute, wire.RouteParams{Addr: "hosta"}, `"hosta" is not an address`)
	c.refused(wire.OpRoute, nil, "parameters missing")
}

// The CPUs next to an interface are of this machine.
func TestInterfacesHaveCPUs(t *testing.T) {
	is, err := interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range is {
		if len(i.NearCPUs) == 0 || slices.ContainsFunc(i.NearCPUs, func(c int) bool { return checkOnline(c) != nil }) {
			t.Errorf("%s: CPUs %v", i.Name, i.NearCPUs)
		}
	}
}

func checkOnline(cpu int) error {
	return endpoint.Check(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"}, Addr: "127.0.0.1:0",
		Flows: wire.OneFlow(cpu)})
}
