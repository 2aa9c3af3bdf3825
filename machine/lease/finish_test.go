// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// finishFake is finishOne on the machine that is a table.
func finishFake(t *testing.T, path, boot string, m *machine, o FinishOptions) *Report {
	t.Helper()
	return finishWith(t, path, boot, m.setting, o)
}

// finishWith is the same on other settings.
func finishWith(t *testing.T, path, boot string, fake func(step) (setting.Setting, error), o FinishOptions) *Report {
	t.Helper()
	defer func(f func() *places) { newPlaces = f }(newPlaces)
	newPlaces = func() *places { return &places{opened: map[string]*nic.Device{}, fake: fake} }
	defer func(f func(uint64, func() error) error) { enterNetns = f }(enterNetns)
	enterNetns = func(_ uint64, f func() error) error { return f() }
	return finishOne(path, boot, o)
}

// killed makes the journal of a process that was killed after its n-th line.
func killed(t *testing.T, m *machine, wants ...Want) (path string) {
	t.Helper()
	l := m.lease(t)
	if err := l.Apply(wants...); err != nil {
		t.Fatal(err)
	}
	return l.kill(t, m)
}

// killedBecoming is the same of a lease that changed from one value to another.
func killedBecoming(t *testing.T, m *machine, from, to Want) (path string) {
	t.Helper()
	l := m.lease(t)
	if err := errors.Join(l.Become(from), l.Become(to)); err != nil {
		t.Fatal(err)
	}
	return l.kill(t, m)
}

func (l *Lease) kill(t *testing.T, m *machine) (path string) {
	t.Helper()
	b, err := os.ReadFile(l.file.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), filepath.Base(l.file.f.Name()))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	after := clone(m.values)
	if err := l.Restore(); err != nil {
		t.Fatal(err)
	}
	m.values = after
	return path
}

// What a restart of the queues took along is put back also when who was undoing the
// restart was killed in the middle of it: what then reads is nobody else's.
func TestFinishAfterKillInTheUndoing(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"owner", "restore"} {
		t.Run(by, func(t *testing.T) {
			m := newMachine()
			m.values["rss"] = "0 1 0 1"
			before := clone(m.values)
			m.after["channels"] = func(m *machine) { m.values["rss"] = "1 1" }
			l := m.lease(t)
			if err := l.Apply(Want{"eth0", "channels", "2"}); err != nil {
				t.Fatal(err)
			}
			path := l.file.f.Name()
			if by == "restore" {
				path = l.kill(t, m)
			}
			var journal []byte
			var then map[string]string
			m.after["channels"] = func(m *machine) { // the moment of the second kill
				m.values["rss"] = "default"
				if journal == nil {
					journal, err = os.ReadFile(path)
					then = clone(m.values)
				}
			}
			if by == "restore" {
				finishFake(t, path, boot, m, FinishOptions{})
			} else {
				err = errors.Join(err, l.Restore())
			}
			if err != nil || journal == nil {
				t.Fatalf("%v, the journal in the middle of the undoing: %q", err, journal)
			}
			m.values = then
			left := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(left, journal, 0o600); err != nil {
				t.Fatal(err)
			}
			r := finishFake(t, left, boot, m, FinishOptions{})
			if r == nil || r.State != Finished || !cmp.Equal(before, m.values) {
				t.Errorf("%+v, %v", r, m.values)
			}
		})
	}
}

func TestFinishAfterKill(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	wants := []Want{{"eth0", "mtu", "4148"}, {"eth0", "header-split", "on"}, {"", "irqbalance", "stopped"}}
	t.Run("after all", func(t *testing.T) {
		m := newMachine()
		before := clone(m.values)
		r := finishFake(t, killed(t, m, wants...), boot, m, FinishOptions{})
		if r == nil || r.State != Finished || len(r.Steps) != 3 || !strings.Contains(strings.Join(r.Lines(), "\n"),
			"mtu of eth0: restored to 1500 (was set to 4148)") {
			t.Errorf("%+v", r)
		}
		if d := cmp.Diff(before, m.values); d != "" {
			t.Error(d)
		}
	})
	t.Run("between journal and change", func(t *testing.T) {
		m := newMachine()
		path := killed(t, m, wants...)
		m.values = newMachine().values
		m.values["irqbalance"] = "stopped"
		r := finishFake(t, path, boot, m, FinishOptions{})
		if r == nil || r.State != Finished || m.values["irqbalance"] != "running" {
			t.Errorf("%+v, %v", r, m.values)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journal is still there: %v", err)
		}
	})
	t.Run("dry run", func(t *testing.T) {
		m := newMachine()
		path := killed(t, m, wants...)
		r := finishFake(t, path, boot, m, FinishOptions{DryRun: true})
		if r == nil || r.State != Owing || r.Steps[0].Result != Would || m.values["mtu"] != "4148" {
			t.Errorf("%+v, %v", r, m.values)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("rebooted", func(t *testing.T) {
		m := newMachine()
		path := killed(t, m, wants...)
		r := finishFake(t, path, "another-boot", m, FinishOptions{})
		if r == nil || r.State != Rebooted || m.values["mtu"] != "4148" || !strings.Contains(r.Lines()[0], "rebooted") {
			t.Errorf("%+v, %v", r, m.values)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the journal is still there: %v", err)
		}
	})
	t.Run("torn", func(t *testing.T) {
		m := newMachine()
		before := clone(m.values)
		path := killed(t, m, wants...)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, `{"steps":[{"setting":"mtu","bef`)
		f.Close()
		r := finishFake(t, path, boot, m, FinishOptions{})
		if r == nil || r.State != Finished || !cmp.Equal(before, m.values) {
			t.Errorf("%+v, %v", r, m.values)
		}
	})
	t.Run("a failure is tried again", func(t *testing.T) {
		m := newMachine()
		before := clone(m.values)
		path := killed(t, m, wants...)
		m.refuse["mtu"] = unix.EPERM
		r := finishFake(t, path, boot, m, FinishOptions{})
		if r == nil || r.State != Owing || !r.Failed() || m.values["irqbalance"] != "running" {
			t.Errorf("%+v, %v", r, m.values)
		}
		delete(m.refuse, "mtu")
		r = finishFake(t, path, boot, m, FinishOptions{})
		if r == nil || r.State != Finished || len(r.Steps) != 1 || !cmp.Equal(before, m.values) {
			t.Errorf("%+v, %v", r, m.values)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "1-2-0"+journalExt)
		for text, want := range map[string]string{"hello\n": "line 1", "": "",
			`{"kind":"zcbench-lease","version":99,"boot_id":"x","owner":{}}` + "\n": "version 99"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r := finishFake(t, path, boot, newMachine(), FinishOptions{})
			if want == "" {
				if r != nil {
					t.Errorf("an empty journal: %+v", r)
				}
			} else if r == nil || r.State != Broken || !strings.Contains(r.Error, want) {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}
