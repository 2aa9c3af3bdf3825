// SPDX-License-Identifier: MIT

package agent

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// Who has no route is told by the state of the interfaces: one that is down needs no address.
func TestIntegrationNoRoute(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dev, other := p.TG.Dev, p.SUT.IPv4.String()
	up := func(up bool) {
		t.Helper()
		if err := p.TG.Netns.Do(func() error {
			c, err := rtnl.Dial()
			if err != nil {
				return err
			}
			defer c.Close()
			i, err := net.InterfaceByName(dev)
			if err != nil {
				return err
			}
			return c.SetUp(i.Index, up)
		}); err != nil {
			t.Fatal(err)
		}
	}
	fix := func(to string) (fix string) {
		t.Helper()
		_ = p.TG.Netns.Do(func() error {
			_, err := route(to)
			if err == nil {
				t.Errorf("a route to %s", to)
			}
			fix = fault.Fix(err)
			return nil
		})
		return fix
	}
	if got := fix("203.0.113.1"); !strings.Contains(got, "give the interface on the wire an address") ||
		strings.Contains(got, "down") {
		t.Errorf("up, and no address: %q", got)
	}
	up(false)
	if got, want := fix(other), "the interface "+dev+", in whose network "+other+" is, is down: ip link set "+dev+
		" up (ip -br link shows it)"; got != want {
		t.Errorf("down: %q, want %q", got, want)
	}
	if got := fix("203.0.113.1"); !strings.HasPrefix(got, "no interface is up; down: "+dev+
		": ip link set DEV up; then") {
		t.Errorf("down, and no address: %q", got)
	}
	up(true)
	ns, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	_ = ns.Do(func() error {
		if _, err := route(other); !strings.Contains(fault.Fix(err), "no interface but loopback") {
			t.Errorf("an empty namespace: %q", fault.Fix(err))
		}
		return nil
	})
}
