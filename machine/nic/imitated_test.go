// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/setting"
)

// The tests of this file run on the soft NIC as it is, and as it imitates other drivers:
// zcbench lab exec --nic mlx5|bnxt|fbnic.

// flows are two of which rules can be made.
func flow(port uint16) (local, remote netip.AddrPort) {
	return netip.MustParseAddrPort("10.77.0.1:7799"), netip.AddrPortFrom(netip.MustParseAddr("10.77.0.2"), port)
}

// A rule goes where the driver has a place for it, and is found and deleted there.
func TestLabImitatedSteer(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		if err := d.SetFeature(FeatureNTuple, true); err != nil {
			t.Fatal(err)
		}
		var made []Rule
		for port := range uint16(3) {
			local, remote := flow(40000 + port)
			at, err := d.Steer(local, remote, 1)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(made, at) {
				t.Errorf("rule %d is at the place of another: %v", at, made)
			}
			made = append(made, at)
			found, ok, err := d.FindRule(local, remote, 1)
			if err != nil || !ok || found != at {
				t.Errorf("rule at %d: found at %d, %v, %v", at, found, ok, err)
			}
		}
		if n, err := d.HasRules(); n != 3 || err != nil {
			t.Errorf("%d rules, %v", n, err)
		}
		for _, at := range made {
			if err := d.DeleteRule(at); err != nil {
				t.Error(err)
			}
		}
		local, remote := flow(40000)
		if _, ok, err := d.FindRule(local, remote, 1); ok || err != nil {
			t.Errorf("a deleted rule: %v, %v", ok, err)
		}
	})
}

// A full table is said to be full, and nothing of it is replaced.
func TestLabImitatedFullTable(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		var made []Rule
		defer func() {
			for _, at := range made {
				if err := d.DeleteRule(at); err != nil {
					t.Error(err)
				}
			}
		}()
		for port := range uint16(1000) {
			local, remote := flow(40000 + port)
			at, err := d.Steer(local, remote, 1)
			if errors.Is(err, unix.ENOSPC) {
				if n, err := d.HasRules(); n != len(made) || err != nil {
					t.Errorf("%d rules of %d, %v", n, len(made), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, at)
		}
		t.Error("it took 1000 rules")
	})
}

// A queue that is there is asked whether it takes memory, and does not notice.
func TestLabImitatedTakesMemory(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		count := func() (starts, stops uint64) {
			s, err := d.Stats()
			if err != nil {
				t.Fatal(err)
			}
			return s["rx3_starts"], s["rx3_stops"]
		}
		starts, stops := count()
		if starts == 0 {
			t.Error("queue 3 was never started")
		}
		if err := d.TakesMemory(3); err != nil {
			t.Error(err)
		}
		if a, b := count(); a != starts || b != stops {
			t.Errorf("queue 3 was started %d times, then %d; stopped %d, %d", starts, a, stops, b)
		}
	})
}

// Header split is asked for whatever the driver says that it does, and only who was the
// first to ask has something to put back. What was read reads again afterwards, and
// nothing of the wish is left.
func TestLabImitatedSplit(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		gro, err := d.Feature(FeatureHWGRO)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SetFeature(FeatureHWGRO, true); err != nil {
			t.Fatal(err)
		}
		defer d.SetFeature(FeatureHWGRO, gro.Active)
		s, err := d.Setting("header-split")
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Get()
		if err != nil {
			t.Fatal(err)
		}
		h, err := d.HeaderSplit()
		if err != nil {
			t.Fatal(err)
		}
		want := SplitAll(h).String()
		for i, first := range []bool{true, false} {
			changed, err := setting.Ask(s, d.Name, want)
			if err != nil || changed != first {
				t.Errorf("time %d: changed %v, %v", i+1, changed, err)
			}
		}
		if err := s.Set(before); err != nil {
			t.Error(err)
		}
		if now, err := s.Get(); now != before || err != nil {
			t.Errorf("it was %s, and is %s, %v", before, now, err)
		}
		if changed, err := setting.Ask(s, d.Name, want); !changed || err != nil {
			t.Errorf("it was still asked for: %v, %v", changed, err)
		}
		if err := s.Set(before); err != nil {
			t.Error(err)
		}
	})
}

// The payload ring has as many buffers as the driver fills it with: those that its page
// pool has out.
func TestLabImitatedPayloadRing(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		r, err := d.PayloadRing(4096)
		if err != nil {
			t.Fatal(err)
		}
		pools, err := d.PagePools()
		if err != nil || len(pools) == 0 {
			t.Fatalf("%d pools, %v", len(pools), err)
		}
		drv, _ := d.Driver()
		for _, p := range pools {
			if p.Detached || drv.Model() == "bnxt_en" { // which fills it when headers are split
				continue
			}
			if p.Inflight != uint64(r.Buffers) {
				t.Errorf("%s: %d buffers are out of a pool, %d expected", drv.Name, p.Inflight, r.Buffers)
			}
		}
	})
}
