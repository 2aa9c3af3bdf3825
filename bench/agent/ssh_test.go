// SPDX-License-Identifier: MIT

package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/ssh"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
)

// inHost runs f in a namespace with one link, by which ssh would have come.
func inHost(t *testing.T, f func(dev, addr string) error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	t.Setenv(ssh.Env, pair.TG.IPv4.String()+" 50000 "+pair.SUT.IPv4.String()+" 22")
	if err := pair.SUT.Netns.Do(func() error { return f(pair.SUT.Dev, pair.SUT.IPv4.String()) }); err != nil {
		t.Error(err)
	}
}

// An agent that came by ssh neither sets the interface by which it came nor lets a flow use
// it, unless it is told that it may; who came otherwise is not concerned.
func TestGuard(t *testing.T) {
	for _, x := range []struct {
		name   string
		hello  wire.Hello
		refuse bool
	}{
		{"by ssh", wire.Hello{SSH: true}, true},
		{"by ssh, shared", wire.Hello{SSH: true, SharedWithSSH: true}, false},
		{"here, in somebody's login", wire.Hello{}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			inHost(t, func(dev, addr string) error {
				a := &agent{}
				x.hello.Version, x.hello.ToolVersion = wire.Version, version.Tool()
				a.learn(x.hello)
				mtu := plan.Settings{Dev: dev, Values: []plan.Setting{{Name: "mtu", Value: "2000"}}}
				sysctl := plan.Settings{Dev: dev,
					Values: []plan.Setting{{Name: "sysctl net.ipv4.tcp_sack", Value: "1"}}}
				for what, err := range map[string]error{
					"a setting": a.guardSettings(mtu),
					"a flow": a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"},
						Dev: dev, Addr: addr + ":0"}),
					"a flow without its name": a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"},
						Addr: addr + ":0"}),
					"a flow to the peer": a.guardEnd(wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "tcp"},
						Addr: "10.77.0.2:1"}),
				} {
					if (err != nil) != x.refuse || err != nil &&
						!strings.Contains(err.Error(), "the ssh connection to 10.77.0.2 uses "+dev) {
						t.Errorf("%s: %v", what, err)
					}
				}
				for what, err := range map[string]error{
					"a sysctl": a.guardSettings(sysctl),
					"nothing":  a.guardSettings(plan.Settings{}),
					"loopback": a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp"},
						Addr: "127.0.0.1:0"}),
					"loopback by name": a.guard("lo"),
				} {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				all, err := a.interfaces()
				if err != nil {
					return err
				}
				for _, i := range all {
					if told := i.SSH != ""; told != (x.hello.SSH && i.Name == dev) {
						t.Errorf("%s: %q", i.Name, i.SSH)
					}
				}
				return nil
			})
		})
	}
}
