// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func become(t *testing.T, m *machine, l *Lease, wants ...Want) []string {
	t.Helper()
	m.log = nil
	if err := l.Become(wants...); err != nil {
		t.Fatal(err)
	}
	return m.log
}

// From one cell to the next only what differs is set: what they have in common is
// set once for all of them, and restored once.
func TestBecomeSetsOnlyTheDifference(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	l := m.lease(t)
	mtu, split := Want{"eth0", "mtu", "4148"}, Want{"eth0", "header-split", "on"}
	gro := func(v string) Want { return Want{"eth0", "feature rx-gro", v} }
	balance := Want{"", "irqbalance", "stopped"}
	for i, x := range []struct {
		wants []Want
		log   []string
	}{
		{[]Want{mtu, gro("off"), balance}, []string{"irqbalance=stopped", "mtu=4148", "feature rx-gro=off"}},
		{[]Want{mtu, gro("off"), balance}, nil},
		{[]Want{mtu, gro("on"), balance}, []string{"feature rx-gro=on"}},
		{[]Want{mtu, gro("off"), balance}, []string{"feature rx-gro=off"}},
		{[]Want{mtu}, []string{"feature rx-gro=on", "irqbalance=running"}},
		{[]Want{mtu, split}, []string{"header-split=on"}},
		// which depends on the MTU
		{[]Want{{"eth0", "mtu", "9000"}, split}, []string{"header-split=off", "mtu=9000", "header-split=on"}},
		// the last one counts
		{[]Want{mtu, {"eth0", "mtu", "3000"}}, []string{"header-split=off", "mtu=3000"}},
	} {
		if d := cmp.Diff(x.log, become(t, m, l, x.wants...)); d != "" {
			t.Errorf("step %d: -want +got\n%s", i, d)
		}
	}
	m.log = nil
	if err := l.Restore(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"mtu=1500"}, m.log); d != "" {
		t.Errorf("restored: -want +got\n%s", d)
	}
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
	if e, _ := os.ReadDir(l.opt.Dir); len(e) != 0 {
		t.Errorf("left %v", e)
	}
}

// What restarts the queues is set with everything else set anew.
func TestBecomeRestarts(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	m.after["channels"] = func(m *machine) { m.values["header-split"] = "off" }
	l := m.lease(t)
	split := Want{"eth0", "header-split", "on"}
	become(t, m, l, split)
	want := []string{"header-split=off", "channels=2", "header-split=on"}
	if d := cmp.Diff(want, become(t, m, l, split, Want{"eth0", "channels", "2"})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got := journals(t, l.opt.Dir); len(got) != 1 {
		t.Errorf("journals %q", got)
	}
	if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// A cell whose settings are refused leaves those of the session, and what was set
// before as it was set.
func TestBecomeFails(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	l := m.lease(t)
	mtu := Want{"eth0", "mtu", "4148"}
	become(t, m, l, mtu, Want{"eth0", "feature rx-gro", "off"})
	m.refuse["header-split"] = unix.EOPNOTSUPP
	m.log = nil
	err := l.Become(mtu, Want{"eth0", "feature rx-gro", "on"}, Want{"", "irqbalance", "stopped"},
		Want{"eth0", "header-split", "on"})
	if !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("%v", err)
	}
	want := []string{"irqbalance=stopped", "feature rx-gro=on", "header-split=on", "irqbalance=running",
		"feature rx-gro=off"}
	if d := cmp.Diff(want, m.log); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff([]string{"feature rx-gro=on"}, become(t, m, l, mtu)); d != "" {
		t.Errorf("the next cell: -want +got\n%s", d)
	}
	if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// Somebody else's change is noticed before the next cell, not overwritten, and the
// cell after that begins anew.
func TestBecomeAfterSomebodyElse(t *testing.T) {
	m := newMachine()
	l := m.lease(t)
	wants := []Want{{"eth0", "mtu", "4148"}, {"eth0", "feature rx-gro", "off"}}
	become(t, m, l, wants...)
	m.values["mtu"] = "9000"
	if m := (*Moved)(nil); !errors.As(l.Verify(), &m) || m.Now != "9000" {
		t.Errorf("%v", l.Verify())
	}
	if err := l.Become(wants...); err == nil || !strings.Contains(err.Error(), "left at 9000") ||
		m.values["mtu"] != "9000" || m.values["feature rx-gro"] != "on" {
		t.Errorf("%v, %v", err, m.values)
	}
	become(t, m, l, wants...)
	if err := l.Restore(); err != nil || m.values["mtu"] != "9000" {
		t.Errorf("%v, %v", err, m.values)
	}
}

// Killed at any moment of a change from one value to another, it is restored to
// what was found at first.
func TestFinishAfterKillInBecome(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"9000", "1500"} {
		for _, now := range []string{"4148", to} {
			m := newMachine()
			before := clone(m.values)
			path := killedBecoming(t, m, Want{"eth0", "mtu", "4148"}, Want{"eth0", "mtu", to})
			m.values["mtu"] = now
			r := finishFake(t, path, boot, m, FinishOptions{})
			if r == nil || r.State != Finished || !cmp.Equal(before, m.values) {
				t.Errorf("to %s, killed at %s: %+v, %v", to, now, r, m.values)
			}
		}
	}
}

// What a restart of a queue took is set again, unlike what somebody else has set.
func TestBecomeSetsAgainWhatAQueueForgot(t *testing.T) {
	m := newMachine()
	m.values["napi 1"] = "default"
	before := clone(m.values)
	l := m.lease(t)
	wants := []Want{{"eth0", "mtu", "4148"}, {"eth0", "napi 1", "slow"}}
	become(t, m, l, wants...)
	m.values["napi 1"] = "default"
	if m := (*Moved)(nil); !errors.As(l.Verify(), &m) {
		t.Error("while a run lasts it is noticed")
	}
	if d := cmp.Diff([]string{"napi 1=slow"}, become(t, m, l, wants...)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// What a lease has set itself is not taken for what was found when a later cell adds a
// setting that may change it: it would be put back as the lease had it.
func TestBecomeKeepsNothingOfItsOwn(t *testing.T) {
	m := newMachine()
	m.values["ring rx"] = "512"
	before := clone(m.values)
	l := m.lease(t)
	ring := Want{"eth0", "ring rx", "1024"}
	become(t, m, l, ring)
	become(t, m, l, ring, Want{"eth0", "header-split", "on"})
	if err := l.Restore(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
}
