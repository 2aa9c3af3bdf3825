package labtest

import (
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/nic"
	"golang.org/x/sys/unix"
)

// HWGRO sets the feature rx-gro-hw for a transfer.
func HWGRO(t *testing.T, on bool) func(*nic.Device) func() {
	return func(d *nic.Device) func() {
		if err := setFeature(d.Name, "rx-gro-hw", on); err != nil {
			t.Errorf("rx-gro-hw: %v", err)
		}
		return func() {
			if err := setFeature(d.Name, "rx-gro-hw", false); err != nil {
				t.Errorf("rx-gro-hw: %v", err)
			}
		}
	}
}

// setFeature is ethtool -K (ETHTOOL_MSG_FEATURES_SET), in the calling thread's
// namespace. The numbers are those of include/uapi/linux/ethtool_netlink.h.
func setFeature(dev, name string, on bool) error {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := c.GetFamily("ethtool")
	if err != nil {
		return err
	}
	ae := netlink.NewAttributeEncoder()
	ae.Nested(unix.ETHTOOL_A_FEATURES_HEADER, func(h *netlink.AttributeEncoder) error {
		h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, dev)
		return nil
	})
	ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(w *netlink.AttributeEncoder) error {
		w.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
			bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(b *netlink.AttributeEncoder) error {
				b.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
				b.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, on)
				return nil
			})
			return nil
		})
		return nil
	})
	b, err := ae.Encode()
	if err != nil {
		return err
	}
	m := genetlink.Message{Header: genetlink.Header{Command: unix.ETHTOOL_MSG_FEATURES_SET, Version: f.Version}, Data: b}
	_, err = c.Execute(m, f.ID, netlink.Request|netlink.Acknowledge)
	return err
}
