// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// refusing is the machine with a driver that takes a value only where may says so.
func (m *machine) refusing(may func(name, v string) error) func(step) (setting.Setting, error) {
	return func(s step) (setting.Setting, error) {
		set, err := m.setting(s)
		if err != nil {
			return set, err
		}
		take := set.Set
		set.Set = func(v string) error {
			if err := may(s.Name, v); err != nil {
				return err
			}
			return take(v)
		}
		return set, nil
	}
}

// ionic has one interrupt for RX and TX: tx-usecs follows rx-usecs, and takes no other value. Both
// can be asked for, in any order, and both are restored.
func TestIonicCoalescing(t *testing.T) {
	m := newMachine()
	m.values["coalesce rx-usecs"], m.values["coalesce tx-usecs"] = "64", "64"
	before := clone(m.values)
	l := m.lease(t)
	m.after["coalesce rx-usecs"] = func(m *machine) { m.values["coalesce tx-usecs"] = m.values["coalesce rx-usecs"] }
	l.where.fake = m.refusing(func(name, v string) error {
		if name == "coalesce tx-usecs" && v != m.values["coalesce rx-usecs"] {
			return unix.EINVAL
		}
		return nil
	})
	wants := []Want{{"eth0", "coalesce tx-usecs", "8"}, {"eth0", "coalesce rx-usecs", "8"}}
	if err := l.Apply(wants...); err != nil || m.values["coalesce tx-usecs"] != "8" {
		t.Fatalf("%v, %v", err, m.values)
	}
	if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// gve's device has a default RSS table as any other: it does not follow the number of queues. A
// lease that changes that makes a new one, when it sets it and when it restores it.
func TestDefaultTableFollows(t *testing.T) {
	m := newMachine()
	m.values["channels"], m.values["rss"] = "4", "default"
	l := m.lease(t)
	m.after["channels"] = func(m *machine) { m.values["rss"] = "of other queues" }
	for range 2 {
		if err := l.Apply(Want{"eth0", "channels", "3"}); err != nil || m.values["rss"] != "default" {
			t.Fatalf("%v, %v", err, m.values)
		}
		if err := l.Restore(); err != nil || m.values["channels"] != "4" || m.values["rss"] != "default" {
			t.Fatalf("%v, %v", err, m.values)
		}
	}
	m.values["rss"] = "0 1"
	m.after["channels"] = nil
	if err := errors.Join(l.Apply(Want{"eth0", "channels", "3"}), l.Restore()); err != nil || m.values["rss"] != "0 1" {
		t.Errorf("%v, %v", err, m.values)
	}
}

// ice changes no queues while there is a rule: a lease of both sets its queues first, and gives
// them back last.
func TestIceChannels(t *testing.T) {
	m := newMachine()
	m.values["rule x"] = "absent"
	before := clone(m.values)
	l := m.lease(t)
	l.where.fake = m.refusing(func(name, v string) error {
		if name == "channels" && v != m.values["channels"] && m.values["rule x"] == "present" {
			return unix.EOPNOTSUPP
		}
		return nil
	})
	rule, two, eight := Want{"eth0", "rule x", "present"}, Want{"eth0", "channels", "2"}, Want{"eth0", "channels", "8"}
	if err := errors.Join(l.Apply(rule, two), l.Become(rule, eight), l.Become(rule), l.Become(two, rule),
		l.Restore()); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
	theirs, other := m.lease(t), m.lease(t)
	theirs.where.fake, other.where.fake = l.where.fake, l.where.fake
	if err := theirs.Add(rule); err != nil {
		t.Fatal(err)
	}
	if err := other.Add(two); !errors.Is(err, unix.EOPNOTSUPP) { // somebody else's rule
		t.Error(err)
	}
}

// Header split that reads as wanted is not asked for, each of which may reset all queues; but for
// queues with foreign memory it is, and where something else that is set may change it.
func TestSplitEnough(t *testing.T) {
	asked := func(m *machine, bind bool, wants ...Want) int {
		l := New(Options{Dir: t.TempDir(), Bind: bind})
		l.where.fake = func(s step) (setting.Setting, error) {
			set, err := m.setting(s)
			if s.Name == "header-split" {
				set.Ask = func(v string) (bool, error) { return true, set.Set(v) }
				set.Leave = set.Set
				set.Enough = func(string) bool { return true }
			}
			return set, err
		}
		if err := errors.Join(l.Apply(wants...), l.Restore()); err != nil {
			t.Error(err)
		}
		n := 0
		for _, x := range m.log {
			if strings.HasPrefix(x, "header-split=") {
				n++
			}
		}
		return n
	}
	off, on := Want{"eth0", "header-split", "off"}, Want{"eth0", "header-split", "on"}
	for name, x := range map[string]struct {
		bind, none bool
		wants      []Want
	}{
		"as it reads":           {false, true, []Want{off}},
		"beside others":         {false, true, []Want{off, {"eth0", "coalesce rx-usecs", "8"}}},
		"otherwise":             {false, false, []Want{on}},
		"foreign memory":        {true, false, []Want{off}},
		"with hardware GRO":     {false, false, []Want{off, {"eth0", "feature rx-gro", "off"}}},
		"with queues":           {false, false, []Want{off, {"eth0", "channels", "2"}}},
		"with GRO as it is":     {false, true, []Want{off, {"eth0", "feature rx-gro", "on"}}},
		"of another interface":  {false, true, []Want{off, {"eth1", "channels", "2"}}},
		"and an MTU beside it":  {false, false, []Want{off, {"eth0", "mtu", "4148"}}},
		"and the MTU as it was": {false, true, []Want{off, {"eth0", "mtu", "1500"}}},
	} {
		m := newMachine()
		m.values["coalesce rx-usecs"] = "64"
		if n := asked(m, x.bind, x.wants...); (n == 0) != x.none {
			t.Errorf("%s: asked %d times: %v", name, n, m.log)
		}
	}
}
