// SPDX-License-Identifier: MIT

package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
)

// The table that a user has set is there again when rx-hashing is, though nobody could read it
// while it was off (idpf, ice).
func TestLabImitatedHiddenTable(t *testing.T) {
	needLab(t)
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		theirs, err := d.Indirection()
		if err != nil {
			return err
		}
		for i := range theirs {
			theirs[i] = []uint32{2, 1, 1}[i%3]
		}
		defer func() { err = errors.Join(err, d.SetFeature(nic.FeatureRXHash, true), d.SetIndirection(nil)) }()
		if err := errors.Join(d.SetIndirection(theirs), d.SetFeature(nic.FeatureRXHash, false)); err != nil {
			return err
		}
		shown, err := d.Indirection()
		if err != nil {
			return err
		}
		var c lease.Changes
		if err := c.KeepFree(d, 1); err != nil {
			return errors.Join(err, c.Undo())
		}
		during, err := d.Table()
		if err != nil || slices.Contains(during, 1) || !slices.Contains(during, 2) {
			err = errors.Join(err, fmt.Errorf("without queue 1: %v", during))
		}
		err = errors.Join(err, c.Undo())
		f, ferr := d.Feature(nic.FeatureRXHash)
		again, aerr := d.Indirection()
		if f.Active || !slices.Equal(again, shown) {
			err = errors.Join(err, fmt.Errorf("rx-hashing %v, table %v; found off and %v", f, again, shown))
		}
		err = errors.Join(err, ferr, aerr, d.SetFeature(nic.FeatureRXHash, true))
		after, terr := d.Indirection()
		if !slices.Equal(after, theirs) {
			err = errors.Join(err, fmt.Errorf("the user's table is %v, and was %v", after, theirs))
		}
		return errors.Join(err, terr)
	})
}

// Who asked for rx-hashing off does not get it turned on by a mode.
func TestLabImitatedHiddenTableWanted(t *testing.T) {
	needLab(t)
	if m := model(t); m != "idpf" && m != "ice" {
		t.Skip("of idpf and ice")
	}
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		plan := lease.New(lease.Options{})
		plan.Use(d)
		defer func() { err = errors.Join(err, plan.Restore()) }()
		if err := plan.Apply(lease.Want{Dev: d.Name, Name: "feature " + nic.FeatureRXHash, Value: "off"}); err != nil {
			return err
		}
		var c lease.Changes
		if kerr := c.KeepFree(d, 1); !errors.Is(kerr, nic.ErrTableHidden) {
			err = fmt.Errorf("queue 1 was taken out of the table: %v", kerr)
		}
		f, ferr := d.Feature(nic.FeatureRXHash)
		if f.Active {
			err = errors.Join(err, errors.New("rx-hashing was turned on"))
		}
		return errors.Join(err, ferr, c.Undo())
	})
}

// Header split that is on when nobody asks is not asked for, which would reset all queues (idpf).
func TestLabImitatedSplitAsItIs(t *testing.T) {
	needLab(t)
	if model(t) != "idpf" {
		t.Skip("of idpf")
	}
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if err := d.AwaitCarrier(await.Hang); err != nil {
			return err
		}
		before, err := d.SysFile("carrier_changes")
		if err != nil {
			return err
		}
		want, err := d.SplitSetting(true)
		l := lease.New(lease.Options{})
		l.Use(d)
		err = errors.Join(err, l.Apply(lease.Want{Dev: d.Name, Name: "header-split", Value: want}), l.Verify(),
			l.Restore(), d.AwaitCarrier(await.Hang))
		after, serr := d.SysFile("carrier_changes")
		if after != before {
			err = errors.Join(err, fmt.Errorf("the carrier changed %s times, before it had %s", after, before))
		}
		return errors.Join(err, serr)
	})
}
