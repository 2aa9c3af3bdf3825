// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// host is a machine whose every call can fail, or be the last of the process that makes it. Its
// NIC chooses the places of rules, shows no RSS table while rx-hashing is off, forgets the table
// with its queues, and tells of header split only what it does.
type host struct {
	values map[string]string // of header split what was asked for
	rules  map[int]string    // by their places

	calls  int
	at     int // the call that goes wrong
	last   int // and the last that does
	errno  error
	late   bool // it does all the same what was asked
	killed func()
	log    []string
}

const hostRule, hostTheirs = "rule 1", "rule 0"

func newHost() *host {
	return &host{at: -1, last: -1, rules: map[int]string{3: hostTheirs},
		values: map[string]string{"mtu": "1500", "channels": "4", "ring rx": "511", "rss": "3 1 2 0", hashing: "off",
			"header-split":      "auto",
			"coalesce rx-usecs": "64", "coalesce tx-usecs": "64", "feature rx-gro": "on", "irqbalance": "running"}}
}

// state is all of it.
func (h *host) state() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(h.values)) {
		out = append(out, k+"="+h.values[k])
	}
	for _, at := range slices.Sorted(maps.Keys(h.rules)) {
		out = append(out, fmt.Sprintf("%s at %d", h.rules[at], at))
	}
	return strings.Join(out, "\n")
}

// errDead is what a process that was killed hears: nothing that it does counts.
var errDead = errors.New("killed")

// call makes a call.
func (h *host) call(what string, do func() error) error {
	n := h.calls
	h.calls++
	h.log = append(h.log, what)
	dead := h.killed != nil && n > h.at && h.at >= 0
	if dead || n >= h.at && n <= h.last && !h.late {
		if h.killed != nil && n == h.at {
			h.killed()
		}
		return h.errno
	}
	err := do()
	if n >= h.at && n <= h.last {
		if h.killed != nil {
			h.killed()
		}
		return h.errno
	}
	return err
}

func (h *host) setting(s step) (setting.Setting, error) {
	name := s.Name
	get := func(do func() string) func() (string, error) {
		return func() (now string, err error) {
			now = "0" // as a number reads that was not told
			err = h.call("get "+name, func() error {
				if name == "rss" && h.values[hashing] == "off" {
					return nic.ErrTableHidden
				}
				now = do()
				return nil
			})
			return now, err
		}
	}
	set := func(do func(string)) func(string) error {
		return func(v string) error { return h.call("set "+name+" to "+v, func() error { do(v); return nil }) }
	}
	out := setting.Setting{Name: name, Get: get(func() string { return h.values[name] }), Set: set(func(v string) {
		h.values[name] = v
		if name == "channels" {
			h.values["rss"] = "default"
		}
		if name == "header-split" || name == "mtu" {
			h.values["ring rx"] = "255"
		}
	})}
	if name == "header-split" {
		read := func() string {
			return map[string]string{"auto": "off"}[h.values[name]] + strings.TrimPrefix(h.values[name], "auto")
		}
		out.Get = get(read)
		out.Ask = func(v string) (changed bool, err error) {
			err = out.Set(v)
			return true, err
		}
		out.Leave = func(string) error {
			return h.call("leave "+name,
				func() error { h.values[name] = "auto"; return nil })
		}
	}
	if noted(name) {
		of := func(note string, write func(string) error) setting.Setting {
			var but []int
			at := -1
			if _, err := fmt.Sscanf(note, "at %d", &at); err != nil {
				at = -1
			}
			find := func() int {
				if h.rules[at] == name || note == "deleted" {
					return at
				}
				for _, place := range slices.Sorted(maps.Keys(h.rules)) {
					if h.rules[place] == name && !slices.Contains(but, place) {
						return place
					}
				}
				return -1
			}
			keep := func(n string) error {
				note = n
				return h.call("write "+n, func() error { return write(n) })
			}
			return setting.Setting{Name: name, Get: get(func() string {
				if note != "deleted" && find() >= 0 {
					return "present"
				}
				return "absent"
			}), Set: func(v string) error {
				if v == "absent" {
					if err := h.call("delete "+name, func() error { delete(h.rules, find()); return nil }); err != nil {
						return err
					}
					_ = keep("deleted")
					return nil
				}
				if err := keep("not at 3"); err != nil {
					return err
				}
				if err := h.call("make "+name, func() error { at = 7; h.rules[at] = name; return nil }); err != nil {
					return err
				}
				return keep(fmt.Sprintf("at %d", at))
			}}
		}
		plain := of("", func(string) error { return nil })
		out.Get, out.Set, out.Noted = plain.Get, plain.Set, of
	} else if _, ok := h.values[name]; !ok {
		return out, fmt.Errorf("unknown setting %q", name)
	}
	return out, nil
}

// work is what a lease is used for.
func (h *host) work(l *Lease) error {
	rule, split := Want{"eth0", hostRule, "present"}, Want{"eth0", "header-split", "on"}
	table := Want{"eth0", "rss", "0 1 0 1"}
	return cmpErr(
		func() error { return l.Apply(Want{"eth0", "mtu", "4148"}, split, Want{"", "irqbalance", "stopped"}) },
		func() error { return l.Add(rule, Want{"eth0", "coalesce rx-usecs", "8"}, split) },
		func() error { return l.Add(table) },
		func() error { return l.Become(Want{"eth0", "channels", "2"}, split, rule) },
		func() error { return l.Become(Want{"eth0", "mtu", "9000"}, split, rule, table) },
		func() error { return l.Become(Want{"eth0", "mtu", "4148"}, rule) },
		func() error { return l.Withdraw(rule) },
		l.Verify,
	)
}

// sampled reports whether a call is tried: all are only in the long tests.
func sampled(at int) bool { return long.Wanted() || at%7 == 3 }

// cmpErr does one after the other until one fails.
func cmpErr(all ...func() error) error {
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func hostLease(t *testing.T, h *host, dir string) *Lease {
	l := New(Options{Dir: dir, Session: "test"})
	l.where.fake = h.setting
	return l
}

// impatient has tests not wait for what is busy.
func impatient(t *testing.T) {
	was := freeWithin
	freeWithin = 0
	t.Cleanup(func() { freeWithin = was })
}

// Whichever call fails, once or from then on, and whether or not it did what was asked: who
// restores hears of what is not as before, and the next one restores it.
func TestEveryCallFails(t *testing.T) {
	impatient(t)
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	h := newHost()
	before := h.state()
	l := hostLease(t, h, t.TempDir())
	w := h.work(l)
	r := l.Restore()
	if err := errors.Join(w, r); err != nil || h.state() != before {
		t.Fatalf("%v\n%s", err, cmp.Diff(before, h.state()))
	}
	calls, first := h.calls, h.log
	dir := t.TempDir()
	for at := range calls {
		if !sampled(at) {
			continue
		}
		for _, errno := range []unix.Errno{unix.EBUSY, unix.EIO, unix.EINVAL, unix.ENODEV} {
			reads := strings.HasPrefix(first[at], "get ")
			if !passing(errno) && reads {
				continue // which a driver says each time
			}
			for _, last := range []int{at, at + 3, 1 << 30} {
				for _, late := range []bool{false, true} {
					if late && reads {
						continue // it makes no difference
					}
					h := newHost()
					h.at, h.last, h.errno, h.late = at, last, errno, late
					l := hostLease(t, h, dir)
					worked := h.work(l)
					restored := l.Restore()
					if worked != nil && strings.Contains(worked.Error(), "restore: ") {
						restored = errors.Join(worked, restored)
					}
					name := fmt.Sprintf("call %d to %d (%s), %v, late %v", at, last, h.log[at], errno, late)
					is, left := h.state(), journals(t, dir)
					if restored == nil && (is != before || len(left) != 0) {
						t.Fatalf("%s: restored, after %v; left %q\n%s\n%s", name, worked, left, cmp.Diff(before, is),
							strings.Join(h.log[at:], "; "))
					}
					if restored != nil && is != before && len(left) == 0 {
						t.Fatalf("%s: %v; left %q", name, restored, left)
					}
					h.at, h.last = -1, -1
					for _, path := range left {
						if r := finishWith(t, path, boot, h.setting, FinishOptions{}); r == nil ||
							r.State != Finished || h.state() != before || len(journals(t, dir)) != 0 {
							t.Errorf("%s: work %v\nrestored: %v\nfinished: %+v\n%s", name, worked, restored, r,
								cmp.Diff(before, h.state()))
						}
					}
				}
			}
		}
	}
	t.Logf("%d calls", calls)
}

// Whenever the process is killed, and whenever the one that then restores: all is as before in
// the end.
func TestEveryKill(t *testing.T) {
	impatient(t)
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	h := newHost()
	before := h.state()
	l := hostLease(t, h, t.TempDir())
	if err := errors.Join(h.work(l), l.Restore()); err != nil {
		t.Fatal(err)
	}
	calls := h.calls
	// kill has the process end at a call, and returns its journal
	kill := func(h *host, at int, late bool, path func() string) (journal func() []byte) {
		var b []byte
		h.calls, h.log = 0, nil
		h.at, h.last, h.errno, h.late = at, at, errDead, late
		h.killed = func() {
			if p := path(); p != "" {
				b, err = os.ReadFile(p)
			}
		}
		return func() []byte {
			h.killed, h.at, h.last = nil, -1, -1
			return b
		}
	}
	dir, again := t.TempDir(), t.TempDir()
	for at := range calls {
		if !sampled(at) {
			continue
		}
		for _, late := range []bool{false, true} {
			for second := -1; ; second += 31 + (at*7+second+2)%13 {
				h := newHost()
				l := hostLease(t, h, dir)
				journal := kill(h, at, late, func() string {
					if l.file == nil {
						return ""
					}
					return l.file.f.Name()
				})
				if h.work(l) == nil {
					l.Restore()
				}
				name := fmt.Sprintf("call %d (%s), late %v", at, h.log[at], late)
				left := journal()
				if l.file != nil {
					l.file.remove()
					live.remove(l)
				}
				for _, release := range l.release {
					release()
				}
				if left == nil {
					if is := h.state(); is != before {
						t.Fatalf("%s: no journal\n%s", name, cmp.Diff(before, is))
					}
					break
				}
				path := filepath.Join(again, "1-2-0"+journalExt)
				if err := os.WriteFile(path, left, 0o600); err != nil {
					t.Fatal(err)
				}
				ended := true
				if second >= 0 { // the restorer is killed too
					journal = kill(h, second, late, func() string { return path })
					finishWith(t, path, boot, h.setting, FinishOptions{})
					name = fmt.Sprintf("%s, then call %d", name, second)
					ended = h.calls <= second
					if left := journal(); !ended {
						if err := os.WriteFile(path, left, 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				if second < 0 || !ended {
					if r := finishWith(t, path, boot, h.setting, FinishOptions{}); r != nil &&
						r.State != Finished || h.state() != before || len(journals(t, again)) != 0 {
						t.Fatalf("%s: %+v\n%s\n%s", name, r, cmp.Diff(before, h.state()), strings.Join(h.log, "\n"))
					}
				}
				if second >= 0 && (ended || testing.Short()) {
					break
				}
			}
		}
	}
}

// From whichever call on the journal's disk is full: who restores hears of what is not as before,
// and the next one restores it.
func TestEveryCallDiskFull(t *testing.T) {
	impatient(t)
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	room := func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &was) }
	defer room()
	h := newHost()
	before := h.state()
	l := hostLease(t, h, t.TempDir())
	if err := errors.Join(h.work(l), l.Restore()); err != nil {
		t.Fatal(err)
	}
	calls := h.calls
	dir := t.TempDir()
	for at := range calls {
		if !sampled(at) {
			continue
		}
		for _, dead := range []bool{false, true} { // it is killed before it restores
			h := newHost()
			l := hostLease(t, h, dir)
			fake := l.where.fake
			l.where.fake = func(s step) (setting.Setting, error) {
				if h.calls >= at && l.file != nil {
					if st, err := l.file.f.Stat(); err == nil {
						_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(st.Size()) + 7, Max: was.Max})
					}
				}
				return fake(s)
			}
			worked := h.work(l)
			name := fmt.Sprintf("call %d, %v", at, worked)
			if dead && l.file != nil {
				room()
				path := l.kill2(t)
				if r := finishWith(t, path, boot, h.setting, FinishOptions{}); r != nil && r.State != Finished ||
					h.state() != before || len(journals(t, filepath.Dir(path))) != 0 {
					t.Fatalf("%s: %+v\n%s", name, r, cmp.Diff(before, h.state()))
				}
				continue
			}
			restored := l.Restore()
			room()
			if left := journals(t, dir); restored != nil || h.state() != before || len(left) != 0 {
				t.Fatalf("%s: %v, left %q\n%s", name, restored, left, cmp.Diff(before, h.state()))
			}
		}
	}
}

// kill2 ends a lease as if its process had been killed.
func (l *Lease) kill2(t *testing.T) (path string) {
	t.Helper()
	b, err := os.ReadFile(l.file.f.Name())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), filepath.Base(l.file.f.Name()))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = l.file.remove()
	live.remove(l)
	for _, release := range l.release {
		release()
	}
	return path
}
