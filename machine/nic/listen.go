// SPDX-License-Identifier: MIT

package nic

import (
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// monitorGroup is where the kernel tells of changes made by ethtool
// (ETHTOOL_MCGRP_MONITOR_NAME).
const monitorGroup = "monitor"

// listen listens for a message about the device. Heard reports whether it has come by
// now: the kernel sends it before it answers who asked for the change. Where nobody can
// listen, it says that it has.
func (d *Device) listen(command uint8) (heard func() bool, done func()) {
	deaf := func() bool { return true }
	conn, err := genetlink.Dial(&netlink.Config{NetNS: int(d.netns.Fd())})
	if err != nil {
		return deaf, func() {}
	}
	done = func() { _ = conn.Close() }
	for _, g := range d.ethtool.Groups {
		if g.Name != monitorGroup {
			continue
		}
		if conn.JoinGroup(g.ID) != nil {
			return deaf, done
		}
		return func() bool { return d.came(conn, command) }, done
	}
	return deaf, done
}

// answerWithin is how long the kernel may take to say what it knows by heart.
const answerWithin = 10 * time.Second

// came reports whether the message is there. The socket asks something of its own: what
// came before its answer was there when it asked.
func (d *Device) came(conn *genetlink.Conn, command uint8) (came bool) {
	ae := netlink.NewAttributeEncoder()
	d.header(ae)
	data, err := ae.Encode()
	if err != nil {
		return true
	}
	asked, err := conn.Send(genetlink.Message{Header: genetlink.Header{Command: unix.ETHTOOL_MSG_RINGS_GET,
		Version: d.ethtool.Version}, Data: data}, d.ethtool.ID, netlink.Request)
	if err != nil || conn.SetReadDeadline(time.Now().Add(answerWithin)) != nil {
		return true
	}
	for {
		msgs, heads, err := conn.Receive()
		if err != nil {
			return true
		}
		for i, m := range msgs {
			if heads[i].Header.Sequence == asked.Header.Sequence && heads[i].Header.PID == asked.Header.PID {
				return came
			}
			came = came || m.Header.Command == command && d.concerns(m)
		}
	}
}

// concerns reports whether a message of family ethtool is about the device: its first
// attribute, as of requests, says so.
func (d *Device) concerns(m genetlink.Message) (ours bool) {
	ad, err := netlink.NewAttributeDecoder(m.Data)
	if err != nil {
		return true
	}
	for ad.Next() {
		if ad.Type() != unix.ETHTOOL_A_RINGS_HEADER {
			continue
		}
		ad.Nested(func(h *netlink.AttributeDecoder) error {
			for h.Next() {
				if h.Type() == unix.ETHTOOL_A_HEADER_DEV_INDEX && h.Uint32() == uint32(d.Index) {
					ours = true
				}
			}
			return nil
		})
	}
	return ours || ad.Err() != nil
}
