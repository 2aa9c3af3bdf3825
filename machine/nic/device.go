// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// Device is a network interface, reached through sockets in the network
// namespace where it was opened. It is used by one goroutine at a time.
type Device struct {
	Name  string
	Index int

	conn    *genetlink.Conn
	turns   rtnl.Turns // of conn
	ethtool genetlink.Family
	netdev  genetlink.Family
	route   *rtnl.Conn
	ioctlFD int
	netns   *os.File // where it was opened
	sysfs   *os.File // of that namespace; nil until it is needed

	hung bool // its driver was too busy to read a rule back, the last time

	driver func(cmd []byte) error // of tests: answers SIOCETHTOOL in the kernel's place
}

// Open finds the interface name in the calling thread's network namespace.
func Open(name string) (*Device, error) {
	index, err := tape.Ask("interface", func() (int, error) {
		i, err := net.InterfaceByName(name)
		if errno := unix.Errno(0); errors.As(err, &errno) { // there was no list to look at
			return 0, errno
		}
		if err != nil {
			return 0, unix.ENODEV
		}
		return i.Index, nil
	})
	if errors.Is(err, tape.ErrNoAnswer) {
		return nil, err
	}
	if err != nil {
		return nil, failed(remedy.LinkGet, "find interface "+name, err, remedy.On{Dev: name})
	}
	d := &Device{Name: name, Index: index, ioctlFD: -1}
	if err := tape.Note("netlink of ethtool and netdev", d.open()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) open() (err error) {
	if tape.Replaying() {
		return d.openReplay()
	}
	if d.conn, err = genetlink.Dial(nil); err != nil {
		return d.failed(remedy.NetlinkSocket, "open a generic netlink socket", err)
	}
	// Texts with errors, where the kernel has any.
	_ = d.conn.SetOption(netlink.ExtendedAcknowledge, true)
	if d.ethtool, err = d.conn.GetFamily("ethtool"); err != nil {
		return d.failed(remedy.NetlinkFamily, "find generic netlink family ethtool", err)
	}
	if d.netdev, err = d.conn.GetFamily("netdev"); err != nil {
		return d.failed(remedy.NetlinkFamily, "find generic netlink family netdev", err)
	}
	if d.route, err = rtnl.Dial(); err != nil {
		return d.failed(remedy.NetlinkSocket, "open a route netlink socket", err)
	}
	if d.netns, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return failed(remedy.NetnsOpen, "open the network namespace /proc/thread-self/ns/net", err,
			remedy.On{Path: "/proc/thread-self/ns/net"})
	}
	return d.openIoctl()
}

func (d *Device) openIoctl() (err error) {
	if d.ioctlFD, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return d.failed(remedy.IoctlSocket, "open a socket for ethtool", err)
	}
	return nil
}

// Close closes the sockets. It undoes nothing.
func (d *Device) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
		d.conn = nil
	}
	if d.route != nil {
		d.route.Close()
		d.route = nil
	}
	for _, f := range []**os.File{&d.netns, &d.sysfs} {
		if *f != nil {
			err = errors.Join(err, (*f).Close())
			*f = nil
		}
	}
	if d.ioctlFD >= 0 {
		err = errors.Join(err, unix.Close(d.ioctlFD))
		d.ioctlFD = -1
	}
	return err
}

// encoded encodes the attributes that fill writes.
func encoded(fill func(*netlink.AttributeEncoder)) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	fill(ae)
	return ae.Encode()
}

// ask sends one request of a family and returns the replies.
func (d *Device) ask(f genetlink.Family, cmd uint8, flags netlink.HeaderFlags,
	fill func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	data, err := encoded(fill)
	if err != nil {
		return nil, err
	}
	return d.askRaw(f, cmd, flags, data, data)
}

// askRaw sends data, which a record knows as asked.
func (d *Device) askRaw(f genetlink.Family, cmd uint8, flags netlink.HeaderFlags, data,
	asked []byte) ([]genetlink.Message, error) {
	m := genetlink.Message{Header: genetlink.Header{Command: cmd, Version: f.Version}, Data: data}
	if tape.Off() { // which allocates nothing more
		return d.execute(f, m, flags)
	}
	return recorded(f.Name, cmd, flags, asked, func() ([]genetlink.Message, error) { return d.execute(f, m, flags) })
}

func (d *Device) execute(f genetlink.Family, m genetlink.Message, flags netlink.HeaderFlags) (
	msgs []genetlink.Message, err error) {
	err = d.turns.Take(d.conn, f.Name, int(m.Header.Command),
		func() (netlink.Message, error) { return d.conn.Send(m, f.ID, netlink.Request|flags) },
		func() (heads []netlink.Message, err error) {
			msgs, heads, err = d.conn.Receive()
			return heads, err
		})
	if err != nil {
		return nil, err
	}
	return msgs, nil
}

// each decodes the attributes of every reply.
func each(msgs []genetlink.Message, f func(*netlink.AttributeDecoder)) error {
	for _, m := range msgs {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return err
		}
		for ad.Next() {
			f(ad)
		}
		if err := ad.Err(); err != nil {
			return err
		}
	}
	return nil
}

// op names an operation on the device.
func (d *Device) op(format string, args ...any) string {
	return fmt.Sprintf(format, args...) + " of " + d.Name
}
