// SPDX-License-Identifier: MIT

package softnictest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ethtool sends one request of the generic netlink family "ethtool"
// (include/uapi/linux/ethtool_netlink.h) about a device and returns the
// replies. The device is found in the current namespace.
func ethtool(dev string, cmd uint8, flags netlink.HeaderFlags,
	fill func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	return genl("ethtool", cmd, flags, func(ae *netlink.AttributeEncoder) {
		// Every request's header is attribute 1.
		ae.Nested(1, func(h *netlink.AttributeEncoder) error {
			h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, dev)
			return nil
		})
		if fill != nil {
			fill(ae)
		}
	})
}

// genl sends one request of a generic netlink family and returns the replies.
func genl(family string, cmd uint8, flags netlink.HeaderFlags,
	fill func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return genlOn(c, family, cmd, flags, fill)
}

func genlOn(c *genetlink.Conn, family string, cmd uint8, flags netlink.HeaderFlags,
	fill func(*netlink.AttributeEncoder)) ([]genetlink.Message, error) {
	c.SetOption(netlink.ExtendedAcknowledge, true)
	fam, err := c.GetFamily(family)
	if err != nil {
		return nil, err
	}
	ae := netlink.NewAttributeEncoder()
	if fill != nil {
		fill(ae)
	}
	data, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := genetlink.Message{Header: genetlink.Header{Command: cmd, Version: fam.Version}, Data: data}
	msgs, err := c.Execute(m, fam.ID, netlink.Request|flags)
	if err != nil {
		return nil, fmt.Errorf("%s command %d: %w", family, cmd, err)
	}
	return msgs, nil
}

// rings is the part of ETHTOOL_A_RINGS_* that the tests use.
type rings struct {
	RX, TX    uint32
	Split     uint8 // unix.ETHTOOL_TCP_DATA_SPLIT_*
	Threshold uint32
}

// ETHTOOL_TCP_DATA_SPLIT_*, include/uapi/linux/ethtool_netlink.h.
const (
	splitOff = 1 // ETHTOOL_TCP_DATA_SPLIT_DISABLED
	splitOn  = 2 // ETHTOOL_TCP_DATA_SPLIT_ENABLED
)

func getRings(dev string) (rings, error) {
	var r rings
	msgs, err := ethtool(dev, unix.ETHTOOL_MSG_RINGS_GET, 0, nil)
	if err != nil {
		return r, err
	}
	ad, err := netlink.NewAttributeDecoder(msgs[0].Data)
	if err != nil {
		return r, err
	}
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_RINGS_RX:
			r.RX = ad.Uint32()
		case unix.ETHTOOL_A_RINGS_TX:
			r.TX = ad.Uint32()
		case unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT:
			r.Split = ad.Uint8()
		case unix.ETHTOOL_A_RINGS_HDS_THRESH:
			r.Threshold = ad.Uint32()
		}
	}
	return r, ad.Err()
}

// setRings sets what is not zero.
func setRings(dev string, r rings) error {
	_, err := ethtool(dev, unix.ETHTOOL_MSG_RINGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		if r.RX != 0 {
			ae.Uint32(unix.ETHTOOL_A_RINGS_RX, r.RX)
		}
		if r.TX != 0 {
			ae.Uint32(unix.ETHTOOL_A_RINGS_TX, r.TX)
		}
		if r.Split != 0 {
			ae.Uint8(unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, r.Split)
		}
		if r.Threshold != 0 {
			ae.Uint32(unix.ETHTOOL_A_RINGS_HDS_THRESH, r.Threshold)
		}
	})
	return err
}

// split turns header split of the receiver on or off, and at the end to what it was: off, unless
// the soft NIC imitates a driver that has it on at first.
func split(t testing.TB, state uint8) {
	t.Helper()
	was := in(t, rx.NS, func() (rings, error) { return getRings(rx.Dev) }).Split
	if was == 0 {
		was = splitOff
	}
	do(t, rx.NS, func() error { return setRings(rx.Dev, rings{Split: state}) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return setRings(rx.Dev, rings{Split: was}) }) })
}

// getRSS is the table of the default context.
func getRSS(dev string) (table []uint32, err error) {
	msgs, err := ethtool(dev, msgRSSGet, 0, nil)
	if err != nil {
		return nil, err
	}
	ad, err := netlink.NewAttributeDecoder(msgs[0].Data)
	if err != nil {
		return nil, err
	}
	for ad.Next() {
		if ad.Type() != aRSSIndir {
			continue
		}
		for b := ad.Bytes(); len(b) >= 4; b = b[4:] {
			table = append(table, binary.NativeEndian.Uint32(b))
		}
	}
	return table, ad.Err()
}

func setChannels(dev string, n uint32) error {
	_, err := ethtool(dev, unix.ETHTOOL_MSG_CHANNELS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, n)
	})
	return err
}

// setFeature switches a feature by the name ethtool -k shows.
func setFeature(dev, name string, on bool) error {
	_, err := ethtool(dev, unix.ETHTOOL_MSG_FEATURES_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(b *netlink.AttributeEncoder) error {
			b.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
				bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(bit *netlink.AttributeEncoder) error {
					bit.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					bit.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, on)
					return nil
				})
				return nil
			})
			return nil
		})
	})
	return err
}

// Attributes ETHTOOL_A_RSS_* and commands of RSS contexts.
const (
	aRSSContext = 2
	aRSSIndir   = 4

	msgRSSGet    = 38 // ETHTOOL_MSG_RSS_GET
	msgRSSSet    = 48 // ETHTOOL_MSG_RSS_SET
	msgRSSCreate = 49 // ETHTOOL_MSG_RSS_CREATE_ACT
	msgRSSDelete = 50 // ETHTOOL_MSG_RSS_DELETE_ACT
)

// indirection is a table of n entries going round the queues.
func indirection(n int, queues ...uint32) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.NativeEndian.AppendUint32(b, queues[i%len(queues)])
	}
	return b
}

// setRSS makes the default context use only these queues; none stands for all.
func setRSS(dev string, queues ...uint32) error {
	_, err := ethtool(dev, msgRSSSet, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		table := []byte{} // empty: back to the default
		if len(queues) > 0 {
			table = indirection(128, queues...)
		}
		ae.Bytes(aRSSIndir, table)
	})
	return err
}

func createContext(dev string, queues ...uint32) (uint32, error) {
	msgs, err := ethtool(dev, msgRSSCreate, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(aRSSIndir, indirection(128, queues...))
	})
	if err != nil {
		return 0, err
	}
	for _, m := range msgs {
		ad, err := netlink.NewAttributeDecoder(m.Data)
		if err != nil {
			return 0, err
		}
		for ad.Next() {
			if ad.Type() == aRSSContext {
				return ad.Uint32(), nil
			}
		}
	}
	return 0, errors.New("no context in the reply")
}

func deleteContext(dev string, id uint32) error {
	_, err := ethtool(dev, msgRSSDelete, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(aRSSContext, id)
	})
	return err
}

// encodeThreshold is a RINGS_SET request that changes hds-thresh alone, to 0
// too.
func encodeThreshold(n uint32) func(*netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) { ae.Uint32(unix.ETHTOOL_A_RINGS_HDS_THRESH, n) }
}
