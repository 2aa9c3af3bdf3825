// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// privateFlag calls f with one of the driver's own switches on, of the receiver's interface.
func privateFlag(t *testing.T, name string, f func()) {
	t.Helper()
	if err := setPrivateFlag(name, true); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := setPrivateFlag(name, false); err != nil {
			t.Error(err)
		}
	}()
	f()
}

func setPrivateFlag(name string, on bool) error {
	_, err := OnDevice(func(d *nic.Device) (struct{}, error) {
		c, err := genetlink.Dial(nil)
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		family, err := c.GetFamily("ethtool")
		if err != nil {
			return struct{}{}, err
		}
		ae := netlink.NewAttributeEncoder()
		ae.Nested(unix.ETHTOOL_A_PRIVFLAGS_HEADER, func(h *netlink.AttributeEncoder) error {
			h.Uint32(unix.ETHTOOL_A_HEADER_DEV_INDEX, uint32(d.Index))
			return nil
		})
		ae.Nested(unix.ETHTOOL_A_PRIVFLAGS_FLAGS, func(set *netlink.AttributeEncoder) error {
			set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
				bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(b *netlink.AttributeEncoder) error {
					b.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					b.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, on)
					return nil
				})
				return nil
			})
			return nil
		})
		data, err := ae.Encode()
		if err == nil {
			m := genetlink.Message{Header: genetlink.Header{Command: unix.ETHTOOL_MSG_PRIVFLAGS_SET,
				Version: family.Version}, Data: data}
			_, err = c.Execute(m, family.ID, netlink.Request|netlink.Acknowledge)
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("private flag %s: %w", name, err)
	}
	return nil
}
