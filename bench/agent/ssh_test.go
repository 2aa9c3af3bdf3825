// SPDX-License-Identifier: MIT

package agent

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// What sshd says is taken if it is two addresses with their ports, and nothing else.
func TestParseConnection(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.9 52222 10.0.0.1 22":                         "10.0.0.9 10.0.0.1",
		"fd00::9 52222 fd00::1 2222":                         "fd00::9 fd00::1",
		"fe80::9%eth0 52222 fe80::1%eth0 22":                 "fe80::9%eth0 fe80::1%eth0",
		" 10.0.0.9  52222 10.0.0.1 22\n":                     "10.0.0.9 10.0.0.1",
		"":                                                   "",
		"UNKNOWN 65535 UNKNOWN 65535":                        "",
		"10.0.0.9 52222 10.0.0.1":                            "",
		"10.0.0.9 52222 10.0.0.1 22 more":                    "",
		"10.0.0.9 0 10.0.0.1 22":                             "",
		"10.0.0.9 65536 10.0.0.1 22":                         "",
		"10.0.0.9 -1 10.0.0.1 22":                            "",
		"10.0.0.9 1e3 10.0.0.1 22":                           "",
		"0.0.0.0 52222 10.0.0.1 22":                          "",
		"host 52222 10.0.0.1 22":                             "",
		"10.0.0.9 52222 10.0.0.1;reboot 22":                  "",
		"10.0.0.9 52222 " + strings.Repeat("1", 300) + " 22": "",
		"10.0.0.9 52222 \x1b[2J 22":                          "",
	} {
		peer, here, err := parseConnection(in)
		got := ""
		if err == nil {
			got = peer.String() + " " + here.String()
		} else if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q plays with the terminal", err)
		}
		if got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

// An interface is shared with ssh if what one of them stands on is the other's, too.
func TestShares(t *testing.T) {
	s := rtnl.Stack{
		{Index: 2, Name: "eth0", Master: 4}, {Index: 3, Name: "eth1", Master: 4}, {Index: 4, Name: "bond0", Kind: "bond"},
		{Index: 5, Name: "bond0.7", Kind: "vlan", Lower: 4}, {Index: 6, Name: "bond0.8", Kind: "vlan", Lower: 4}, {Index: 7, Name: "eth2"},
		{Index: 8, Name: "eth3", Master: 9}, {Index: 9, Name: "red", Kind: "vrf"}, {Index: 10, Name: "eth4", Master: 9},
	}
	for _, x := range []struct{ ssh, dev, want string }{
		{"eth2", "eth2", "goes by eth2"},
		{"eth2", "eth0", ""},
		{"bond0", "eth1", "goes by bond0, which stands on eth1"},
		{"bond0.7", "eth0", "goes by bond0.7, which stands on eth0"},
		{"bond0.7", "bond0.8", "both it and bond0.8 stand on bond0"},
		{"eth2", "bond0.8", ""},
		{"bond0", "bond0.8", "goes by bond0, on which bond0.8 stands"},
		{"eth3", "eth4", ""}, // ports of a VRF share no wire
		{"eth3", "nope", ""},
	} {
		l := &sshLink{peer: netip.MustParseAddr("fe80::9%" + x.ssh), here: netip.MustParseAddr("203.0.113.1")}
		got, err := l.shares(s, x.dev)
		if err != nil || (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("ssh by %s, a flow by %s: %q, %v; want %q", x.ssh, x.dev, got, err, x.want)
		}
	}
	for _, l := range []*sshLink{nil, learnSSH("UNKNOWN 65535 UNKNOWN 65535")} {
		if got, err := l.shares(s, "eth0"); got != "" || err != nil {
			t.Errorf("no connection: %q, %v", got, err)
		}
	}
}

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
	t.Setenv(sshEnv, pair.TG.IPv4.String()+" 50000 "+pair.SUT.IPv4.String()+" 22")
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
				a := &Agent{}
				x.hello.Version, x.hello.ToolVersion = wire.Version, version.Tool()
				a.learn(x.hello)
				mtu := wire.Settings{Dev: dev, Values: []wire.Setting{{Name: "mtu", Value: "2000"}}}
				sysctl := wire.Settings{Dev: dev, Values: []wire.Setting{{Name: "sysctl net.ipv4.tcp_sack", Value: "1"}}}
				for what, err := range map[string]error{
					"a setting":               a.guardSettings(mtu),
					"a flow":                  a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp"}, Dev: dev, Addr: addr + ":0"}),
					"a flow without its name": a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp"}, Addr: addr + ":0"}),
					"a flow to the peer":      a.guardEnd(wire.EndSpec{Role: stream.TX, Cell: results.Cell{TX: "tcp"}, Addr: "10.77.0.2:1"}),
				} {
					if (err != nil) != x.refuse || err != nil && !strings.Contains(err.Error(), "the ssh connection to 10.77.0.2 goes by "+dev) {
						t.Errorf("%s: %v", what, err)
					}
				}
				// A flood would leave ssh no room, whatever was said.
				err := a.guardEnd(wire.EndSpec{Role: stream.TX, Cell: results.Cell{TX: "pktgen-xdp"}, Addr: "10.77.0.2:1"})
				if (err != nil) != x.hello.SSH || err != nil && !strings.Contains(err.Error(), "goes by "+dev) {
					t.Errorf("a flood to the peer: %v", err)
				}
				for what, err := range map[string]error{
					"a sysctl":         a.guardSettings(sysctl),
					"nothing":          a.guardSettings(wire.Settings{}),
					"loopback":         a.guardEnd(wire.EndSpec{Role: stream.RX, Cell: results.Cell{RX: "tcp"}, Addr: "127.0.0.1:0"}),
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

// ssh to a host's own address goes over loopback, and to nowhere is not known.
func TestGuardOfNobody(t *testing.T) {
	inHost(t, func(dev, addr string) error {
		s, err := rtnl.ReadStack()
		if err != nil {
			return err
		}
		l := learnSSH(addr + " 50000 " + addr + " 22")
		if why, err := l.shares(s, dev); why != "" || err != nil {
			t.Errorf("from this host: %q, %v", why, err)
		}
		l = learnSSH("203.0.113.9 50000 " + addr + " 22") // its route is the socket's own
		if why, err := l.shares(s, dev); !strings.Contains(why, "goes by "+dev) || err != nil {
			t.Errorf("from behind a rule: %q, %v", why, err)
		}
		l = learnSSH("203.0.113.9 50000 203.0.113.1 22")
		if why, err := l.shares(s, dev); why != "" || err == nil || !strings.Contains(err.Error(), "203.0.113.9") {
			t.Errorf("from nowhere: %q, %v", why, err)
		}
		return nil
	})
}
