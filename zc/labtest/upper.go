// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// upper is an interface that stands on another one, in one end of the lab.
type upper struct {
	name, kind string
	lower      string // of a VLAN or macvlan
	port       string // that is made one of a bond's or bridge's
	addr       string
	data       func(*netlink.AttributeEncoder)
}

// Attributes of include/uapi/linux/if_link.h.
const (
	vlanID      = 1 // IFLA_VLAN_ID
	bondMode    = 1 // IFLA_BOND_MODE
	bondMiimon  = 3 // IFLA_BOND_MIIMON
	macvlanMode = 1 // IFLA_MACVLAN_MODE
)

func vlan(lower, addr string) upper {
	return upper{name: lower + ".100", kind: "vlan", lower: lower, addr: addr,
		data: func(ae *netlink.AttributeEncoder) { ae.Uint16(vlanID, 100) }}
}

// activeBackup describes a bond of mode 1 that looks at the link every 100 ms.
func activeBackup(port, addr string) upper {
	return upper{name: "bond0", kind: "bond", port: port, addr: addr, data: func(ae *netlink.AttributeEncoder) {
		ae.Uint8(bondMode, 1)
		ae.Uint32(bondMiimon, 100)
	}}
}

func bridge(port, addr string) upper {
	return upper{name: "br0", kind: "bridge", port: port, addr: addr}
}

// macvlan describes a macvlan of mode 4, bridge.
func macvlan(lower, addr string) upper {
	return upper{name: "mv0", kind: "macvlan", lower: lower, addr: addr, data: func(ae *netlink.AttributeEncoder) {
		ae.Uint32(macvlanMode, 4)
	}}
}

// make makes the interface in the calling thread's namespace and sets it up.
func (u upper) make() error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := u.add(c); err != nil {
		return fmt.Errorf("add %s %s: %w", u.kind, u.name, err)
	}
	l, err := c.Named(u.name)
	if err != nil {
		return err
	}
	if u.port != "" {
		if err := enslave(c, u.port, l.Index); err != nil {
			return fmt.Errorf("make %s a port of %s: %w", u.port, u.name, err)
		}
	}
	if err := c.SetUp(l.Index, true); err != nil {
		return err
	}
	if u.addr != "" {
		if err := c.AddAddr(l.Index, netip.MustParsePrefix(u.addr), 0); err != nil {
			return err
		}
	}
	return u.await()
}

// await waits until a flow of the interface has a port: a bond looks at the links of its
// ports now and then.
func (u upper) await() (err error) {
	var l rtnl.Link
	if !await.So(func() bool {
		var s rtnl.Stack
		if s, err = rtnl.ReadStack(); err != nil {
			return true
		}
		l, _ = s.Named(u.name)
		_, ok := s.Port(l)
		return ok && l.Flags&unix.IFF_LOWER_UP != 0
	}) {
		return fmt.Errorf("%s has no port: %+v", u.name, l)
	}
	return err
}

func (u upper) add(c *rtnl.Conn) error {
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.IFLA_IFNAME, u.name)
	if u.lower != "" {
		l, err := c.Named(u.lower)
		if err != nil {
			return err
		}
		ae.Uint32(unix.IFLA_LINK, uint32(l.Index))
	}
	ae.Nested(unix.IFLA_LINKINFO, func(in *netlink.AttributeEncoder) error {
		in.String(unix.IFLA_INFO_KIND, u.kind)
		if u.data != nil {
			in.Nested(unix.IFLA_INFO_DATA, func(d *netlink.AttributeEncoder) error { u.data(d); return nil })
		}
		return nil
	})
	attrs, err := ae.Encode()
	if err != nil {
		return err
	}
	raw, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return err
	}
	defer raw.Close()
	_, err = raw.Execute(netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK,
		Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl},
		Data: append(make([]byte, unix.SizeofIfInfomsg), attrs...)})
	return err
}

// enslave makes an interface a port; 0 makes it none. A bond takes only one that is down.
func enslave(c *rtnl.Conn, name string, master int) error {
	l, err := c.Named(name)
	if err != nil {
		return err
	}
	if err := c.SetUp(l.Index, false); err != nil {
		return err
	}
	if err := c.SetNumber(l.Index, unix.IFLA_MASTER, master); err != nil {
		return err
	}
	return c.SetUp(l.Index, true)
}

// remove takes the interface away; a port of it is set up again.
func (u upper) remove() error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if u.port != "" {
		err = enslave(c, u.port, 0)
	}
	l, lerr := c.Named(u.name)
	if lerr != nil {
		return errors.Join(err, lerr)
	}
	return errors.Join(err, c.Delete(l.Index))
}

// mtus lists the MTUs of all interfaces of the receiver's end.
func mtus(t *testing.T) string {
	t.Helper()
	s, err := In(RXNS, func() (string, error) {
		var out []string
		all, err := rtnl.Links()
		for _, l := range all {
			out = append(out, fmt.Sprint(l.Name, " ", l.MTU))
		}
		return strings.Join(out, ", "), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inShort are the cases of [Upper] that have what the others have, together.
var inShort = []string{"VLAN, MTU", "bond, its port", "VLAN on a bond"}

// Upper runs zcbench with a receive mode over interfaces that stand on the soft NIC, in
// each way in which the user can name them: every byte arrives, none of it copied, by the
// NIC's word too, and everything that was set is as before, on the port and above it.
func Upper(t *testing.T, rx string) {
	Need(t)
	for _, x := range []struct {
		name   string
		rx, tx []upper // in the order in which they are made
		dev    string
		flag   string
		args   []string
	}{
		{"VLAN", []upper{vlan(RXDev, "10.88.0.1/24")}, []upper{vlan(TXDev, "10.88.0.2/24")}, RXDev + ".100",
			"over-vlan", nil},
		{"VLAN, MTU", []upper{vlan(RXDev, "10.88.0.1/24")}, []upper{vlan(TXDev, "10.88.0.2/24")}, RXDev + ".100",
			"over-vlan", []string{"--mtu", "5000"}},
		{"bond", []upper{activeBackup(RXDev, "10.88.0.1/24")}, []upper{activeBackup(TXDev, "10.88.0.2/24")}, "bond0",
			"over-bond", nil},
		{"bond, its port", []upper{activeBackup(RXDev, "10.88.0.1/24")}, []upper{activeBackup(TXDev, "10.88.0.2/24")},
			RXDev, "over-bond", []string{"--addr", "10.88.0.1"}},
		{"bond, MTU and ring", []upper{activeBackup(RXDev, "10.88.0.1/24")},
			[]upper{activeBackup(TXDev, "10.88.0.2/24")}, "bond0", "over-bond", []string{"--mtu", "5000", "--rx-ring",
				"512"}},
		{"VLAN on a bond", []upper{activeBackup(RXDev, ""), vlan("bond0", "10.88.0.1/24")},
			[]upper{activeBackup(TXDev, ""), vlan("bond0", "10.88.0.2/24")}, "bond0.100", "over-vlan", nil},
		{"bridge", []upper{bridge(RXDev, "10.88.0.1/24")}, []upper{bridge(TXDev, "10.88.0.2/24")}, "br0", "over-bridge",
			nil},
		{"macvlan", []upper{macvlan(RXDev, "10.88.0.1/24")}, []upper{macvlan(TXDev, "10.88.0.2/24")}, "mv0",
			"over-macvlan", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			if !slices.Contains(inShort, x.name) {
				long.Test(t)
			}
			within(t, RXNS, x.rx)
			within(t, TXNS, x.tx)
			before := mtus(t)
			h := measured(t, rx, append([]string{"--dev", x.dev}, x.args...)...)
			if after := mtus(t); after != before {
				t.Errorf("MTUs are %s, were %s", after, before)
			}
			if s := h.SUT; s.Mismatches == nil || *s.Mismatches != 0 || s.ZeroCopyBytes == nil ||
				*s.ZeroCopyBytes == 0 || s.CopiedBytes == nil || *s.CopiedBytes != 0 || s.Env.Dev != RXDev ||
				s.Env.Upper == "" {
				t.Errorf("on %s, over %q: mismatches %v, %v bytes without a copy, %v copied", s.Env.Dev, s.Env.Upper,
					s.Mismatches, s.ZeroCopyBytes, s.CopiedBytes)
			}
			if !slices.Contains(h.Flags, x.flag) || !slices.ContainsFunc(h.Warnings,
				func(w string) bool { return strings.Contains(w, "its queues and counters on "+RXDev) }) {
				t.Errorf("flags %q, warnings %q", h.Flags, h.Warnings)
			}
		})
	}
	t.Run("devmem cannot send over a VLAN", func(t *testing.T) {
		within(t, RXNS, []upper{vlan(RXDev, "10.88.0.1/24")})
		within(t, TXNS, []upper{vlan(TXDev, "10.88.0.2/24")})
		r, status := program(t, "tcp", "", "--dev", RXDev+".100", "--tx", "devmem")
		if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, "leaves by "+TXDev+".100 (vlan 100)") ||
			status != 1 {
			t.Errorf("%s, status %d: %s", r.Verdict, status, r.Reason)
		}
	})
}

// UpperReal runs zcbench with plain TCP over interfaces that stand on a NIC with a real driver,
// whose settings are changed under them, the carrier of e1000e for seconds: every byte arrives,
// and the MTUs of the port and of what stands on it are as before.
func UpperReal(t *testing.T) {
	Need(t)
	for _, x := range []struct {
		name   string
		rx, tx []upper
		dev    string
		flag   string
		args   []string
	}{
		{"VLAN", []upper{vlan(RXDev, "10.88.0.1/24")}, []upper{vlan(TXDev, "10.88.0.2/24")}, RXDev + ".100",
			"over-vlan", []string{"--mtu", "2000"}},
		{"bond", []upper{activeBackup(RXDev, "10.88.0.1/24")}, []upper{activeBackup(TXDev, "10.88.0.2/24")}, "bond0",
			"over-bond", []string{"--mtu", "2000", "--rx-ring", "512"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			within(t, RXNS, x.rx)
			within(t, TXNS, x.tx)
			before := mtus(t)
			r := measured(t, "tcp", append([]string{"--dev", x.dev}, x.args...)...)
			if after := mtus(t); after != before {
				t.Errorf("MTUs are %s, were %s", after, before)
			}
			if s := r.SUT; s.Mismatches == nil || *s.Mismatches != 0 || s.Bytes == nil || *s.Bytes == 0 ||
				s.Env.Dev != RXDev || s.Env.Upper == "" || !slices.Contains(r.Flags, x.flag) {
				t.Errorf("on %s, over %q, flags %q: %v bytes, mismatches %v", s.Env.Dev, s.Env.Upper, r.Flags, s.Bytes,
					s.Mismatches)
			}
		})
	}
}

// within makes interfaces in a namespace for the length of a test.
func within(t *testing.T, ns string, all []upper) {
	t.Helper()
	for _, u := range all {
		if _, err := In(ns, func() (int, error) { return 0, u.make() }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := In(ns, func() (int, error) { return 0, u.remove() }); err != nil {
				t.Error(err)
			}
		})
	}
}
