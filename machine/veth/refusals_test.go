// SPDX-License-Identifier: MIT

package veth

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/netns"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Each errno that the kernel may answer has the table's words, and names what was to be made.
func TestRefused(t *testing.T) {
	ns, err := OpenNetns("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	c, err := rtnl.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := End{Dev: "zcsut", IPv4: net.IPv4(10, 77, 0, 1), IPv6: net.ParseIP("fd00:77::1")}
	for _, x := range []struct {
		call   remedy.Call
		nr     uint32
		object string
		do     func() error
	}{
		{remedy.VethAdd, unix.SYS_SENDMSG, "veth link zcsut",
			func() error { return addVeth("zcsut", "zctg", ns.Fd(), 1500) }},
		{remedy.AddrAdd, unix.SYS_SENDMSG, "10.77.0.1 to zcsut", func() error { return e.address(c, 1) }},
		{remedy.LinkUp, unix.SYS_SENDMSG, "set zcsut up", func() error { return setUp(c, "zcsut", 1) }},
		{remedy.FileNetctl, unix.SYS_OPENAT, "net.ipv4.tcp_rmem", func() error { return e.configure(Options{}) }},
		{remedy.NetnsOpen, unix.SYS_OPENAT, "/proc/self/ns/net",
			func() error { _, err := OpenNetns("/proc/self/ns/net"); return err }},
	} {
		remedytest.Try(t, x.call, x.object, remedytest.Denied(x.nr, x.do), remedytest.Repeated...)
	}
	defer func() { unshare, netns.Enter = unix.Unshare, unix.Setns }()
	remedytest.Try(t, remedy.NetnsMake, "network namespace", func(errno unix.Errno) error {
		unshare = func(int) error { return errno }
		_, err := NewNetns()
		return err
	})
	remedytest.Try(t, remedy.NetnsEnter, "/proc/self/ns/net", func(errno unix.Errno) error {
		netns.Enter = func(int, int) error { return errno }
		return ns.Do(func() error { return nil })
	})
}
