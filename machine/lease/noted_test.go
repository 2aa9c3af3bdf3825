// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/setting"
)

// blind is a machine whose NIC has rules at places that it chooses, and does not tell what they
// are for.
type blind struct {
	*machine
	rules []string // the notes of those that are there
	notes []string // that were handed over
	made  int
}

func newBlind() *blind { return &blind{machine: newMachine()} }

func (b *blind) setting(s step) (setting.Setting, error) {
	if !strings.HasPrefix(s.Name, "rule ") {
		return b.machine.setting(s)
	}
	plain := setting.Setting{Name: s.Name, Get: func() (string, error) { return "absent", nil }}
	plain.Noted = func(note string, write func(string) error) setting.Setting {
		b.notes = append(b.notes, note)
		has := func() bool { return len(note) > 0 && strings.Contains(strings.Join(b.rules, ";")+";", note+";") }
		return setting.Setting{Name: s.Name,
			Get: func() (string, error) {
				if err := b.unread[s.Name]; err != nil {
					return "", err
				}
				return map[bool]string{true: "present", false: "absent"}[has()], nil
			},
			Set: func(v string) error {
				if err := b.refuse[s.Name]; err != nil {
					return err
				}
				if v == "present" {
					if err := write("about to"); err != nil {
						return err
					}
					b.made++
					note = fmt.Sprintf("at %d", b.made)
					b.rules = append(b.rules, note)
					return write(note)
				}
				left := b.rules[:0:0]
				for _, r := range b.rules {
					if r != note {
						left = append(left, r)
					}
				}
				b.rules, note = left, "deleted"
				return write(note)
			}}
	}
	return plain, nil
}

func (b *blind) lease(t *testing.T) *Lease {
	l := New(Options{Dir: t.TempDir(), Session: "test"})
	l.where.fake = b.setting
	t.Cleanup(func() { l.Restore() })
	return l
}

// A rule that does not read back is found by what the journal says, by its maker and, when that was
// killed, by others. What is at other places is left.
func TestNotedStep(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	wants := []Want{{"eth0", "rule 0", "present"}, {"eth0", "rule 1", "present"}}
	b := newBlind()
	b.rules, b.made = []string{"at 1"}, 1
	l := b.lease(t)
	if err := errors.Join(l.Apply(wants...), l.Verify(), l.Add(wants...), l.Become(wants...)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.file.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	j, err := parse(text)
	if err != nil || j.Version != 4 || j.Steps[0].note != "at 2" || j.Steps[1].note != "at 3" {
		t.Fatalf("%+v, %v: %s", j, err, text)
	}
	left := filepath.Join(t.TempDir(), filepath.Base(l.file.f.Name()))
	if err := os.WriteFile(left, text, 0o600); err != nil {
		t.Fatal(err)
	}
	then := b.rules
	if err := l.Restore(); err != nil || !cmp.Equal(b.rules, []string{"at 1"}) {
		t.Errorf("restored: %v, %q", err, b.rules)
	}
	b.rules = then
	b.refuse["rule 1"] = unix.EIO
	if r := finishWith(t, left, boot, b.setting, FinishOptions{}); r.State != Owing ||
		len(journals(t, filepath.Dir(left))) != 1 {
		t.Errorf("a refusal: %+v", r)
	}
	delete(b.refuse, "rule 1")
	b.notes = nil
	if r := finishWith(t, left, boot, b.setting, FinishOptions{}); r.State != Finished ||
		!cmp.Equal(b.rules, []string{"at 1"}) || b.notes[0] != "at 3" {
		t.Errorf("finished: %+v, %q, %q", r, b.rules, b.notes)
	}
}

// What an older journal does not say is known not to be said, also when it is taken over.
func TestUnnotedStep(t *testing.T) {
	b := newBlind()
	l := b.lease(t)
	if err := l.Apply(Want{"eth0", "mtu", "9000"}, Want{"eth0", "rule 0", "present"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.file.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for s := range strings.Lines(string(text)) {
		if !strings.HasPrefix(s, `{"where"`) {
			lines = append(lines, s[:len(s)-1-sumLen]+"}\n")
		}
	}
	old := sealed(strings.Replace(strings.Join(lines, ""), `"version":4`, `"version":3`, 1))
	j, err := parse(old)
	if err != nil || !j.trusted || j.Steps[0].note != "" || j.Steps[1].note != setting.Unnoted {
		t.Fatalf("%+v, %v: %s", j, err, old)
	}
	j.Path = filepath.Join(t.TempDir(), "1-2-0"+journalExt)
	f, _, err := j.adopt(false, "now")
	if err != nil {
		t.Fatal(err)
	}
	defer f.f.Close()
	if j, err := read(f.f); err != nil || j.Version != 4 || j.Steps[0].note != "" ||
		j.Steps[1].note != setting.Unnoted {
		t.Errorf("taken over: %+v, %v", j, err)
	}
}

// A setting that does not read is neither restored nor gone: it stays owed, by the lease, by one
// whose Apply fails, and by what a dead process has left.
func TestUnreadStaysOwed(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	for _, errno := range []unix.Errno{unix.EIO, unix.ENODEV, unix.ENOENT} {
		for when, lose := range map[string]func(m *machine, l *Lease) error{
			"later": func(m *machine, l *Lease) error {
				err := l.Apply(Want{"eth0", "mtu", "4148"})
				m.unread["mtu"] = errno
				return err
			},
			"while it is set": func(m *machine, l *Lease) error {
				m.after["mtu"] = func(m *machine) { m.unread["mtu"] = errno }
				if err := l.Apply(Want{"eth0", "mtu", "4148"}); !errors.Is(err, errno) {
					return fmt.Errorf("applied: %w", err)
				}
				return nil
			},
		} {
			m := newMachine()
			l := m.lease(t)
			if err := lose(m, l); err != nil {
				t.Fatal(err)
			}
			if err := l.Restore(); !errors.Is(err, errno) {
				t.Errorf("%s, %v: restored: %v", when, errno, err)
			}
			left := journals(t, l.opt.Dir)
			if len(left) != 1 {
				t.Fatalf("%s, %v: journals %q", when, errno, left)
			}
			if r := finishFake(t, left[0], boot, m, FinishOptions{}); r == nil || r.State != Owing ||
				r.Steps[0].Result != failure {
				t.Errorf("%s, %v: %+v", when, errno, r)
			}
			clear(m.unread)
			clear(m.after)
			if r := finishFake(t, left[0], boot, m, FinishOptions{}); r == nil || r.State != Finished ||
				m.values["mtu"] != "1500" || len(journals(t, l.opt.Dir)) != 0 {
				t.Errorf("%s, %v: then %+v, %v", when, errno, r, m.values)
			}
		}
	}
}

// What is busy for a moment is waited for, before it is set and when it is restored.
func TestBusyForAMoment(t *testing.T) {
	m := newMachine()
	before := clone(m.values)
	l := m.lease(t)
	l.where.fake = func(s step) (setting.Setting, error) {
		set, err := m.setting(s)
		get, put := set.Get, set.Set
		set.Get = func() (string, error) {
			now, err := get()
			if m.asked[s.Name]%3 == 1 && len(m.log)%2 == 0 {
				return "", unix.EBUSY
			}
			return now, err
		}
		set.Set = func(v string) error {
			if m.asked["set"]++; m.asked["set"] == 2 {
				return unix.EAGAIN
			}
			return put(v)
		}
		return set, err
	}
	steps := []step{{Dev: "eth0", Index: 1, Netns: 1, Name: "mtu"}}
	if _, err := l.plan(steps); err != nil || steps[0].Before != "1500" {
		t.Errorf("planned: %+v, %v", steps, err)
	}
	m.asked["mtu"] = 1
	if err := l.Apply(Want{"eth0", "mtu", "4148"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Restore(); err != nil || !cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// What is to be kept, and is gone while what disturbed it is set, is there again when that is
// restored.
func TestKeptIsGoneForAWhile(t *testing.T) {
	m := newMachine()
	m.values["rss"] = "0 1 0 1"
	before := clone(m.values)
	m.after["channels"] = func(m *machine) {
		m.values["rss"], m.unread["rss"] = "default", nil
		if m.values["channels"] == "2" {
			m.unread["rss"] = &setting.Gone{Err: unix.ENODEV}
		}
	}
	l := m.lease(t)
	if err := errors.Join(l.Apply(Want{"eth0", "channels", "2"}), l.Restore()); err != nil ||
		!cmp.Equal(before, m.values) {
		t.Errorf("%v, %v", err, m.values)
	}
}

// ENODEV is also what a driver says that resets its NIC.
func TestGone(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	p := places{}
	none := &fault.Error{Op: "read", Err: unix.ENODEV}
	for name, c := range map[string]struct {
		s    step
		err  error
		gone bool
	}{
		"an interface in a reset": {step{Dev: "lo", Index: lo.Index}, none, false},
		"an interface":            {step{Dev: "lo", Index: 1 << 30}, none, true},
		"another error":           {step{Dev: "lo", Index: 1 << 30}, unix.EIO, false},
		"a replaced interface":    {step{Dev: "lo", Index: lo.Index}, errGone, true},
		"what had it":             {step{Dev: "lo", Index: lo.Index}, &setting.Gone{Err: none}, true},
		"of the host":             {step{Name: "governor 1"}, none, false},
		"nothing":                 {step{Dev: "lo", Index: lo.Index}, nil, false},
	} {
		if got := p.gone(c.s, c.err); got != c.gone {
			t.Errorf("%s: gone %v", name, got)
		}
	}
}

// A namespace that cannot be looked at may be the one that is looked for.
func TestNamespaceUnseen(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	defer func(f func() []string) { listNamespaces = f }(listNamespaces)
	for path, want := range map[string]error{loop: unix.ELOOP, loop + "x": errNoNetns, "/dev/null": errNoNetns} {
		listNamespaces = func() []string { return []string{path} }
		if err := inNetns(1<<60, func() error { return nil }); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}
