// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// imitating calls f where the soft NIC imitates a driver.
func imitating(t *testing.T, model string, f func(t *testing.T, d *Device)) {
	t.Helper()
	inLab(t, func(t *testing.T, d *Device) {
		if drv, err := d.Driver(); err != nil || drv.Model() != model {
			t.Logf("this is %q, %v: nothing to test", drv.Name, err)
			return
		}
		f(t, d)
	})
}

// setPrivateFlag switches one of the driver's own switches.
func setPrivateFlag(t *testing.T, d *Device, name string, on bool) {
	t.Helper()
	_, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_PRIVFLAGS_SET, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		d.header(ae)
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
	})
	if err != nil {
		t.Errorf("private flag %s: %v", name, err)
	}
}

// mustSay checks an error's words and its fix.
func mustSay(t *testing.T, err error, why, fix string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(fault.Fix(err), fix) {
		t.Errorf("%v\nfix: %s\nwant %q and %q", err, fault.Fix(err), why, fix)
	}
}

func apply(t *testing.T, d *Device, name, value string) error {
	t.Helper()
	s, err := d.Setting(name)
	if err != nil {
		t.Fatal(err)
	}
	return setting.Apply(s, d.Name, value)
}

// mlx5 drops rx-gro-hw without an error where completions are compressed, or with the
// legacy RQ: which of both is said, with the command.
func TestLabImitatedHWGRODropped(t *testing.T) {
	imitating(t, "mlx5_core", func(t *testing.T, d *Device) {
		for name, spoils := range map[string]bool{"rx_cqe_compress": true, "rx_striding_rq": false} {
			setPrivateFlag(t, d, name, spoils)
			flags, err := d.PrivateFlags()
			if len(flags) != 8 || flags[name] != spoils || err != nil {
				t.Errorf("flags %v, %v", flags, err)
			}
			mustSay(t, apply(t, d, "feature "+FeatureHWGRO, "on"), "reads back wanted on, is off: not w",
				"ethtool --set-priv-flags sn0 "+name+" "+onOff(!spoils))
			if err := d.SetFeature(FeatureHWGRO, false); err != nil {
				t.Error(err)
			}
			setPrivateFlag(t, d, name, !spoils)
		}
		if err := errors.Join(apply(t, d, "feature "+FeatureHWGRO, "on"),
			d.SetFeature(FeatureHWGRO, false)); err != nil {
			t.Error(err)
		}
	})
}

// bnxt drops rules without an error where it has more rings than its firmware steers to,
// and then says EPERM to root.
func TestLabImitatedRulesDropped(t *testing.T) {
	imitating(t, "bnxt_en", func(t *testing.T, d *Device) {
		before, err := d.Channels()
		if err != nil {
			t.Fatal(err)
		}
		many := before
		many.Combined = before.CombinedMax
		if err := d.SetChannels(many); err != nil {
			t.Fatal(err)
		}
		const why, fix = "bnxt has no rules with 8 RX rings", "ethtool -L sn0 combined N"
		mustSay(t, apply(t, d, "feature "+FeatureNTuple, "on"), why, fix)
		local, remote := flow(40000)
		_, err = d.Steer(local, remote, 1)
		mustSay(t, err, "operation not permitted", fix)
		if err := d.SetChannels(before); err != nil {
			t.Fatal(err)
		}
		if err := apply(t, d, "feature "+FeatureNTuple, "off"); err != nil {
			t.Error(err)
		}
		_, err = d.Steer(local, remote, 1)
		mustSay(t, err, "operation not permitted", "turn ntuple on: ethtool -K sn0 ntuple on")
		if strings.Contains(fault.Fix(err), "root") {
			t.Errorf("root is told to be root: %s", fault.Fix(err))
		}
		if err := apply(t, d, "feature "+FeatureNTuple, "on"); err != nil {
			t.Error(err)
		}
	})
}

// ice changes no queues while there is a rule, and tells the reason to the kernel's log alone.
func TestLabImitatedRulesHoldQueues(t *testing.T) {
	imitating(t, "ice", func(t *testing.T, d *Device) {
		local, remote := flow(40000)
		at, err := d.Steer(local, remote, 1)
		if err != nil {
			t.Fatal(err)
		}
		const fewer = "rx 0 tx 0 other 1 combined 3"
		err = apply(t, d, "channels", fewer)
		if !errors.Is(err, unix.EOPNOTSUPP) {
			t.Error(err)
		}
		mustSay(t, err, "rules are in the way", "ethtool -N "+d.Name+" delete")
		before, err := d.Channels()
		if err := errors.Join(err, d.DeleteRule(at), apply(t, d, "channels", fewer),
			d.SetChannels(before)); err != nil {
			t.Error(err)
		}
	})
}

// All rules of ice for one kind of flow have the same fields.
func TestLabImitatedSameFields(t *testing.T) {
	imitating(t, "ice", func(t *testing.T, d *Device) {
		local, remote := flow(40000)
		theirs := spec(local, netip.AddrPortFrom(remote.Addr(), 0))
		theirs.cookie, theirs.location, theirs.mask = 1, 5, [52]byte{}
		mask := tcp4Spec{src: ones4, dst: ones4, dport: ones2}
		copy(theirs.mask[:], bytesOf(&mask))
		at, err := d.insert("a rule without the remote port", theirs, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ours, err := d.Steer(local, remote, 2); !errors.Is(err, unix.EINVAL) {
			t.Errorf("ours is at %d: %v", ours, err)
		}
		if err := d.DeleteRule(at); err != nil {
			t.Error(err)
		}
		ours, err := d.Steer(local, remote, 2)
		if err := errors.Join(err, d.DeleteRule(ours)); err != nil {
			t.Error(err)
		}
	})
}

// A ring above the most is refused with the most, and one that is rounded up with what it
// becomes.
func TestLabImitatedRingTooLong(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		drv, err := d.Driver()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SetFeature(FeatureHWGRO, true); err != nil { // payload rings, of bnxt
			t.Fatal(err)
		}
		defer d.SetFeature(FeatureHWGRO, false)
		most := map[string]string{"bnxt_en": "2047 is the present maximum (bnxt allows",
			"mlx5_core": "8192 is the present maximum"}[drv.Model()]
		if most == "" {
			most = "is the present maximum"
		}
		mustSay(t, apply(t, d, "ring rx", "16384"), "set the ring rx to 16384", most)
		if drv.Model() == "bnxt_en" {
			mustSay(t, apply(t, d, "ring rx", "4096"), "set the ring rx to 4096", "--rx-ring 2047")
		}
		if slices.Contains([]string{"mlx5_core", "idpf", "ice"}, drv.Model()) {
			r, err := d.Rings()
			if err != nil {
				t.Fatal(err)
			}
			mustSay(t, apply(t, d, "ring rx", "1000"), "reads back 1024: the driver rounds it up", "--rx-ring 1024")
			if err := d.SetRing("rx", r.RX); err != nil {
				t.Error(err)
			}
		}
	})
}
