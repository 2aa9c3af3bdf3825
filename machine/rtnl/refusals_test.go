// SPDX-License-Identifier: MIT

package rtnl

import (
	"io"
	"net/netip"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// refusing is a route netlink socket whose kernel refuses everything with errno.
func refusing(errno unix.Errno) *Conn {
	return &Conn{c: nltest.Dial(func(reqs []netlink.Message) ([]netlink.Message, error) {
		if len(reqs) == 0 {
			return nil, io.EOF
		}
		return remedytest.Refuse(reqs[0], errno), nil
	})}
}

// Each errno that the kernel may answer to what we ask has the table's words, and names what was
// asked for.
func TestRefused(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.7")
	for _, x := range []struct {
		call   remedy.Call
		object string
		ask    func(*Conn) error
	}{
		{remedy.LinkGet, "network interfaces", func(c *Conn) error { _, err := c.Links(); return err }},
		{remedy.LinkGet, "interface eth7", func(c *Conn) error { _, err := c.Named("eth7"); return err }},
		{remedy.LinkGet, "interface number 3", func(c *Conn) error { _, err := c.Link(3); return err }},
		{remedy.AddrGet, "addresses", func(c *Conn) error { _, err := c.Addrs(); return err }},
		{remedy.Route, "192.0.2.7", func(c *Conn) error { _, err := c.Route(addr); return err }},
		{remedy.NeighGet, "192.0.2.7", func(c *Conn) error { _, err := c.Neighbour(1, addr); return err }},
		{remedy.NetnsIDGet, "network namespace", func(c *Conn) error { _, err := c.NetnsID(1); return err }},
		{remedy.QdiscGet, "interface number 1", func(c *Conn) error { _, err := c.Qdiscs(1, false); return err }},
		{remedy.QdiscGet, "interface number 1", func(c *Conn) error { _, err := c.Qdiscs(1, true); return err }},
		{remedy.QdiscGet, "all interfaces", func(c *Conn) error { _, err := c.Qdiscs(0, false); return err }},
	} {
		remedytest.Try(t, x.call, x.object, func(errno unix.Errno) error { return x.ask(refusing(errno)) })
	}
	remedytest.Try(t, remedy.NetlinkSocket, "route netlink socket", remedytest.Denied(unix.SYS_SOCKET,
		func() error { _, err := Dial(); return err }), remedytest.Repeated...)
}
