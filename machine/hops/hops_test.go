// SPDX-License-Identifier: MIT

package hops

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

// bridged is three namespaces: a0 in one, b0 in another, and between them a bridge with the other
// ends of both. Nothing but the test's frames passes.
type bridged struct {
	a, r, b *veth.Netns
	names   map[string]*veth.Netns
}

func newBridged(t *testing.T) *bridged {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	x := &bridged{}
	for _, ns := range []**veth.Netns{&x.a, &x.r, &x.b} {
		n, err := veth.NewNetns()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		*ns = n
		if err := n.Do(func() error { return quietIPv6() }); err != nil {
			t.Fatal(err)
		}
	}
	x.names = map[string]*veth.Netns{"a": x.a, "r": x.r, "b": x.b}
	err := x.r.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		return errors.Join(c.AddBridge("br0"), c.AddVeth(rtnl.VethEnd{Name: "pa", MTU: 1500},
			rtnl.VethEnd{Name: "a0", MTU: 1500}, x.a.Fd()),
			c.AddVeth(rtnl.VethEnd{Name: "pb", MTU: 1500}, rtnl.VethEnd{Name: "b0", MTU: 1500}, x.b.Fd()),
			enslave(c, "br0", "pa", "pb"))
	})
	for ns, dev := range map[*veth.Netns]string{x.a: "a0", x.b: "b0"} {
		err = errors.Join(err, ns.Do(func() error { return vethtest.Up(dev) }))
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// quietIPv6 keeps the namespace's interfaces from saying anything by themselves.
func quietIPv6() error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0o644)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
	return err
}

func enslave(c *rtnl.Conn, bridge string, ports ...string) error {
	b, err := c.Named(bridge)
	if err == nil {
		err = c.SetUp(b.Index, true)
	}
	for _, name := range ports {
		l, lerr := c.Named(name)
		if err = errors.Join(err, lerr); err == nil {
			err = errors.Join(c.SetNumber(l.Index, unix.IFLA_MASTER, b.Index), c.SetUp(l.Index, true))
		}
	}
	return err
}

// send sends n frames to nobody in particular, which a bridge passes on to all its ports.
func (x *bridged) send(t *testing.T, n, size int) {
	t.Helper()
	err := x.a.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named("a0")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		frame := make([]byte, size)
		// of no protocol (IEEE 802: local experiments)
		copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
		for range n {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: l.Index, Halen: 6}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (x *bridged) open(t *testing.T, list string) *Path {
	t.Helper()
	places, err := ifpath.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(places, func(name string) (*veth.Netns, error) { return veth.OpenNetns(x.names[name].Path()) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// passed is what passes while n frames are sent: read when the last has come, or when that hangs.
func (x *bridged) passed(t *testing.T, p *Path, n, size int, arrived func(*Diff) bool) Diff {
	t.Helper()
	from, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	x.send(t, n, size)
	var d Diff
	await.So(func() bool {
		to, err := p.Read()
		if err != nil {
			t.Fatal(err)
		}
		d = p.Between(from, to, Seen{})
		return arrived(&d)
	})
	return d
}

// Frames are followed over a veth, across a bridge and over another veth, each of them counted
// at every place; and where a bridge drops them they vanish there, and nowhere else.
func TestIntegrationAlongABridge(t *testing.T) {
	x := newBridged(t)
	p := x.open(t, "netns:a/a0,netns:r/pa,netns:r/br0,netns:r/pb,netns:b/b0")
	var how []string
	for _, l := range p.Links {
		how = append(how, fmt.Sprintf("%s-%s %s %t", p.Hops[l.From].Dev, p.Hops[l.To].Dev, l.Relation, l.Sure))
	}
	if got := strings.Join(how, ", "); got != "a0-pa wire true, pa-pb across true, pb-b0 wire true" {
		t.Fatal(got)
	}
	// A bridge says something by itself now and then (IGMP), which none of its ports received.
	const n, own = 500, 10
	d := x.passed(t, p, n, 1200, func(d *Diff) bool { return d.Hops[4].RxPackets >= n })
	for i, c := range d.Crossings[:3] {
		if c.Sent < n || c.Sent > n+own || c.Lost() > 0 || c.Lost() < -own || i != 1 && c.Lost() != 0 {
			t.Errorf("%s: %d, %d", p.Name(&c), c.Sent, c.Arrived)
		}
	}
	if b := d.Hops[0].TxBytes; b != n*1200 {
		t.Errorf("%d bytes, want %d", b, n*1200)
	}
	err := x.r.Do(func() error { // net/bridge/br_forward.c: is_skb_forwardable
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named("pb")
		if err != nil {
			return err
		}
		return c.SetNumber(l.Index, unix.IFLA_MTU, 1000)
	})
	if err != nil {
		t.Fatal(err)
	}
	d = x.passed(t, p, n, 1200, func(d *Diff) bool { return d.Hops[1].RxPackets == n })
	for i, want := range []int64{0, n, 0} {
		if c := &d.Crossings[i]; c.Lost() != want && (i != 1 || c.Lost() < n-own || c.Lost() > n) {
			t.Errorf("%s lost %d, want %d: %+v", p.Name(c), c.Lost(), want, c.Account)
		}
	}
}

// What is not there is said with its place in the list, and what goes away later too.
func TestIntegrationPathThatIsNotThere(t *testing.T) {
	x := newBridged(t)
	places, err := ifpath.Parse("netns:a/a0,netns:r/nosuch")
	if err != nil {
		t.Fatal(err)
	}
	enter := func(name string) (*veth.Netns, error) { return veth.OpenNetns(x.names[name].Path()) }
	if _, err := Open(places, enter); !errors.Is(err, unix.ENODEV) ||
		!strings.Contains(err.Error(), `interface 2, "netns:r/nosuch", at byte 12: no such interface there`) {
		t.Error(err)
	}
	p := x.open(t, "netns:a/a0,netns:r/pa")
	err = x.r.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named("pa")
		if err != nil {
			return err
		}
		return c.Delete(l.Index)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), "it is gone") {
		t.Error(err)
	}
}
