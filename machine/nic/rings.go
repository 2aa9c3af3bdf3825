// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"strconv"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Rings are the descriptors of every queue (net/ethtool/rings.c).
type Rings struct {
	RX, TX       int
	RXJumbo      int // buffers for payload, where the driver has a ring of its own for them; 0: not told
	RXMax, TXMax int
	RXJumboMax   int
	RXBufLen     int // bytes of a receive buffer; 0: not told
	HDSThreshMax int // bytes; 0: not told
}

// header encodes attribute 1 of every request of the family ethtool.
func (d *Device) header(ae *netlink.AttributeEncoder) {
	ae.Nested(unix.ETHTOOL_A_RINGS_HEADER, func(h *netlink.AttributeEncoder) error {
		h.Uint32(unix.ETHTOOL_A_HEADER_DEV_INDEX, uint32(d.Index))
		return nil
	})
}

// Rings reads the ring sizes. A driver without them answers EOPNOTSUPP.
func (d *Device) Rings() (r Rings, err error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RINGS_GET, 0, d.header)
	for _, m := range msgs {
		if err == nil {
			r, err = decodeRings(m.Data)
		}
	}
	if err != nil {
		return r, d.failed(remedy.RingsGet, d.op("read the ring sizes"), err)
	}
	return r, nil
}

func decodeRings(b []byte) (r Rings, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return r, err
	}
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_RINGS_RX:
			r.RX = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_TX:
			r.TX = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_RX_JUMBO:
			r.RXJumbo = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_RX_JUMBO_MAX:
			r.RXJumboMax = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_RX_BUF_LEN:
			r.RXBufLen = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_RX_MAX:
			r.RXMax = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_TX_MAX:
			r.TXMax = int(ad.Uint32())
		case unix.ETHTOOL_A_RINGS_HDS_THRESH_MAX:
			r.HDSThreshMax = int(ad.Uint32())
		}
	}
	return r, ad.Err()
}

// ringAttrs are the rings that can be set, by the names that ethtool -G gives them.
var ringAttrs = map[string]uint16{
	"rx": unix.ETHTOOL_A_RINGS_RX, "tx": unix.ETHTOOL_A_RINGS_TX, "rx-jumbo": unix.ETHTOOL_A_RINGS_RX_JUMBO,
}

// of returns the size of a ring by its name.
func (r Rings) of(name string) int {
	return map[string]int{"rx": r.RX, "tx": r.TX, "rx-jumbo": r.RXJumbo}[name]
}

// SetRing sets the size of the ring rx, tx or rx-jumbo, in descriptors. Many drivers
// take the link down for it.
func (d *Device) SetRing(name string, n int) error {
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RINGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
		ae.Uint32(ringAttrs[name], uint32(n))
	})
	if err != nil {
		return failed(remedy.RingSet, d.op("set the ring %s to %d", name, n), err,
			d.on(attempt{queue: noQueue, ring: name, size: n, value: strconv.Itoa(n)}))
	}
	return nil
}

// Channels are how many queues there are (net/ethtool/channels.c).
type Channels struct {
	RX, TX, Other, Combined             int
	RXMax, TXMax, OtherMax, CombinedMax int
}

func (c Channels) String() string {
	return fmt.Sprintf("rx %d tx %d other %d combined %d", c.RX, c.TX, c.Other, c.Combined)
}

func parseChannels(s string) (c Channels, err error) {
	if _, err := fmt.Sscanf(s, "rx %d tx %d other %d combined %d", &c.RX, &c.TX, &c.Other,
		&c.Combined); err != nil || c.String() != s || min(c.RX, c.TX, c.Other, c.Combined) < 0 {
		return c, fmt.Errorf("channels %q: want rx N tx N other N combined N", s)
	}
	return c, nil
}

// Channels reads the numbers of queues.
func (d *Device) Channels() (c Channels, err error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_CHANNELS_GET, 0, d.header)
	for _, m := range msgs {
		if err == nil {
			c, err = decodeChannels(m.Data)
		}
	}
	if err != nil {
		return c, d.failed(remedy.ChannelsGet, d.op("read the channels"), err)
	}
	return c, nil
}

func decodeChannels(b []byte) (c Channels, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return c, err
	}
	at := map[uint16]*int{
		unix.ETHTOOL_A_CHANNELS_RX_COUNT: &c.RX, unix.ETHTOOL_A_CHANNELS_TX_COUNT: &c.TX,
		unix.ETHTOOL_A_CHANNELS_OTHER_COUNT: &c.Other, unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT: &c.Combined,
		unix.ETHTOOL_A_CHANNELS_RX_MAX: &c.RXMax, unix.ETHTOOL_A_CHANNELS_TX_MAX: &c.TXMax,
		unix.ETHTOOL_A_CHANNELS_OTHER_MAX: &c.OtherMax, unix.ETHTOOL_A_CHANNELS_COMBINED_MAX: &c.CombinedMax,
	}
	for ad.Next() {
		if p := at[ad.Type()]; p != nil {
			*p = int(ad.Uint32())
		}
	}
	return c, ad.Err()
}

// SetChannels sets the numbers of queues, all four: a driver has only some kinds
// and refuses others than it has. The kernel refuses to take away a queue that
// RSS, a rule or a memory provider uses.
func (d *Device) SetChannels(c Channels) error {
	now, err := d.Channels()
	if err != nil {
		return err
	}
	_, err = d.ask(d.ethtool, unix.ETHTOOL_MSG_CHANNELS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
		for _, x := range []struct {
			attr     uint16
			was, now int
		}{{unix.ETHTOOL_A_CHANNELS_RX_COUNT, now.RX, c.RX}, {unix.ETHTOOL_A_CHANNELS_TX_COUNT, now.TX, c.TX},
			{unix.ETHTOOL_A_CHANNELS_OTHER_COUNT, now.Other, c.Other}, {unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT,
				now.Combined, c.Combined}} {
			if x.was != x.now {
				ae.Uint32(x.attr, uint32(x.now))
			}
		}
	})
	if err != nil {
		return d.heldByRules(failed(remedy.ChannelsSet, d.op("set the channels %v", c), err,
			d.on(attempt{queue: noQueue, channels: c, value: c.String()})))
	}
	return nil
}
