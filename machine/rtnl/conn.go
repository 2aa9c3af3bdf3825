// SPDX-License-Identifier: MIT

// Package rtnl reads and sets interfaces, addresses and routes by rtnetlink, in the
// network namespace of the thread that dials. It stands on the same library as
// package nic's generic netlink, and has what this project needs and no more.
package rtnl

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// Conn is a route netlink socket.
type Conn struct {
	c     *netlink.Conn
	turns Turns
}

// Dial opens a socket in the calling thread's network namespace, in which it stays.
func Dial() (*Conn, error) {
	if tape.Replaying() {
		return &Conn{}, nil
	}
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, remedy.Error(remedy.NetlinkSocket, "open a route netlink socket", err, remedy.On{})
	}
	_ = c.SetOption(netlink.ExtendedAcknowledge, true) // texts with errors, where the kernel has any
	return &Conn{c: c}, nil
}

// Close closes the socket.
func (c *Conn) Close() error {
	if c.c == nil { // a record answers
		return nil
	}
	return c.c.Close()
}

// once asks f on a socket of its own.
func once[T any](f func(*Conn) (T, error)) (v T, err error) {
	c, err := Dial()
	if err != nil {
		return v, err
	}
	defer c.Close()
	return f(c)
}

// ask sends a request of a fixed header and attributes, and returns the answers.
func (c *Conn) ask(kind int, flags netlink.HeaderFlags, header []byte,
	fill func(*netlink.AttributeEncoder)) ([]netlink.Message, error) {
	ae := netlink.NewAttributeEncoder()
	if fill != nil {
		fill(ae)
	}
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := netlink.Message{Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request | flags},
		Data: append(header, attrs...)}
	if tape.Off() {
		return c.execute(m)
	}
	return recorded(kind, flags, m.Data, func() ([]netlink.Message, error) { return c.execute(m) })
}

func (c *Conn) execute(m netlink.Message) (msgs []netlink.Message, err error) {
	err = c.turns.Take(c.c, "rtnetlink", int(m.Header.Type),
		func() (netlink.Message, error) { return c.c.Send(m) },
		func() (_ []netlink.Message, err error) {
			msgs, err = c.c.Receive()
			return msgs, err
		})
	if err != nil {
		return nil, err
	}
	return msgs, nil
}

// ifinfo encodes struct ifinfomsg (include/uapi/linux/rtnetlink.h).
func ifinfo(index int, flags, change uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], uint32(index))
	binary.NativeEndian.PutUint32(b[8:], flags)
	binary.NativeEndian.PutUint32(b[12:], change)
	return b
}
