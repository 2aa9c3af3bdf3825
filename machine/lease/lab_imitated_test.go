// SPDX-License-Identifier: MIT

package lease_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
)

// splitting calls f with the receiver's interface, on which headers can be split, and
// its header split.
func withSplit(t *testing.T, f func(d *nic.Device, s setting.Setting) error) {
	t.Helper()
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.SetFeature(nic.FeatureHWGRO, true); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.SetFeature(nic.FeatureHWGRO, false)) }()
		s, err := d.Setting("header-split")
		if err != nil {
			return err
		}
		return f(d, s)
	})
}

// wished reports whether split is asked for, and leaves it so that it is not.
func wished(d *nic.Device, s setting.Setting) (bool, error) {
	h, err := d.HeaderSplit()
	if err != nil {
		return false, err
	}
	changed, err := setting.Ask(s, d.Name, nic.SplitAll(h).String())
	return !changed, errors.Join(err, s.Leave(h.String()))
}

// What a lease asked for it takes back when it ends, also when it has become another
// meanwhile, and when the driver says before and after that it splits headers.
func TestLabImitatedWish(t *testing.T) {
	needLab(t)
	for _, zero := range []bool{false, true} { // with only the threshold set before
		t.Run(fmt.Sprintf("threshold zero %v", zero), func(t *testing.T) {
			withSplit(t, func(d *nic.Device, s setting.Setting) error {
				was, err := d.HeaderSplit()
				if err != nil {
					return err
				}
				if zero && was.Threshold > 0 {
					err = s.Leave("tcp-data-split auto, hds-thresh 0")
				}
				before, berr := s.Get()
				l := lease.New(lease.Options{})
				l.Use(d)
				split := lease.Want{Dev: d.Name, Name: "header-split", Value: "tcp-data-split on, hds-thresh 0"}
				more := lease.Want{Dev: d.Name, Name: "gro-max-size", Value: "131072"}
				err = errors.Join(err, berr, l.Apply(split), l.Become(split, more), l.Restore())
				after, aerr := s.Get()
				if after != before {
					aerr = errors.Join(aerr, fmt.Errorf("it was %s, and is %s", before, after))
				}
				left, werr := wished(d, s)
				if left {
					werr = errors.Join(werr, errors.New("it is still asked for"))
				}
				return errors.Join(err, aerr, werr, s.Leave(was.String()))
			})
		})
	}
}

// What was asked for before a lease came stays asked for.
func TestLabImitatedForeignWish(t *testing.T) {
	needLab(t)
	withSplit(t, func(d *nic.Device, s setting.Setting) error {
		was, err := d.HeaderSplit()
		if err != nil {
			return err
		}
		want := nic.SplitAll(was).String()
		_, err = setting.Ask(s, d.Name, want)
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, l.Apply(lease.Want{Dev: d.Name, Name: "header-split", Value: want}), l.Restore())
		kept, werr := wished(d, s)
		if !kept {
			werr = errors.Join(werr, errors.New("what the user had asked for is gone"))
		}
		return errors.Join(err, werr, s.Leave(was.String()))
	})
}

// A lease that switches hardware GRO too, on which it depends in some drivers how header
// split reads, leaves everything as it was: also the ring, which bnxt cuts.
func TestLabImitatedTogether(t *testing.T) {
	needLab(t)
	before := hosts(t)
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		mtu, err := d.Setting("mtu")
		if err != nil {
			return err
		}
		ring, err := d.Setting("ring rx")
		if err != nil {
			return err
		}
		old, err := ring.Get()
		if err != nil {
			return err
		}
		// bnxt has room for more without payload rings.
		err = errors.Join(setting.Apply(mtu, d.Name, "1500"), setting.Apply(ring, d.Name, "4096"))
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, l.Apply(
			lease.Want{Dev: d.Name, Name: "feature " + nic.FeatureHWGRO, Value: "on"},
			lease.Want{Dev: d.Name, Name: "mtu", Value: "4148"},
			lease.Want{Dev: d.Name, Name: "header-split", Value: "tcp-data-split on, hds-thresh 0"}), l.Restore())
		now, rerr := ring.Get()
		if now != "4096" {
			rerr = errors.Join(rerr, fmt.Errorf("the ring had 4096 descriptors, and has %s", now))
		}
		return errors.Join(err, rerr, setting.Apply(ring, d.Name, old), setting.Apply(mtu, d.Name, fmt.Sprint(guest.DefaultMTU)))
	})
	if d := cmp.Diff(before, hosts(t)); d != "" {
		t.Errorf("the hosts are not as they were:\n%s", d)
	}
}
