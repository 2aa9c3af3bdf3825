// SPDX-License-Identifier: MIT

package nic

import (
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Names of features, as the kernel has them (net/ethtool/common.c,
// netdev_features_strings); ethtool -k shows some by an older name.
const (
	FeatureGRO    = "rx-gro"
	FeatureHWGRO  = "rx-gro-hw"
	FeatureTSO    = "tx-tcp-segmentation"
	FeatureSG     = "tx-scatter-gather"
	FeatureNTuple = "rx-ntuple-filter"
	FeatureRXHash = "rx-hashing"
)

// Feature is an offload of an interface.
type Feature struct {
	Known  bool // the kernel names it
	Hard   bool // it can be switched
	Wanted bool // it was asked for
	Active bool // it is in force
}

func (f Feature) String() string {
	switch {
	case f.Wanted == f.Active || !f.Hard:
		return onOff(f.Active)
	case f.Wanted:
		return "wanted on, is off"
	}
	return "wanted off, is on"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Features reads the offloads by name (net/ethtool/features.c).
func (d *Device) Features() (map[string]Feature, error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_FEATURES_GET, 0, d.header)
	out := map[string]Feature{}
	for _, m := range msgs {
		if err == nil {
			err = decodeFeatures(m.Data, out)
		}
	}
	if err != nil {
		return nil, d.failed(remedy.FeaturesGet, d.op("read the features"), err)
	}
	return out, nil
}

func decodeFeatures(b []byte, into map[string]Feature) error {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return err
	}
	for ad.Next() {
		var mark func(*Feature)
		switch ad.Type() {
		case unix.ETHTOOL_A_FEATURES_HW:
			mark = func(f *Feature) { f.Hard = true }
		case unix.ETHTOOL_A_FEATURES_WANTED:
			mark = func(f *Feature) { f.Wanted = true }
		case unix.ETHTOOL_A_FEATURES_ACTIVE:
			mark = func(f *Feature) { f.Active = true }
		case unix.ETHTOOL_A_FEATURES_NOCHANGE:
			mark = func(f *Feature) { f.Hard = false }
		default:
			continue
		}
		ad.Nested(func(n *netlink.AttributeDecoder) error {
			return decodeBitset(n, func(name string, set bool) {
				f := into[name]
				if f.Known = true; set {
					mark(&f)
				}
				into[name] = f
			})
		})
	}
	return ad.Err()
}

// decodeBitset goes through a bit set in its long form
// (Documentation/networking/ethtool-netlink.rst): without a mask every bit that
// is listed is set, with one those that have a value.
func decodeBitset(ad *netlink.AttributeDecoder, bit func(name string, set bool)) error {
	nomask := false
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_BITSET_NOMASK:
			nomask = true
		case unix.ETHTOOL_A_BITSET_BITS:
			ad.Nested(func(bits *netlink.AttributeDecoder) error {
				for bits.Next() {
					name, value := "", false
					bits.Nested(func(b *netlink.AttributeDecoder) error {
						for b.Next() {
							switch b.Type() {
							case unix.ETHTOOL_A_BITSET_BIT_NAME:
								name = b.String()
							case unix.ETHTOOL_A_BITSET_BIT_VALUE:
								value = true
							}
						}
						return b.Err()
					})
					bit(name, value || nomask)
				}
				return bits.Err()
			})
		}
	}
	return ad.Err()
}

// Feature reads one offload. An unknown name is an error.
func (d *Device) Feature(name string) (Feature, error) {
	all, err := d.Features()
	if err != nil {
		return Feature{}, err
	}
	f := all[name]
	if !f.Known {
		return f, &fault.Error{Op: d.op("read the feature %s", name), Err: unix.EINVAL,
			How: "the kernel has no such feature: ethtool -k " + d.Name + " lists them"}
	}
	return f, nil
}

// SetFeature asks for an offload to be on or off. Whether the driver follows, the
// feature says when it is read back.
func (d *Device) SetFeature(name string, on bool) error {
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_FEATURES_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Nested(unix.ETHTOOL_A_FEATURES_HEADER, func(h *netlink.AttributeEncoder) error {
			h.Uint32(unix.ETHTOOL_A_HEADER_DEV_INDEX, uint32(d.Index))
			// it would come beside the acknowledgement
			h.Uint32(unix.ETHTOOL_A_HEADER_FLAGS, unix.ETHTOOL_FLAG_OMIT_REPLY)
			return nil
		})
		ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(set *netlink.AttributeEncoder) error {
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
	})
	if err != nil {
		return failed(remedy.FeaturesSet, d.op("set the feature %s to %s", name, onOff(on)), err,
			d.on(attempt{queue: noQueue, feature: name}))
	}
	return nil
}
