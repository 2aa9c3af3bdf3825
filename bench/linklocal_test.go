// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// The interface of a link-local address is the one that is named with it, or has it alone.
func TestLinkOf(t *testing.T) {
	a := wire.Interface{Name: "eth0", Up: true, LinkLocal: []string{"fe80::1", "169.254.7.7"}}
	b := wire.Interface{Name: "eth1", Up: true, LinkLocal: []string{"fe80::1", "fe80::2"}}
	vlan := wire.Interface{Name: "eth1.7", Up: true, LinkLocal: []string{"fe80::7"}, Below: []string{"eth1"}}
	all := []wire.Interface{a, b, vlan, {Name: "eth2", Up: true}}
	for _, x := range []struct{ addr, dev, want, err string }{
		{addr: "fe80::2", want: "eth1"},
		{addr: "fe80::2%eth1", want: "eth1"},
		{addr: "fe80::1", dev: "eth0", want: "eth0"},
		{addr: "fe80::1%eth1", dev: "eth1", want: "eth1"},
		{addr: "fe80::7", dev: "eth1", want: "eth1.7"},
		{addr: "169.254.7.7", want: "eth0"},
		{addr: "fe80::1", err: "--addr fe80::1%DEV, with DEV one of: eth0, eth1"},
		{addr: "fe80::1%eth9", err: "no interface eth9"},
		{addr: "fe80::2%eth0", err: "no address fe80::2 on eth0; its link-local addresses are: fe80::1%eth0"},
		{addr: "fe80::1%eth0", dev: "eth1", err: "give both the same interface"},
		{addr: "fe80::9", err: "no address fe80::9; its link-local addresses are: fe80::1%eth0, fe80::1%eth1"},
		{addr: "fe80::9", dev: "eth2", err: "no address fe80::9 on eth2"},
		{addr: "169.254.7.8", err: "no interface with the address"},
	} {
		i, err := ownerOf(all, x.addr, x.dev)
		if i.Name != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s on %q: %q, %v; want %q, %q", x.addr, x.dev, i.Name, err, x.want, x.err)
		}
	}
	for _, x := range []struct{ tgDev, want, err string }{
		{"eth0", "eth0", ""},
		{"", "", "with --tg-dev: eth0, eth1, eth1.7"},
		{"eth2", "", "no link-local address on eth2"},
	} {
		i, err := linkTo(all, "fe80::5", x.tgDev, false)
		if i.Name != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("the TG by %q: %q, %v; want %q, %q", x.tgDev, i.Name, err, x.want, x.err)
		}
	}
	all[0].SSH = "ssh uses eth0"
	if i, err := linkTo([]wire.Interface{all[0], {Name: "eth3", Up: true, LinkLocal: []string{"fe80::3"}}}, "fe80::5",
		"", false); err != nil || i.Name != "eth3" {
		t.Errorf("the one that ssh does not need: %q, %v", i.Name, err)
	}
}

// withAddr gives an end an address that is usable at once.
func withAddr(t *testing.T, e veth.End, p string) {
	t.Helper()
	err := e.Netns.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named(e.Dev)
		if err != nil {
			return err
		}
		return c.AddAddr(l.Index, netip.MustParsePrefix(p), unix.IFA_F_NODAD)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withoutIPv4 takes an end's IPv4 address away.
func withoutIPv4(t *testing.T, e veth.End) {
	t.Helper()
	err := e.Netns.Do(func() error {
		all, err := rtnl.Addrs()
		if err != nil {
			return err
		}
		c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
		if err != nil {
			return err
		}
		defer c.Close()
		for _, a := range all {
			ip := a.Prefix.Addr()
			if !ip.Is4() || ip.IsLoopback() {
				continue
			}
			b := []byte{unix.AF_INET, byte(a.Prefix.Bits()), 0, 0}
			b = binary.NativeEndian.AppendUint32(b, uint32(a.Index))
			b = append(b, 8, 0, unix.IFA_LOCAL, 0)
			m := netlink.Message{Header: netlink.Header{Type: unix.RTM_DELADDR,
				Flags: netlink.Request | netlink.Acknowledge}, Data: append(b, ip.AsSlice()...)}
			if _, err := c.Execute(m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A run by link-local addresses: each end has its own interface in the address.
func TestIntegrationLinkLocal(t *testing.T) {
	r := newRig(t)
	r.bounded(1 << 20)
	withAddr(t, r.pair.SUT, "fe80::77:1/64")
	withAddr(t, r.pair.TG, "fe80::77:2/64")
	for _, addr := range []string{"fe80::77:1", "fe80::77:1%" + r.pair.SUT.Dev} {
		if err := r.Runner.Opt.FindPath(t.Context(), r.sut, r.tg, addr, "", "", false); err != nil {
			t.Fatalf("%s: %v; fix: %s", addr, err, fault.Fix(err))
		}
		if o := r.Runner.Opt; o.SUTDev != r.pair.SUT.Dev || o.TGDev != r.pair.TG.Dev {
			t.Errorf("%s: by %s and %s", addr, o.SUTDev, o.TGDev)
		}
		if rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0]); rec.Verdict != results.OK {
			t.Errorf("%s: %s: %s; fix: %s", addr, rec.Verdict, rec.Reason, rec.Fix)
		}
	}
	err := r.Runner.Opt.FindPath(t.Context(), r.sut, r.tg, "fe80::77:1%"+r.pair.TG.Dev, "", "", false)
	if err == nil || !strings.Contains(err.Error(), "the SUT's own interface") {
		t.Errorf("with the TG's interface: %v", err)
	}
}

// Hosts that have IPv6 alone: the error names the flag, of the SUT and of the TG.
func TestIntegrationIPv6Only(t *testing.T) {
	r := newRig(t)
	r.bounded(1 << 20)
	withoutIPv4(t, r.pair.TG)
	err := r.Runner.Opt.FindPath(t.Context(), r.sut, r.tg, "", r.pair.SUT.Dev, "", false)
	if fix := fault.Fix(err); err == nil || !strings.Contains(fix, "--ipv6") ||
		!strings.Contains(fix, "no IPv4 address, but IPv6 on "+r.pair.TG.Dev) {
		t.Errorf("of the TG: %v; fix: %s", err, fix)
	}
	withoutIPv4(t, r.pair.SUT)
	for _, dev := range []string{"", r.pair.SUT.Dev} {
		err := r.Runner.Opt.FindPath(t.Context(), r.sut, r.tg, "", dev, "", false)
		if err == nil || !strings.Contains(err.Error(), "IPv6 addresses are on: "+r.pair.SUT.Dev+": add --ipv6") {
			t.Errorf("of the SUT, by %q: %v", dev, err)
		}
	}
	if err := r.Runner.Opt.FindPath(t.Context(), r.sut, r.tg, "", "", "", true); err != nil {
		t.Fatal(err)
	}
	if rec := r.Runner.Run(t.Context(), interleaved(1, cell("tcp", "tcp"))[0]); rec.Verdict != results.OK {
		t.Errorf("%s: %s; fix: %s", rec.Verdict, rec.Reason, rec.Fix)
	}
}
