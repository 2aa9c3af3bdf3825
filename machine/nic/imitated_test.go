// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/setting"
)

// The tests of this file run on the soft NIC as it is, and as it imitates other drivers:
// zcbench lab exec --nic, with any name in the table of docs/softnic.md.

// model is the driver whose ways the soft NIC has.
func model(t *testing.T, d *Device) string {
	t.Helper()
	drv, err := d.Driver()
	if err != nil {
		t.Fatal(err)
	}
	return drv.Model()
}

// older reports whether the soft NIC has the ways of a driver as it was before it took memory of
// others for its queues.
func older(t *testing.T, d *Device) bool {
	t.Helper()
	drv, err := d.Driver()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasSuffix(drv.Name, "-old)")
}

// silent tells that the driver says of a rule where it is and which queue it has, and not which
// packets it is for.
func silent(t *testing.T, d *Device) bool { return model(t, d) == "idpf" }

// flows are two of which rules can be made.
func flow(port uint16) (local, remote netip.AddrPort) {
	return netip.MustParseAddrPort("10.77.0.1:7799"), netip.AddrPortFrom(netip.MustParseAddr("10.77.0.2"), port)
}

// A rule goes where the driver has a place for it, and is found and deleted there.
func TestLabImitatedSteer(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		if model(t, d) == "virtio_net" {
			ruleless(t, d)
			return
		}
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
			if silent(t, d) {
				continue
			}
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

// A second rule for one flow is refused with the place of the first, which stays. Drivers that are
// asked differ: bnxt and ice refuse it, as mlx5 does a third; the soft NIC as it is has it at the
// place of the first, as sfc's driver does; others have both.
func TestLabImitatedSteerTwice(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		m := model(t, d)
		if m == "virtio_net" {
			return // it has no rules
		}
		if silent(t, d) {
			return // nobody can see that there is one
		}
		if err := d.SetFeature(FeatureNTuple, true); err != nil {
			t.Fatal(err)
		}
		local, remote := flow(40000)
		first, err := d.Steer(local, remote, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer d.DeleteRule(first)
		second, err := d.Steer(local, remote, 2)
		if err == nil {
			d.DeleteRule(second)
		}
		mustSay(t, err, fmt.Sprintf("rule %d sends it to RX queue 1: file exists", first),
			fmt.Sprintf("ethtool -N %s delete %d", d.Name, first))
		if at, ok, err := d.FindRule(local, remote, 1); !ok || at != first || err != nil {
			t.Fatalf("the first was at %d, and is at %d: %v, %v", first, at, ok, err)
		}
		asked(t, d, m, first)
	})
}

// asked makes a second rule for the flow of the first, whatever is there.
func asked(t *testing.T, d *Device, model string, first Rule) {
	t.Helper()
	local, remote := flow(40000)
	ask := func(queue uint64) (Rule, error) {
		table, err := d.rules()
		if err != nil {
			return 0, err
		}
		fs := spec(local, remote)
		fs.cookie = queue
		fs.location, _ = table.free()
		return d.insert("steer once more", fs, 0)
	}
	second, err := ask(2)
	if err == nil && second != first {
		defer d.DeleteRule(second)
	}
	_, ours, _ := d.FindRule(local, remote, 1)
	switch model {
	case "bnxt_en":
		if !errors.Is(err, unix.EEXIST) || !strings.Contains(fault.Fix(err), "delete that rule") || !ours {
			t.Errorf("%v; fix: %s; the first is there: %v", err, fault.Fix(err), ours)
		}
	case "ice":
		if !errors.Is(err, unix.EINVAL) || !ours {
			t.Errorf("%v; the first is there: %v", err, ours)
		}
	case "softnic":
		if err != nil || second != first || ours {
			t.Errorf("at %d, then at %d, %v; the first is there: %v", first, second, err, ours)
		}
	case "mlx5_core":
		if err != nil || second == first || !ours {
			t.Errorf("at %d, then at %d, %v; the first is there: %v", first, second, err, ours)
		}
		if third, err := ask(3); !errors.Is(err, unix.EEXIST) || !strings.Contains(fault.Fix(err), "delete that rule") {
			d.DeleteRule(third)
			t.Errorf("a third: %v; fix: %s", err, fault.Fix(err))
		}
	default:
		// the one at the lower place counts
		if err != nil || second >= first || !ours {
			t.Errorf("at %d, then at %d, %v; the first is there: %v", first, second, err, ours)
		}
	}
}

// ruleless is of a driver that has no rules, and cannot be made to.
func ruleless(t *testing.T, d *Device) {
	t.Helper()
	local, remote := flow(40000)
	_, steer := d.Steer(local, remote, 1)
	_, count := d.HasRules()
	for what, err := range map[string]error{"steer": steer, "count": count} {
		if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(fault.Fix(err), "the driver has no ntuple rules") {
			t.Errorf("%s: %v; fix: %s", what, err, fault.Fix(err))
		}
	}
	if f, err := d.Feature(FeatureNTuple); f.Hard || f.Active || err != nil {
		t.Errorf("rules: %+v, %v", f, err)
	}
}

// Rules that are off are not said to be none: gve and ice refuse as a driver would that has none.
func TestLabImitatedRulesOff(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		if m := model(t, d); m != "gve" && m != "ice" {
			return // they alone say EOPNOTSUPP
		}
		was, err := d.Feature(FeatureNTuple)
		if err == nil {
			err = d.SetFeature(FeatureNTuple, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer d.SetFeature(FeatureNTuple, was.Active)
		local, remote := flow(40000)
		_, err = d.Steer(local, remote, 1)
		if !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(fault.Fix(err), "ntuple on") {
			t.Errorf("%v; fix: %s", err, fault.Fix(err))
		}
	})
}

// The number of queues is set by the command that the advice names, and a driver with
// queues that receive and others that send can have unequal numbers.
func TestLabImitatedQueues(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		want, sets := "ethtool -L sn0 combined 2", []string{"rx 0 tx 0 other 0 combined 2"}
		switch model(t, d) {
		case "gve":
			want, sets = "ethtool -L sn0 rx 2 tx 2", []string{"rx 2 tx 2 other 0 combined 0",
				"rx 3 tx 2 other 0 combined 0", "rx 2 tx 3 other 0 combined 0"}
		case "idpf", "ice": // one queue is neither
			sets = []string{"rx 0 tx 0 other 1 combined 2", "rx 1 tx 0 other 1 combined 2",
				"rx 0 tx 1 other 1 combined 2"}
		}
		if got := d.MoreQueues("2"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		s, err := d.Setting("channels")
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Get()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(sets, before) {
			if err := setting.Apply(s, d.Name, v); err != nil {
				t.Error(err)
			}
			c, _ := d.Channels()
			if all, err := d.Queues(); err != nil || len(all) != c.Combined+c.RX {
				t.Errorf("%s: %d queues, %v", v, len(all), err)
			}
		}
		c, _ := d.Channels()
		room := max(c.CombinedMax, c.RXMax) > c.Combined+c.RX
		if _, err := d.Queue(99); strings.Contains(fault.Fix(err), d.MoreQueues("N")) != room {
			t.Errorf("%v; fix: %s; channels: %v", err, fault.Fix(err), c)
		}
	})
}

// The length of the receive buffers is a setting where the driver has one; two short ones
// share a page.
func TestLabImitatedRXBufLen(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		s, err := d.Setting("rx-buf-len")
		if err != nil {
			t.Fatal(err)
		}
		before, err := s.Get()
		if model(t, d) != "gve" || older(t, d) {
			serr := s.Set("2048")
			if !errors.Is(err, unix.EOPNOTSUPP) || !errors.Is(serr, unix.EOPNOTSUPP) ||
				!strings.Contains(fault.Fix(err)+fault.Fix(serr), "leave out") {
				t.Errorf("%v, %v", err, serr)
			}
			return
		}
		if before != "4096" || err != nil {
			t.Errorf("%s, %v", before, err)
		}
		long, err := d.PayloadRing(4096)
		if err != nil {
			t.Fatal(err)
		}
		if err := setting.Apply(s, d.Name, "2048"); err != nil {
			t.Fatal(err)
		}
		short, err := d.PayloadRing(4096)
		if err != nil || short.Buffers != long.Buffers/2 {
			t.Errorf("%d buffers, then %d, %v", long.Buffers, short.Buffers, err)
		}
		r, err := d.Rings()
		if c := r.PageBufs(d.Name); c != "ethtool -G sn0 rx-buf-len 4096" || err != nil {
			t.Errorf("%q, %v", c, err)
		}
		if err := s.Set("1024"); !errors.Is(err, unix.EINVAL) ||
			!strings.Contains(err.Error(), "can only be 2048 or 4096") || !strings.Contains(fault.Fix(err),
			"2048 and 4096") {
			t.Errorf("%v; fix: %s", err, fault.Fix(err))
		}
		if err := setting.Apply(s, d.Name, before); err != nil {
			t.Error(err)
		}
	})
}

// The moderation of gve's interrupts is set up to a bound, and its MTU up to the device's.
func TestLabImitatedBounds(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		if model(t, d) != "gve" {
			return
		}
		for _, c := range []struct{ name, good, bad string }{{"coalesce rx-usecs", "8190", "8191"},
			{"coalesce tx-usecs", "0", "8191"}, {"mtu", "8896", "8897"}} {
			if err := changeAndBack(d, c.name, c.good); err != nil {
				t.Errorf("%s to %s: %v", c.name, c.good, err)
			}
			if err := changeAndBack(d, c.name, c.bad); !errors.Is(err, unix.EINVAL) {
				t.Errorf("%s to %s: %v", c.name, c.bad, err)
			}
		}
		for name, want := range map[string]string{"coalesce rx-usecs": "20", "coalesce tx-usecs": "50"} {
			s, err := d.Setting(name)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := s.Get(); now != want || err != nil {
				t.Errorf("%s: %s, %v", name, now, err)
			}
		}
	})
}

// A threshold is not named where there is none: the driver refuses the word.
func TestLabImitatedSplitCommand(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		h, err := d.HeaderSplit()
		if err != nil {
			t.Fatal(err)
		}
		m := model(t, d)
		none := slices.Contains([]string{"gve", "virtio_net", "idpf", "ice"}, m)
		if (h.Threshold < 0) != none || strings.Contains(h.SplitCommand(d.Name), "hds-thresh") == none {
			t.Errorf("%s: %v, %s", m, h, h.SplitCommand(d.Name))
		}
		if !none { // what is asked for here is left to the driver again
			defer func(was HeaderSplit) {
				if err := d.leaveSplit(was); err != nil {
					t.Error(err)
				}
			}(h)
		}
		h.Threshold = 0
		if err := d.SetHeaderSplit(h); none && !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("a threshold: %v", err)
		}
	})
}

// A full table is said to be full, and nothing of it is replaced.
func TestLabImitatedFullTable(t *testing.T) {
	inLab(t, func(t *testing.T, d *Device) {
		if model(t, d) == "virtio_net" {
			return // it has no rules
		}
		if err := d.SetFeature(FeatureNTuple, true); err != nil {
			t.Fatal(err)
		}
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
		if model(t, d) == "virtio_net" {
			if _, err := setting.Ask(s, d.Name, "tcp-data-split on"); !errors.Is(err, unix.EOPNOTSUPP) ||
				!strings.Contains(fault.Fix(err), "use a NIC and driver that split headers") {
				t.Errorf("%v; fix: %s", err, fault.Fix(err))
			}
			return
		}
		h, err := d.HeaderSplit()
		if err != nil {
			t.Fatal(err)
		}
		want, back := SplitAll(h).String(), s.Set
		if want == before { // idpf: that it is on at first is nobody's wish, and reads the same
			back = s.Leave
		}
		for i, first := range []bool{true, false} {
			changed, err := setting.Ask(s, d.Name, want)
			if err != nil || changed != first {
				t.Errorf("time %d: changed %v, %v", i+1, changed, err)
			}
		}
		if err := back(before); err != nil {
			t.Error(err)
		}
		if now, err := s.Get(); now != before || err != nil {
			t.Errorf("it was %s, and is %s, %v", before, now, err)
		}
		if changed, err := setting.Ask(s, d.Name, want); !changed || err != nil {
			t.Errorf("it was still asked for: %v, %v", changed, err)
		}
		if err := back(before); err != nil {
			t.Error(err)
		}
	})
}

// The payload ring has as many buffers as the driver fills it with: those that its page
// pools have out, of which idpf has two for each queue, with one NAPI.
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
		out := map[uint32]uint64{}
		for _, p := range pools {
			if !p.Detached {
				out[p.NAPI] += p.Inflight
			}
		}
		for _, p := range pools {
			// which fill it when headers are split
			if p.Detached || drv.Model() == "bnxt_en" || drv.Model() == "gve" && older(t, d) {
				continue
			}
			if n := out[p.NAPI]; n != uint64(r.Buffers) {
				t.Errorf("%s: %d buffers are out of a queue's pools, %d expected", drv.Name, n, r.Buffers)
			}
		}
	})
}
