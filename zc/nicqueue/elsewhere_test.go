// SPDX-License-Identifier: MIT

package nicqueue

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

// A flow that comes by another interface than the one that is to steer it is elsewhere, by the name
// of that one. Where it comes by the interface itself, which does not tell which queue a NAPI
// instance serves, as veth, nothing is known.
func TestIntegrationElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	if err := pair.SUT.Netns.Do(func() error { return secondLink(pair) }); err != nil {
		t.Fatal(err)
	}
	vethtest.GRO(t, pair.SUT, true)
	vethtest.NoTSO(t, pair.TG)
	fd := received(t, pair)
	for dev, ok := range map[string]bool{"zcsut2": true, "zcsut": false} {
		q := opened(t, pair, dev)
		for range 2 { // the second time the number is a known stranger's
			at, seen := q.SeenOn(fd)
			on, landed := q.Landed(fd)
			if seen != ok || landed != ok || ok && (at.Dev != "zcsut" || on.Dev != "zcsut") ||
				at.Elsewhere() != ok || q.OtherDev() != on.Dev {
				t.Errorf("%s: seen on %v (%v), landed on %v (%v), other %q", dev, at, seen, on, landed, q.OtherDev())
			}
			if napi, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID); err != nil {
				t.Error(err)
			} else if serves, told := q.Serves(uint32(napi)); serves || told != ok {
				t.Errorf("%s: serves the flow: %v, %v", dev, serves, told)
			}
		}
		where, fix := q.Whereabouts(fd)
		if said := strings.HasPrefix(where, "the flow came by interface zcsut, "); said != ok || fix == "" ||
			strings.Contains(where, NotOnQueue) {
			t.Errorf("%s: %s; fix: %s", dev, where, fix)
		}
	}
}

// secondLink adds another link between the two hosts.
func secondLink(p *veth.Pair) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	return c.AddVeth(rtnl.VethEnd{Name: "zcsut2", MTU: 1500}, rtnl.VethEnd{Name: "zctg2", MTU: 1500}, p.TG.Netns.Fd())
}

// opened is a queue of an interface of the receiver.
func opened(t *testing.T, p *veth.Pair, dev string) *Queue {
	t.Helper()
	q := &Queue{mode: "tcp"}
	if err := p.SUT.Netns.Do(func() (err error) { q.Dev, err = nic.Open(dev); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Dev.Close() })
	return q
}

// received is the socket of a flow over the first link, which has brought a byte.
func received(t *testing.T, p *veth.Pair) (fd int) {
	t.Helper()
	var l net.Listener
	if err := p.SUT.Netns.Do(func() (err error) {
		l,
			err = net.Listen("tcp", net.JoinHostPort(p.SUT.IPv4.String(), "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var c net.Conn
	if err := p.TG.Netns.Do(func() (err error) {
		c,
			err = net.Dial("tcp", l.Addr().String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := c.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	f, err := in.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if napi, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID); err != nil ||
		napi == 0 {
		t.Fatalf("the socket names NAPI %d, %v: want that of a queue", napi, err)
	}
	return int(f.Fd())
}
