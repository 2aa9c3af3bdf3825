// SPDX-License-Identifier: MIT

package nic

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// message makes attributes as the kernel sends them.
func message(t testing.TB, fill func(*netlink.AttributeEncoder)) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	fill(ae)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bits writes a bit set in its long form.
func bits(ae *netlink.AttributeEncoder, typ uint16, mask bool, bits map[string]bool, order ...string) {
	ae.Nested(typ, func(set *netlink.AttributeEncoder) error {
		set.Flag(unix.ETHTOOL_A_BITSET_NOMASK, !mask)
		set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(list *netlink.AttributeEncoder) error {
			for i, name := range order {
				list.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(b *netlink.AttributeEncoder) error {
					b.Uint32(unix.ETHTOOL_A_BITSET_BIT_INDEX, uint32(i))
					b.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					b.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, mask && bits[name])
					return nil
				})
			}
			return nil
		})
		return nil
	})
}

func featuresMessage(t testing.TB) []byte {
	return message(t, func(ae *netlink.AttributeEncoder) {
		bits(ae, unix.ETHTOOL_A_FEATURES_HW, true, map[string]bool{"rx-gro": true, "rx-gro-hw": true, "rx-fcs": true},
			"rx-gro", "rx-gro-hw", "rx-fcs", "tx-lockless")
		bits(ae, unix.ETHTOOL_A_FEATURES_WANTED, false, nil, "rx-gro", "rx-gro-hw")
		bits(ae, unix.ETHTOOL_A_FEATURES_ACTIVE, false, nil, "rx-gro", "rx-fcs")
		bits(ae, unix.ETHTOOL_A_FEATURES_NOCHANGE, false, nil, "tx-lockless")
	})
}

func TestFeatures(t *testing.T) {
	got := map[string]Feature{}
	if err := decodeFeatures(featuresMessage(t), got); err != nil {
		t.Fatal(err)
	}
	want := map[string]Feature{
		"rx-gro":      {Known: true, Hard: true, Wanted: true, Active: true},
		"rx-gro-hw":   {Known: true, Hard: true, Wanted: true},
		"rx-fcs":      {Known: true, Hard: true, Active: true},
		"tx-lockless": {Known: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for name, text := range map[string]string{"rx-gro": "on", "rx-gro-hw": "wanted on, is off",
		"rx-fcs": "wanted off, is on", "tx-lockless": "off"} {
		if s := got[name].String(); s != text {
			t.Errorf("%s: %q, want %q", name, s, text)
		}
	}
}

func ringsMessage(t testing.TB) []byte {
	return message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.ETHTOOL_A_RINGS_RX_MAX, 8192)
		ae.Uint32(unix.ETHTOOL_A_RINGS_RX, 512)
		ae.Uint32(unix.ETHTOOL_A_RINGS_TX, 1024)
		ae.Uint8(unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, 2)
		ae.Uint32(unix.ETHTOOL_A_RINGS_HDS_THRESH_MAX, 1023)
	})
}

func napiMessage(t testing.TB) []byte {
	return message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrNAPIIfindex, 2)
		ae.Uint32(attrNAPIID, 8193)
		ae.Uint32(attrNAPIIRQ, 55)
		ae.Uint32(attrNAPIDefer, 7)
		putUint(ae, attrNAPIFlush, 30000)
		putUint(ae, attrNAPISuspend, 20_000_000_000)
		putUint(ae, attrNAPIThreaded, 1)
	})
}

func poolStatsMessage(t testing.TB) []byte {
	return message(t, func(ae *netlink.AttributeEncoder) {
		ae.Nested(attrPoolStatsInfo, func(n *netlink.AttributeEncoder) error {
			putUint(n, attrPoolID, 17)
			n.Uint32(attrPoolIfindex, 4)
			return nil
		})
		for typ, v := range map[uint16]uint64{attrPoolStatsFast: 630, attrPoolStatsSlow: 0, attrPoolStatsHighOrder: 11,
			attrPoolStatsEmpty: 10, attrPoolStatsRefill: 2,
			attrPoolStatsWaive: 3, attrPoolStatsCached: 4, attrPoolStatsCacheFull: 5, attrPoolStatsRing: 1 << 40,
			attrPoolStatsRingFull: 6, attrPoolStatsReleased: 7} {
			putUint(ae, typ, v)
		}
	})
}

func TestDecoders(t *testing.T) {
	if id, index, s, err := decodePoolStats(poolStatsMessage(t)); err != nil || id != 17 || index != 4 ||
		s != (PoolStats{Fast: 630, Refill: 2, Empty: 10, HighOrder: 11, Waive: 3, Cached: 4, CacheFull: 5,
			Ring: 1 << 40, RingFull: 6, Released: 7}) ||
		s.Buffers() != 643 || s.Recycled() != 1<<40+4 {
		t.Errorf("pool %d of %d: %+v, %v", id, index, s, err)
	}
	if r, err := decodeRings(ringsMessage(t)); err != nil ||
		r != (Rings{RX: 512, TX: 1024, RXMax: 8192, HDSThreshMax: 1023}) {
		t.Errorf("rings %+v, %v", r, err)
	}
	n, err := decodeNAPI(napiMessage(t))
	if err != nil || n.ID != 8193 || n.IRQ != 55 || n.NAPISettings != (NAPISettings{7, 30000, 20_000_000_000, "on"}) {
		t.Errorf("NAPI %+v, %v", n, err)
	}
	if n, err := decodeNAPI(nil); err != nil || n.IRQ != -1 || n.Threaded != "" {
		t.Errorf("an empty NAPI %+v, %v", n, err)
	}
	c, err := decodeChannels(message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.ETHTOOL_A_CHANNELS_COMBINED_MAX, 8)
		ae.Uint32(unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, 4)
		ae.Uint32(unix.ETHTOOL_A_CHANNELS_OTHER_COUNT, 1)
	}))
	if err != nil || c != (Channels{Combined: 4, CombinedMax: 8, Other: 1}) {
		t.Errorf("channels %+v, %v", c, err)
	}
	got := map[string]uint32{}
	err = decodeCoalescing(message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.ETHTOOL_A_COALESCE_RX_USECS, 50)
		ae.Uint8(unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 1)
	}), got)
	if d := cmp.Diff(map[string]uint32{"rx-usecs": 50, "adaptive-rx": 1}, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

// Every text that a setting has reads back as the same.
func TestTexts(t *testing.T) {
	for _, s := range []string{"rx 0 tx 0 other 1 combined 4", "rx 8 tx 4 other 0 combined 0"} {
		if c, err := parseChannels(s); err != nil || c.String() != s {
			t.Errorf("%q: %v, %v", s, c, err)
		}
	}
	for _, s := range []string{"tcp-data-split on, hds-thresh 0", "tcp-data-split off, hds-thresh 256",
		"tcp-data-split auto"} {
		if h, err := parseSplit(s); err != nil || h.String() != s {
			t.Errorf("%q: %v, %v", s, h, err)
		}
	}
	for _, s := range []string{"defer-hard-irqs 7, gro-flush-timeout 30000, irq-suspend-timeout 0, threaded busy-poll",
		"defer-hard-irqs 0, gro-flush-timeout 0, irq-suspend-timeout 1"} {
		if n, err := ParseNAPISettings(s); err != nil || n.String() != s {
			t.Errorf("%q: %v, %v", s, n, err)
		}
	}
	for _, s := range []string{"10.77.0.2:6000 > 10.77.0.1:5000 queue 1",
		"[fd00:77::2]:6000 > [fd00:77::1]:5000 queue 2",
		"any > 10.77.0.1:5000 queue 3", "any > 10.77.0.1:5000 context 2,3", "any > [fd00:77::1]:5000 context 7"} {
		if r, err := parseRule(s); err != nil || r.String() != s {
			t.Errorf("%q: %v, %v", s, r, err)
		}
	}
	d := &Device{Name: "eth0"}
	for name, bad := range map[string]string{"channels": "combined 4", "header-split": "on",
		"napi 0": "defer-hard-irqs 7", "rss": "0 x", "feature rx-gro": "maybe",
		"ring rx": "many", "coalesce rx-usecs": "-1", "mtu": "big"} {
		s, err := d.Setting(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if s.Set(bad) == nil {
			t.Errorf("%s took %q", name, bad)
		}
	}
	for _, name := range []string{"", "nothing", "ring", "ring mini", "napi", "napi -1", "rps x",
		"rule 1.1.1.1:1 > [::1]:1 queue 0", "rule any", "rule any > 10.0.0.1:1 queue", "rule any > 10.0.0.1:1 context",
		"rule any > 10.0.0.1:1 context 2,x", "rule 10.0.0.2:1 > 10.0.0.1:1 context 2", "rss-context",
		"rss-context 1,x", "rss-context 01"} {
		if _, err := d.Setting(name); err == nil {
			t.Errorf("there is a setting %q", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(featuresMessage(f))
	f.Add(ringsMessage(f))
	f.Add(napiMessage(f))
	f.Add(poolStatsMessage(f))
	f.Add(qstatMessage(f))
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = decodeFeatures(b, map[string]Feature{})
		_ = decodeCoalescing(b, map[string]uint32{})
		_, _ = decodeRings(b)
		_, _ = decodeChannels(b)
		_, _ = decodeNAPI(b)
		_, _ = decodeContext(b)
		_, _, _ = decodeQueue(b)
		_, _, _ = decodePool(b)
		_, _, _, _ = decodePoolStats(b)
		_, _ = decodeQStat(b)
		_ = decodeStats(b, b, len(b))
		_ = decodeStats(b, b[:len(b)/2], 1<<31-1)
		msgs := []genetlink.Message{{Data: b}}
		_ = each(msgs, new(HeaderSplit).decode)
		_ = each(msgs, new(Binding).decode)
	})
}

func FuzzTexts(f *testing.F) {
	for _, s := range []string{"rx 0 tx 0 other 1 combined 4", "tcp-data-split on, hds-thresh 0",
		"defer-hard-irqs 7, gro-flush-timeout 30000, irq-suspend-timeout 0, threaded on",
		"10.77.0.2:6000 > 10.77.0.1:5000 queue 1", "0 1 0 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := parseChannels(s); err == nil && c.String() != s {
			t.Errorf("channels %q became %q", s, c)
		}
		if n, err := ParseNAPISettings(s); err == nil && n.String() != s {
			t.Errorf("NAPI %q became %q", s, n)
		}
		if r, err := parseRule(s); err == nil && r.String() != s {
			t.Errorf("rule %q became %q", s, r)
		}
		_, _ = parseSplit(s)
		_, _ = parseTable(s)
	})
}
