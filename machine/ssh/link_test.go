// SPDX-License-Identifier: MIT

package ssh

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
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
		{Index: 2, Name: "eth0", Master: 4}, {Index: 3, Name: "eth1", Master: 4},
		{Index: 4, Name: "bond0", Kind: "bond"},
		{Index: 5, Name: "bond0.7", Kind: "vlan", Lower: 4}, {Index: 6, Name: "bond0.8", Kind: "vlan", Lower: 4},
		{Index: 7, Name: "eth2"},
		{Index: 8, Name: "eth3", Master: 9}, {Index: 9, Name: "red", Kind: "vrf"}, {Index: 10, Name: "eth4", Master: 9},
	}
	for _, x := range []struct{ ssh, dev, want string }{
		{"eth2", "eth2", "uses eth2"},
		{"eth2", "eth0", ""},
		{"bond0", "eth1", "uses bond0, which is on top of eth1"},
		{"bond0.7", "eth0", "uses bond0.7, which is on top of eth0"},
		{"bond0.7", "bond0.8", "it and bond0.8 are both on top of bond0"},
		{"eth2", "bond0.8", ""},
		{"bond0", "bond0.8", "uses bond0, below bond0.8"},
		{"eth3", "eth4", ""}, // ports of a VRF share no wire
		{"eth3", "nope", ""},
	} {
		l := &Link{Peer: netip.MustParseAddr("fe80::9%" + x.ssh), Here: netip.MustParseAddr("203.0.113.1")}
		got, err := l.Shares(s, x.dev)
		if err != nil || (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("ssh by %s, a flow by %s: %q, %v; want %q", x.ssh, x.dev, got, err, x.want)
		}
	}
	for _, l := range []*Link{nil, Learn("UNKNOWN 65535 UNKNOWN 65535")} {
		if got, err := l.Shares(s, "eth0"); got != "" || err != nil {
			t.Errorf("no connection: %q, %v", got, err)
		}
	}
}

// ssh to a host's own address goes over loopback, and to nowhere is not known.
func TestGuardOfNobody(t *testing.T) {
	inHost(t, func(dev, addr string) error {
		s, err := rtnl.ReadStack()
		if err != nil {
			return err
		}
		l := Learn(addr + " 50000 " + addr + " 22")
		if why, err := l.Shares(s, dev); why != "" || err != nil {
			t.Errorf("from this host: %q, %v", why, err)
		}
		l = Learn("203.0.113.9 50000 " + addr + " 22") // its route is the socket's own
		if why, err := l.Shares(s, dev); !strings.Contains(why, "uses "+dev) || err != nil {
			t.Errorf("from behind a rule: %q, %v", why, err)
		}
		l = Learn("203.0.113.9 50000 203.0.113.1 22")
		if why, err := l.Shares(s, dev); why != "" || err == nil || !strings.Contains(err.Error(), "203.0.113.9") {
			t.Errorf("from nowhere: %q, %v", why, err)
		}
		return nil
	})
}

// inHost runs f in a namespace with one link.
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
	if err := pair.SUT.Netns.Do(func() error { return f(pair.SUT.Dev, pair.SUT.IPv4.String()) }); err != nil {
		t.Error(err)
	}
}
