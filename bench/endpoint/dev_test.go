// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

func TestFlowDev(t *testing.T) {
	needs := stream.Mode{Name: "zcrx", Traits: stream.NeedsDev}
	for _, c := range []struct {
		path      stream.Mode
		addr, dev string
		want, err string
	}{
		{stream.Mode{}, ":0", "", "", ""},
		{needs, ":0", "eth9", "eth9", ""},
		{needs, "127.0.0.1:0", "", "lo", ""},
		{needs, "0.0.0.0:0", "", "", "--dev"},
		{needs, ":0", "", "", "--dev"},
		{needs, "203.0.113.77:0", "", "", "no interface of this host"},
	} {
		got, err := flowDev(c.path, wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "zcrx"}, Addr: c.addr,
			Dev: c.dev})
		if got != c.want || (err == nil) != (c.err == "") {
			t.Errorf("%q, %q: %q, %v", c.addr, c.dev, got, err)
		}
		var u *UsageError
		if err != nil && (!errors.As(err, &u) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %v does not say %q", c.addr, err, c.err)
		}
	}
}

// A sender's interface is the one that the route leaves by.
func TestFlowDevOfSender(t *testing.T) {
	needs := stream.Mode{Name: "devmem", Traits: stream.NeedsDev}
	addrs := map[string]string{"127.0.0.1:5201": "lo"}
	if _, err := net.LookupHost("localhost"); err == nil { // a bare root has no /etc/hosts
		addrs["localhost:5201"] = "lo"
	}
	for addr, want := range addrs {
		if got, err := flowDev(needs, wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "devmem"},
			Addr: addr}); got != want || err != nil {
			t.Errorf("%s: %q, %v", addr, got, err)
		}
	}
	if _, err := flowDev(needs, wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "devmem"},
		Addr: "no-such-host.invalid:1"}); err == nil {
		t.Error("found an interface to a host that there is not")
	}
}
