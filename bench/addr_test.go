// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestChooseAddr(t *testing.T) {
	lo := wire.Interface{Name: "lo", Up: true, Loopback: true, MTU: 65536, Addrs: []string{"127.0.0.1", "::1"}}
	a := wire.Interface{Name: "eth0", Up: true, MTU: 1500, Addrs: []string{"10.0.0.1", "10.0.0.2", "fd00::1"}}
	b := wire.Interface{Name: "eth1", Up: true, MTU: 9000, Addrs: []string{"10.1.0.1"}}
	bare := wire.Interface{Name: "eth2", Up: true, MTU: 1500}
	down := wire.Interface{Name: "eth3", MTU: 1500, Addrs: []string{"10.3.0.1"}}
	six := wire.Interface{Name: "eth4", Up: true, MTU: 1500, Addrs: []string{"fd00::4"}}
	link := wire.Interface{Name: "eth5", Up: true, MTU: 1500, LinkLocal: []string{"fe80::5"}}
	for _, x := range []struct {
		name      string
		all       []wire.Interface
		same      bool
		dev       string
		ipv6      bool
		addr, ifc string
		err       []string
	}{
		{name: "the only one", all: []wire.Interface{lo, a}, addr: "10.0.0.1", ifc: "eth0"},
		{name: "the only one, IPv6", all: []wire.Interface{lo, a, b}, ipv6: true, addr: "fd00::1", ifc: "eth0"},
		{name: "without address does not count", all: []wire.Interface{lo, bare, b}, addr: "10.1.0.1", ifc: "eth1"},
		{name: "down does not count", all: []wire.Interface{lo, down, b}, addr: "10.1.0.1", ifc: "eth1"},
		{name: "one namespace", all: []wire.Interface{lo, a, b}, same: true, addr: "127.0.0.1"},
		{name: "one namespace, IPv6", all: []wire.Interface{lo, a, b}, same: true, ipv6: true, addr: "::1"},
		{name: "one namespace, named", all: []wire.Interface{lo, a, b}, same: true, dev: "eth1", addr: "10.1.0.1",
			ifc: "eth1"},
		{name: "named loopback", all: []wire.Interface{lo, a}, dev: "lo", addr: "127.0.0.1", ifc: "lo"},
		{name: "several", all: []wire.Interface{lo, a, b}, err: []string{"several", "--dev", "eth0, eth1"}},
		{name: "named", all: []wire.Interface{lo, a, b}, dev: "eth1", addr: "10.1.0.1", ifc: "eth1"},
		{name: "named, down", all: []wire.Interface{lo, a, down}, dev: "eth3", err: []string{"eth3", "down", "up"}},
		{name: "named, no address", all: []wire.Interface{lo, bare}, dev: "eth2", err: []string{"eth2", "IPv4", "lo"}},
		{name: "named, no IPv6", all: []wire.Interface{lo, a, b}, dev: "eth1", ipv6: true,
			err: []string{"eth1", "IPv6"}},
		{name: "unknown", all: []wire.Interface{lo, a, down}, dev: "nope",
			err: []string{"nope", "lo, eth0, eth3 (down)"}},
		{name: "IPv6 only", all: []wire.Interface{lo, six}, err: []string{"IPv4", "eth4: add --ipv6"}},
		{name: "named, IPv6 only", all: []wire.Interface{lo, six, a}, dev: "eth4",
			err: []string{"IPv4", "eth4: add --ipv6"}},
		{name: "IPv4 only", all: []wire.Interface{lo, b}, ipv6: true, err: []string{"IPv6", "eth1: leave out --ipv6"}},
		{name: "link-local only", all: []wire.Interface{lo, link}, err: []string{"IPv4", "fe80::5%eth5", "--addr"}},
		{name: "only loopback", all: []wire.Interface{lo}, err: []string{"no interface that is up", "IPv4", "lo"}},
		{name: "nothing", err: []string{"no interface", "none"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			addr, i, err := chooseAddr(x.all, x.same, x.dev, x.ipv6)
			if addr != x.addr || i.Name != x.ifc || (err == nil) != (x.err == nil) {
				t.Fatalf("%q on %q, %v; want %q on %q", addr, i.Name, err, x.addr, x.ifc)
			}
			for _, w := range x.err {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

// A flow's address may be on what stands on the interface that is named.
func TestChooseAddrAbove(t *testing.T) {
	port := wire.Interface{Name: "eth0", Up: true}
	vlan := wire.Interface{Name: "eth0.7", Kind: "vlan 7", Up: true, Addrs: []string{"10.0.7.1"},
		Below: []string{"eth0"}, Ports: []string{"eth0"}, Port: "eth0"}
	lacp := wire.Interface{Name: "bond0", Kind: "bond 802.3ad", Up: true, Addrs: []string{"10.0.0.1"},
		Below: []string{"eth1", "eth2"}, Ports: []string{"eth1", "eth2"}}
	onBond := wire.Interface{Name: "bond0.9", Kind: "vlan 9", Up: true, Addrs: []string{"10.0.9.1"},
		Below: []string{"bond0", "eth1", "eth2"}, Ports: []string{"eth1", "eth2"}}
	down := wire.Interface{Name: "br0", Kind: "bridge", Addrs: []string{"10.0.5.1"}, Below: []string{"eth5"},
		Ports: []string{"eth5"}, Port: "eth5"}
	all := []wire.Interface{port, vlan, {Name: "eth1", Up: true}, {Name: "eth2", Up: true}, lacp, down,
		{Name: "eth5", Up: true}}
	for _, x := range []struct{ dev, addr, upper, port, err string }{
		{"eth0", "10.0.7.1", "eth0.7", "eth0", ""},
		{"eth0.7", "10.0.7.1", "eth0.7", "eth0", ""},
		{"bond0", "10.0.0.1", "bond0", "bond0", ""}, // which port is not known
		{"eth2", "10.0.0.1", "bond0", "eth2", ""},
		{"eth5", "", "", "", "the interface br0 down"},
		{"eth9", "", "", "", "no interface eth9"},
	} {
		addr, i, err := chooseAddr(all, false, x.dev, false)
		if addr != x.addr || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %q, %v; want %q, %q", x.dev, addr, err, x.addr, x.err)
		}
		if err != nil {
			continue
		}
		p, u := ports(i, x.dev)
		if p != x.port || u == nil || u.Name != x.upper || u.unknown() != (x.dev == "bond0") {
			t.Errorf("%s: port %s below %+v, want %s below %s", x.dev, p, u, x.port, x.upper)
		}
	}
	if _, _, err := chooseAddr(append(all, onBond), false, "eth1", false); err == nil ||
		!strings.Contains(err.Error(), "on top of eth1") || !strings.Contains(err.Error(), "bond0, bond0.9") {
		t.Errorf("two with addresses: %v", err)
	}
	if i, err := ownerOf(append(all, onBond), "10.0.9.1", "eth1"); err != nil || i.Name != "bond0.9" {
		t.Errorf("the one with the address: %s, %v", i.Name, err)
	}
	if p, u := ports(wire.Interface{Name: "veth0", Kind: "veth"}, ""); p != "veth0" || u != nil {
		t.Errorf("a veth is %s below %+v", p, u)
	}
}

// What ssh needs is not chosen, and left out where there is another.
func TestSpare(t *testing.T) {
	lo := wire.Interface{Name: "lo", Up: true, Loopback: true, Addrs: []string{"127.0.0.1"}}
	ssh := wire.Interface{Name: "eth0", Up: true, Addrs: []string{"10.0.0.1"}, SSH: "ssh uses eth0"}
	other := wire.Interface{Name: "eth1", Up: true, Addrs: []string{"10.1.0.1", "fd00::1"}}
	if got, err := spare([]wire.Interface{lo, ssh, other}, false); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := spare([]wire.Interface{lo, ssh}, false); err == nil || !strings.Contains(err.Error(), "eth0") ||
		!strings.Contains(fault.Fix(err), "--shared-with-ssh") {
		t.Errorf("only ssh's: %v, %s", err, fault.Fix(err))
	}
	six := wire.Interface{Name: "eth2", Up: true, Addrs: []string{"fd00::2"}}
	if _, err := spare([]wire.Interface{lo, ssh, six}, false); err == nil ||
		!strings.Contains(err.Error(), "eth2: add --ipv6") {
		t.Errorf("the other has IPv6 alone: %v", err)
	}
	other.Up = false
	if _, err := spare([]wire.Interface{lo, ssh, other}, false); err == nil {
		t.Error("the other one is down")
	}
	if got, err := spare([]wire.Interface{lo}, false); err != nil || len(got) != 1 {
		t.Errorf("none: %v, %v: what is wrong then is said elsewhere", got, err)
	}
}

// What cannot be done over interfaces on top of others is said before a run.
func TestPortless(t *testing.T) {
	lacp := &Upper{Name: "bond0", Kind: "bond 802.3ad", Ports: []string{"eth1", "eth2"}}
	vlan := &Upper{Name: "eth0.7", Kind: "vlan 7"}
	ring := plan.Settings{Dev: "bond0", Values: []plan.Setting{{Name: "ring rx", Value: "512"}}}
	mtu := plan.Settings{Dev: "bond0", Values: []plan.Setting{{Name: "mtu", Value: "4148"},
		{Name: "sysctl net.ipv4.tcp_sack", Value: "1"}}}
	none := plan.Settings{}
	for _, x := range []struct {
		sut, tg      *Upper
		rx, tx       string
		sutSet, want string
	}{
		{nil, nil, "zcrx", "devmem", "", ""},
		{vlan, vlan, "zcrx", "tcp", "ring", ""},
		{vlan, vlan, "tcp", "devmem", "",
			"devmem sends from the NIC itself, but the route to the receiver leaves by eth0.7 (vlan 7)"},
		{lacp, nil, "tcp", "tcp", "mtu", ""},
		{lacp, nil, "zcrx", "tcp", "",
			"zcrx takes a queue over, which belongs to a port, and bond0 (bond 802.3ad) has several"},
		{lacp, nil, "devmem", "tcp", "", "--dev eth1"},
		{lacp, nil, "tcp", "tcp", "ring", "the setting ring rx belongs to a port"},
	} {
		o := Options{SUTUpper: x.sut, TGUpper: x.tg}
		set := map[string]plan.Settings{"ring": ring, "mtu": mtu, "": none}[x.sutSet]
		m := o.portless(plan.Cell{RX: x.rx, TX: x.tx}, set, none)
		if (m == nil) != (x.want == "") || m != nil && !strings.Contains(m.Reason+m.Fix, x.want) {
			t.Errorf("%s/%s on %+v, %+v: %+v, want %q", x.rx, x.tx, x.sut, x.tg, m, x.want)
		}
	}
	o := Options{SUTUpper: lacp}
	if m := o.portless(plan.Cell{RX: "tcp", TX: "tcp", Queue: new(int)}, none, none); m == nil ||
		!strings.Contains(m.Reason, "the flow is steered to a queue, which belongs to a port") {
		t.Errorf("a flow that is steered: %+v", m)
	}
}

// A record says of each end on what its address was, if not on the port.
func TestMarkUpper(t *testing.T) {
	r := &Runner{Opt: Options{SUTDev: "eth0", SUTUpper: &Upper{Name: "eth0.7", Kind: "vlan 7"},
		TGDev: "bond0", TGUpper: &Upper{Name: "bond0", Kind: "bond 802.3ad", Ports: []string{"eth1", "eth2"}}}}
	var rec results.Record
	r.markUpper(&rec)
	if rec.SUT.Env.Upper != "eth0.7" || rec.TG.Env.Upper != "bond0" ||
		!slices.Equal(rec.Flags, []string{"over-vlan", "over-bond"}) {
		t.Errorf("%q, %q, flags %q", rec.SUT.Env.Upper, rec.TG.Env.Upper, rec.Flags)
	}
	want := []string{
		"SUT: the flow's address and route are on eth0.7 (vlan 7), its queues and counters on eth0",
		"TG: which port of bond0 (bond 802.3ad) the flow used is not known: eth1, eth2"}
	if !slices.Equal(rec.Warnings, want) {
		t.Errorf("warnings %q", rec.Warnings)
	}
	r.Opt.SUTUpper, r.Opt.TGUpper, rec = nil, nil, results.Record{}
	r.markUpper(&rec)
	if rec.SUT.Env.Upper != "" || rec.TG.Env.Upper != "" || len(rec.Flags) != 0 {
		t.Errorf("on the ports themselves: %+v", rec)
	}
}

// An address that is given has its interface: its counters and MTU belong to the
// run, and not those of no interface.
func TestOwnerOf(t *testing.T) {
	lo := wire.Interface{Name: "lo", Up: true, Loopback: true, MTU: 65536, Addrs: []string{"127.0.0.1", "::1"}}
	a := wire.Interface{Name: "eth0", Up: true, MTU: 1500, Addrs: []string{"10.0.0.1", "fd00::1"}}
	b := wire.Interface{Name: "eth1", Up: true, MTU: 9000, Addrs: []string{"10.1.0.1"}}
	all := []wire.Interface{lo, a, b}
	for _, x := range []struct{ addr, dev, want, err string }{
		{addr: "10.1.0.1", want: "eth1"},
		{addr: "fd00::1", want: "eth0"},
		{addr: "fd00:0:0::1", want: "eth0"},
		{addr: "10.1.0.1", dev: "eth1", want: "eth1"},
		{addr: "10.1.0.1", dev: "eth0", err: "no interface eth0 with the address 10.1.0.1"},
		{addr: "10.9.0.1", err: "no interface with the address 10.9.0.1; the interfaces are: lo with 127.0.0.1 " +
			"and ::1, eth0 with 10.0.0.1 and fd00::1, eth1 with 10.1.0.1"},
		{addr: "127.0.0.1"},
		{addr: "127.0.0.5"},
		{addr: "::1", dev: "lo", want: "lo"},
		{addr: "fe80::1", err: "no address fe80::1"},
		{addr: "fe80::1", dev: "eth1", err: "no address fe80::1 on eth1"},
		{addr: "nonsense", err: `not an IP address: "nonsense"`},
	} {
		i, err := ownerOf(all, x.addr, x.dev)
		if i.Name != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s on %q: %q, %v; want %q, %q", x.addr, x.dev, i.Name, err, x.want, x.err)
		}
	}
}

// A command that is to be typed is the one that works: in the namespace of the host.
func TestCommandsOfTheNamespace(t *testing.T) {
	down := isDown(wire.Interface{Name: "eth3"})
	for netns, want := range map[string]string{
		"":                   "the interface eth3 down: ip link set eth3 up",
		"/run/netns/a":       "the interface eth3 down: ip -n a link set eth3 up",
		"/proc/self/ns/net":  "the interface eth3 down: nsenter --net=/proc/self/ns/net ip link set eth3 up",
		"/var/run/netns/b-1": "the interface eth3 down: ip -n b-1 link set eth3 up",
	} {
		if got := thereBy(&host.Host{Spec: host.Spec{Netns: netns}}, down); got != want {
			t.Errorf("%s: %q, want %q", netns, got, want)
		}
	}
}

// A far host's interface may be called what a shell would run.
func TestNamesInCommands(t *testing.T) {
	odd := wire.Interface{Name: "$(reboot)", LinkLocal: []string{"fe80::1"}}
	for _, got := range []string{isDown(odd).Error(), bringUp([]wire.Interface{odd})} {
		if !strings.Contains(got, "ip link set '$(reboot)' up") {
			t.Error(got)
		}
	}
	if got := linkLocals([]wire.Interface{odd}); !strings.Contains(got, "'fe80::1%$(reboot)'") {
		t.Error(got)
	}
}

// A host without a route to the other is an input error, with the commands of its namespace; an
// agent that is gone is none.
func TestUnreached(t *testing.T) {
	h := &host.Host{Spec: host.Spec{Name: "netns:a", Netns: "/run/netns/a"}}
	err := unreached(h, &wire.Error{Message: "find the route to 10.0.0.1: network is unreachable",
		How: "the interface eth3, in whose network 10.0.0.1 is, is down: ip link set eth3 up (ip -br link shows " +
			"it); ip link set eth4 netns NAME"})
	const want = "the interface eth3, in whose network 10.0.0.1 is, is down: ip -n a link set eth3 up (ip -n a " +
		"-br link shows it); ip link set eth4 netns NAME"
	if wrong := (*inputError)(nil); !errors.As(err, &wrong) || fault.Fix(err) != want ||
		!strings.HasPrefix(err.Error(), "netns:a: find the route") {
		t.Errorf("%v, fix %q", err, fault.Fix(err))
	}
	if wrong := (*inputError)(nil); errors.As(unreached(h, errors.New("the agent ended")), &wrong) {
		t.Error("an agent that ended is no mistake of the caller's")
	}
}
