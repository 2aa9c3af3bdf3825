// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
)

// hidden is a machine whose RSS table does not show, since somebody has rx-hashing off.
func hidden() *machine {
	m := newMachine()
	m.values["rss"], m.values[hashing] = "3 1 2 0", "off"
	return m
}

// A table that does not show is read, set and put back with rx-hashing on, which goes off again
// after it.
func TestHiddenTable(t *testing.T) {
	for name, want := range map[string]Want{"table": {"eth0", "rss", "0 1 0 1"}, "channels": {"eth0", "channels",
		"2"}} {
		t.Run(name, func(t *testing.T) {
			m := hidden()
			m.after["channels"] = func(m *machine) { m.values["rss"] = "1 1 1 1" }
			before := clone(m.values)
			l := m.lease(t)
			if err := l.Apply(want); err != nil {
				t.Fatal(err)
			}
			if m.values[hashing] != "on" || m.values[want.Name] != want.Value || m.log[0] != hashing+"=on" {
				t.Errorf("%v, %v", m.values, m.log)
			}
			if err := l.Become(want); err != nil || len(l.standing()) != 2 {
				t.Errorf("%v, %v", err, l.Changes())
			}
			m.log = nil
			if err := l.Restore(); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, m.values); d != "" || m.log[len(m.log)-1] != hashing+"=off" {
				t.Errorf("%s\n%v", d, m.log)
			}
		})
	}
}

// It is also so in a lease that others have in turn, and in one that becomes another.
func TestHiddenTableLater(t *testing.T) {
	m := hidden()
	before := clone(m.values)
	l := m.lease(t)
	mtu, one, two := Want{"eth0", "mtu", "4148"}, Want{"eth0", "rss", "0 1 0 1"}, Want{"eth0", "rss", "0 0 0 0"}
	if err := errors.Join(l.Add(mtu), l.Add(one), l.Add(two), l.Become(mtu, one), l.Become(mtu, two)); err != nil {
		t.Fatal(err)
	}
	if m.values["rss"] != "0 0 0 0" || m.values[hashing] != "on" {
		t.Error(m.values)
	}
	if err := l.Become(mtu); err != nil || m.values["rss"] != "3 1 2 0" || m.values[hashing] != "off" ||
		m.values["mtu"] != "4148" {
		t.Errorf("%v, %v", err, m.values)
	}
	if err := errors.Join(l.Become(mtu, one), l.Restore()); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// A table that shows is set without more ado, also one of zeros.
func TestShownTable(t *testing.T) {
	m := hidden()
	m.values[hashing], m.values["rss"] = "on", "0 0 0 0"
	l := m.lease(t)
	if err := errors.Join(l.Apply(Want{"eth0", "rss", "0 1 0 1"}), l.Restore()); err != nil ||
		slices.ContainsFunc(m.log, func(s string) bool { return strings.HasPrefix(s, hashing) }) ||
		m.values["rss"] != "0 0 0 0" {
		t.Errorf("%v, %v, %v", err, m.log, m.values)
	}
}

// Who wants rx-hashing off, or has a driver that does not turn it on, does not get the table set.
func TestHiddenTableRefused(t *testing.T) {
	m := hidden()
	before := clone(m.values)
	l := m.lease(t)
	err := l.Apply(Want{"eth0", hashing, "off"}, Want{"eth0", "rss", "0 1 0 1"})
	if !errors.Is(err, nic.ErrTableHidden) || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
	m.refuse[hashing] = errors.New("no")
	if err := l.Apply(Want{"eth0", "rss", "0 1 0 1"}); err == nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// Nor does one who said so before: not in the words of a mode that sets the table later, and not
// with a driver whose table shows.
func TestHiddenTableRefusedLater(t *testing.T) {
	off, table := Want{"eth0", hashing, "off"}, Want{"eth0", "rss", "0 1 0 1"}
	for _, first := range []string{"on", "off"} {
		for name, add := range map[string]func(*Lease) error{
			"apply":  func(l *Lease) error { return errors.Join(l.Apply(off), l.Apply(table)) },
			"add":    func(l *Lease) error { return errors.Join(l.Add(off), l.Add(table)) },
			"unhide": func(l *Lease) error { return errors.Join(l.Add(off), l.unhide("eth0")) },
		} {
			t.Run(name+" "+first, func(t *testing.T) {
				m := hidden()
				m.values[hashing] = first
				before := clone(m.values)
				l := m.lease(t)
				if err := add(l); !errors.Is(err, nic.ErrTableHidden) || m.values[hashing] != "off" {
					t.Errorf("%v, %v", err, m.values)
				}
				if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
					t.Errorf("%v, %v", err, m.values)
				}
			})
		}
	}
}

// Nor does another lease of the process, as those of modes are.
func TestHiddenTableRefusedBeside(t *testing.T) {
	m := hidden()
	before := clone(m.values)
	dir := t.TempDir()
	plan, mode := New(Options{Dir: dir, Session: "test"}), New(Options{Dir: dir, Session: "test", Bind: true})
	plan.where.fake, mode.where.fake = m.setting, m.setting
	t.Cleanup(func() { mode.Restore(); plan.Restore() })
	if err := plan.Apply(Want{"eth0", hashing, "off"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{mode.Add(Want{"eth0", "rss", "0 1 0 1"}), mode.unhide("eth0")} {
		if !errors.Is(err, nic.ErrTableHidden) || !strings.Contains(fault.Fix(err),
			`leave out "feature rx-hashing=off"`) || !cmp.Equal(before, m.values) {
			t.Errorf("%v, %v", err, m.values)
		}
	}
	if err := errors.Join(plan.Restore(), mode.Add(Want{"eth0", "rss", "0 1 0 1"}), mode.Restore()); err != nil ||
		!cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// A table that is not restored keeps rx-hashing on: both are owed, and restored together.
func TestHiddenTableOwed(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	m := hidden()
	before := clone(m.values)
	path := killed(t, m, Want{"eth0", "rss", "0 1 0 1"})
	m.refuse["rss"] = errors.New("busy")
	r := finishFake(t, path, boot, m, FinishOptions{})
	if r == nil || r.State != Owing || m.values[hashing] != "on" || !strings.Contains(strings.Join(r.Lines(), "\n"),
		"stays on until the RSS table of eth0 is restored") {
		t.Errorf("%+v, %v", r, m.values)
	}
	delete(m.refuse, "rss")
	if r := finishFake(t, path, boot, m, FinishOptions{}); r == nil || r.State != Finished ||
		!cmp.Equal(before, m.values) {
		t.Errorf("%+v, %v", r, m.values)
	}
}

// Whenever the process is killed, the next one restores table and rx-hashing.
func TestHiddenTableKilled(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	m := hidden()
	before := clone(m.values)
	type moment struct {
		journal []byte
		values  map[string]string
	}
	var moments []moment
	l := m.lease(t)
	for _, name := range []string{"rss", hashing, "mtu"} {
		m.after[name] = func(m *machine) {
			b, err := os.ReadFile(l.file.f.Name())
			if err != nil {
				t.Error(err)
			}
			moments = append(moments, moment{b, clone(m.values)})
		}
	}
	if err := errors.Join(l.Apply(Want{"eth0", "rss", "0 1 0 1"}, Want{"eth0", "mtu", "4148"}),
		l.Restore()); err != nil || len(moments) != 6 {
		t.Fatalf("%v, %d moments", err, len(moments))
	}
	clear(m.after)
	for i, x := range moments {
		path := filepath.Join(t.TempDir(), "zcbench"+journalExt)
		if err := os.WriteFile(path, x.journal, 0o600); err != nil {
			t.Fatal(err)
		}
		m.values = clone(x.values)
		if r := finishFake(t, path, boot, m, FinishOptions{DryRun: true}); r == nil ||
			slices.ContainsFunc(r.Steps, func(s StepReport) bool { return s.Result == failure }) ||
			!cmp.Equal(x.values, m.values) {
			t.Errorf("moment %d, dry: %+v, %v", i, r, m.values)
		}
		if r := finishFake(t, path, boot, m, FinishOptions{}); r == nil || r.State != Finished ||
			!cmp.Equal(before, m.values) {
			t.Errorf("moment %d: %+v, %v", i, r, m.values)
		}
	}
}
