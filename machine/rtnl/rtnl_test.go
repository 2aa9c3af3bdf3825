// SPDX-License-Identifier: MIT

package rtnl_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// What is said of interfaces and addresses is what Go's own library says.
func TestLinksAndAddrs(t *testing.T) {
	links, err := rtnl.Links()
	if err != nil {
		t.Fatal(err)
	}
	addrs, err := rtnl.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	want, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if len(links) != len(want) {
		t.Fatalf("%d interfaces, want %d", len(links), len(want))
	}
	for i, w := range want {
		l := links[i]
		if l.Name != w.Name || l.Index != w.Index || l.MTU != w.MTU ||
			(l.Flags&unix.IFF_UP != 0) != (w.Flags&net.FlagUp != 0) || l.Stats == nil {
			t.Errorf("%+v, want %+v", l, w)
		}
		var got []string
		for _, a := range addrs {
			if a.Index == w.Index {
				got = append(got, a.Prefix.String())
			}
		}
		has, _ := w.Addrs()
		if len(got) != len(has) {
			t.Errorf("%s has %v, want %v", w.Name, got, has)
			continue
		}
		for k := range has {
			if got[k] != has[k].String() {
				t.Errorf("%s has %v, want %v", w.Name, got, has)
			}
		}
	}
}

func TestNoSuchLink(t *testing.T) {
	for _, name := range []string{"nosuchdev0", "", "a name that is longer than any", "a/b"} {
		if l, err := rtnl.LinkNamed(name); !errors.Is(err, unix.ENODEV) {
			t.Errorf("%q: %+v, %v", name, l, err)
		}
	}
	c, err := rtnl.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if l, err := c.Link(1 << 30); !errors.Is(err, unix.ENODEV) {
		t.Errorf("%+v, %v", l, err)
	}
}

// What is set of an interface is read back, and what cannot be says why.
func TestIntegrationSet(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	err = pair.SUT.Netns.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named(pair.SUT.Dev)
		if err != nil {
			return err
		}
		if l.Kind != "veth" || l.MTU != veth.DefaultMTU || l.XDP || l.TSOMaxSize == 0 {
			t.Errorf("%+v", l)
		}
		for attr, v := range map[uint16]int{unix.IFLA_MTU: 2000, unix.IFLA_GSO_MAX_SIZE: 100_000,
			unix.IFLA_GRO_MAX_SIZE:      110_000,
			unix.IFLA_GSO_IPV4_MAX_SIZE: 120_000, unix.IFLA_GRO_IPV4_MAX_SIZE: 130_000} {
			if err := c.SetNumber(l.Index, attr, v); err != nil {
				t.Errorf("attribute %d: %v", attr, err)
			}
		}
		if l, err = c.Link(l.Index); err != nil {
			return err
		}
		if l.MTU != 2000 || l.GSOMaxSize != 100_000 || l.GROMaxSize != 110_000 || l.GSOIPv4MaxSize != 120_000 ||
			l.GROIPv4MaxSize != 130_000 {
			t.Errorf("%+v", l)
		}
		if err := c.SetNumber(l.Index, unix.IFLA_MTU, 1<<20); !errors.Is(err, unix.EINVAL) &&
			!errors.Is(err, unix.ERANGE) {
			t.Errorf("an MTU of a MiB: %v", err)
		}
		a := netip.MustParsePrefix("192.0.2.1/29")
		if err := c.AddAddr(l.Index, a, 0); err != nil {
			return err
		}
		if err := c.AddAddr(l.Index, a, 0); !errors.Is(err, unix.EEXIST) {
			t.Errorf("an address twice: %v", err)
		}
		for to, want := range map[string]string{"192.0.2.3": pair.SUT.Dev, "::ffff:192.0.2.3": pair.SUT.Dev,
			"127.0.0.1": "lo", "192.0.2.1": "lo"} {
			if dev, err := rtnl.RouteDev(netip.MustParseAddr(to)); err != nil || dev != want {
				t.Errorf("packets to %s leave by %q, %v; want %s", to, dev, err, want)
			}
		}
		if dev, err := rtnl.RouteDev(netip.MustParseAddr("203.0.113.9")); !errors.Is(err, unix.ENETUNREACH) {
			t.Errorf("packets to nowhere leave by %q, %v", dev, err)
		}
		i, err := net.InterfaceByName(pair.SUT.Dev)
		if err != nil {
			return err
		}
		if err := c.SetUp(i.Index, false); err != nil {
			return err
		}
		if l, err = c.Link(i.Index); err != nil || l.Flags&unix.IFF_UP != 0 {
			t.Errorf("after it was set down: %+v, %v", l, err)
		}
		if err := c.Delete(i.Index); err != nil {
			return err
		}
		if _, err := c.Link(i.Index); !errors.Is(err, unix.ENODEV) {
			t.Errorf("after it was deleted: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzParseLink: whatever a message holds is an interface or an error.
func FuzzParseLink(f *testing.F) {
	f.Add(make([]byte, unix.SizeofIfInfomsg))
	f.Add(append(make([]byte, unix.SizeofIfInfomsg), 8, 0, unix.IFLA_MTU, 0, 0xdc, 5, 0, 0))
	f.Add(append(make([]byte, unix.SizeofIfInfomsg), 8, 0, unix.IFLA_STATS64, 0, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := rtnl.ParseLink(b); err == nil && len(b) < unix.SizeofIfInfomsg {
			t.Errorf("%d bytes are %+v", len(b), l)
		}
	})
}
