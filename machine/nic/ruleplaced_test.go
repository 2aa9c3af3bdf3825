// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// ruler is a driver's ntuple rules, in the kernel's place.
type ruler struct {
	rules map[uint32]flowSpec
	shape func(flowSpec) flowSpec // of what reads back
	fails map[uint32]unix.Errno   // by command
	times map[uint32]int          // how often; 0: always
	late  unix.Errno              // of an insert that was made all the same
	dumb  bool                    // it does not return the place
}

// only is what idpf of Linux 6.17 reads back.
func only(fs flowSpec) flowSpec { return flowSpec{cookie: fs.cookie, location: fs.location} }

func whole(fs flowSpec) flowSpec { return fs }

func (r *ruler) answer(cmd []byte) error {
	number := binary.NativeEndian.Uint32(cmd)
	if errno := r.fails[number]; errno != 0 {
		if n, counted := r.times[number]; counted && n == 0 {
			delete(r.fails, number)
		} else {
			r.times[number] = n - 1
			return errno
		}
	}
	c := rxnfcIn(cmd)
	_, is := r.rules[c.fs.location]
	switch number {
	case unix.ETHTOOL_GRXCLSRLCNT:
		c.ruleCnt, c.data = uint32(len(r.rules)), 16
	case unix.ETHTOOL_GRXCLSRLALL:
		for i, at := range slices.Sorted(maps.Keys(r.rules)) {
			binary.NativeEndian.PutUint32(cmd[ruleCountAt+4+4*i:], at)
		}
	case unix.ETHTOOL_GRXCLSRULE:
		if !is {
			return unix.EINVAL
		}
		c.fs = r.shape(r.rules[c.fs.location])
	case unix.ETHTOOL_SRXCLSRLINS:
		r.rules[c.fs.location] = c.fs
		if r.dumb {
			c.fs.location = ruleAnyPlace
		}
		if r.late != 0 {
			return r.late
		}
	case unix.ETHTOOL_SRXCLSRLDEL:
		if !is {
			return unix.ENOENT
		}
		delete(r.rules, c.fs.location)
	default:
		return unix.EOPNOTSUPP
	}
	return nil
}

// The rule of these tests is for this flow, to queue 3.
var (
	ruleLocal, ruleRemote = netip.MustParseAddrPort("10.0.0.1:5201"), netip.MustParseAddrPort("10.0.0.2:40000")
	ruleOurs              = RuleName(ruleLocal, ruleRemote, 3)
)

// rulesOf is lo with rules, and a patience that is over at once.
func rulesOf(t *testing.T, r *ruler) *Device {
	t.Helper()
	ruleWithin = 0
	t.Cleanup(func() { ruleWithin = patience })
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	d.driver = r.answer
	if r.rules == nil {
		r.rules = map[uint32]flowSpec{}
	}
	if r.fails == nil {
		r.fails = map[uint32]unix.Errno{}
	}
	if r.times == nil {
		r.times = map[uint32]int{}
	}
	if r.shape == nil {
		r.shape = whole
	}
	return d
}

// patience is that of the program.
var patience = ruleWithin

// noted is the rule's setting with a note, and all notes from then on.
func noted(t *testing.T, d *Device, note string) (get func() (string, error), set func(string) error, notes *[]string) {
	t.Helper()
	s, err := d.Setting(ruleOurs)
	if err != nil {
		t.Fatal(err)
	}
	notes = new([]string)
	s = s.Noted(note, func(n string) error { *notes = append(*notes, n); return nil })
	return s.Get, s.Set, notes
}

func rule(port uint16, queue int) flowSpec {
	return steering{local: ruleLocal, remote: netip.AddrPortFrom(ruleRemote.Addr(), port), queue: queue}.spec()
}

// A rule that was made is there, and is deleted, whatever its driver reads back of it, or refuses
// to; those of others stay, also those that read back as little.
func TestNotedRule(t *testing.T) {
	theirs := map[uint32]flowSpec{2: rule(1, 3), 15: rule(2, 4)}
	for name, shape := range map[string]func(flowSpec) flowSpec{"whole": whole, "queue and place": only} {
		for _, errno := range []unix.Errno{0, unix.EBUSY, unix.EIO, unix.EINVAL} {
			r := &ruler{rules: maps.Clone(theirs), shape: shape}
			d := rulesOf(t, r)
			get, set, notes := noted(t, d, "")
			r.fails[unix.ETHTOOL_GRXCLSRULE] = errno
			err := set(present)
			is, gerr := get()
			if err = errors.Join(err, gerr); err != nil || is != present || len(r.rules) != 3 {
				t.Errorf("%s, %v: made: %s, %v; rules %v", name, errno, is, err, r.rules)
			}
			// another process, that reads the note
			get, set, more := noted(t, d, (*notes)[len(*notes)-1])
			err = set(absent)
			is, gerr = get()
			if err = errors.Join(err, gerr); err != nil || is != absent || len(r.rules) != 2 ||
				r.rules[2] != theirs[2] || r.rules[15] != theirs[15] {
				t.Errorf("%s, %v: deleted: %s, %v; rules %v", name, errno, is, err, r.rules)
			}
			if d := cmp.Diff([]string{"not at 2 15", "at 14", "deleted"}, append(*notes, *more...)); d != "" {
				t.Error(d)
			}
		}
	}
}

// What cannot be read is not known to be absent. It is not in the way of who has made nothing.
func TestUnreadRule(t *testing.T) {
	ours := rule(40000, 3)
	for name, c := range map[string]struct {
		at      uint32
		errno   unix.Errno
		command uint32
		note    string
		want    string // of the error; "": none
		is      string
	}{
		"busy":                  {9, unix.EBUSY, unix.ETHTOOL_GRXCLSRULE, "", "read ntuple rule 9 of lo", ""},
		"no list":               {9, unix.EIO, unix.ETHTOOL_GRXCLSRLALL, "at 9", "list the ntuple rules", ""},
		"no number":             {9, unix.EBUSY, unix.ETHTOOL_GRXCLSRLCNT, "at 9", "count the ntuple rules", ""},
		"none made":             {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "", "", absent},
		"about to be made":      {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "not at 2", "it may be at 9, where", ""},
		"about to, others'":     {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "not at 2 9", "", absent},
		"not written down":      {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "unknown", "it may be at 9, where", ""},
		"its place":             {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "at 9", "", present},
		"another place":         {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "at 8", "", absent},
		"deleted":               {9, unix.EIO, unix.ETHTOOL_GRXCLSRULE, "deleted", "", absent},
		"nonsense written down": {9, 0, 0, "at 8 9", "note of where", ""},
	} {
		r := &ruler{rules: map[uint32]flowSpec{c.at: ours}}
		d := rulesOf(t, r)
		r.fails[c.command] = c.errno
		get, set, _ := noted(t, d, c.note)
		is, err := get()
		if c.want == "" && (err != nil || is != c.is) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s, %v; want %s %s", name, is, err, c.is, c.want)
		}
		if c.want == "" {
			continue
		}
		if err := set(absent); err == nil || len(r.rules) != 1 {
			t.Errorf("%s: deleted: %v; rules %v", name, err, r.rules)
		}
		if strings.Contains(c.want, "it may be") && !strings.Contains(fault.Fix(err), "ethtool -N lo delete 9") {
			t.Errorf("%s: fix %s", name, fault.Fix(err))
		}
	}
	r := &ruler{rules: map[uint32]flowSpec{9: ours}}
	d := rulesOf(t, r)
	r.fails[unix.ETHTOOL_GRXCLSRULE] = unix.EIO
	if _, ok, err := d.FindRule(ruleLocal, ruleRemote, 3); ok || !errors.Is(err, unix.EIO) {
		t.Errorf("found %v, %v", ok, err)
	}
	r.fails[unix.ETHTOOL_GRXCLSRULE] = 0
	if at, ok, err := d.FindRule(ruleLocal, ruleRemote, 3); at != 9 || !ok || err != nil {
		t.Errorf("found at %d: %v, %v", at, ok, err)
	}
}

// A rule that may be ours, and may be another's, is not deleted; one at our place is ours unless
// it shows that it is another's.
func TestWhoseRule(t *testing.T) {
	for name, c := range map[string]struct {
		note  string
		rule  flowSpec
		shape func(flowSpec) flowSpec
		want  string
	}{
		"ours":                       {"not at 2", rule(40000, 3), whole, present},
		"another flow":               {"not at 2", rule(1, 3), whole, absent},
		"another queue":              {"not at 2", rule(40000, 4), only, absent},
		"may be ours":                {"not at 2", rule(1, 3), only, ""},
		"was there before":           {"not at 2 9", rule(40000, 3), whole, absent},
		"our place":                  {"at 9", rule(40000, 3), only, present},
		"our place, another flow":    {"at 9", rule(1, 3), whole, absent},
		"our place, another queue":   {"at 9", rule(40000, 4), only, absent},
		"made at another place":      {"at 5", rule(40000, 3), whole, present}, // by a driver that was reset
		"another place, may be ours": {"at 5", rule(1, 3), only, absent},
	} {
		r := &ruler{rules: map[uint32]flowSpec{9: c.rule}, shape: c.shape}
		get, set, _ := noted(t, rulesOf(t, r), c.note)
		is, err := get()
		if c.want != "" && (is != c.want || err != nil) || c.want == "" &&
			(err == nil || !strings.Contains(err.Error(), "it may be at 9")) {
			t.Errorf("%s: %s, %v; want %s", name, is, err, c.want)
		}
		err = set(absent)
		if _, left := r.rules[9]; left != (c.want != present) || (err == nil) != (c.want != "") {
			t.Errorf("%s: deleted: %v; left %v", name, err, left)
		}
	}
}

// A rule is gone when the driver says so, and does not list it any more.
func TestGoneRule(t *testing.T) {
	for errno, fails := range map[unix.Errno]bool{unix.ENOENT: true, unix.EINVAL: true, unix.EBUSY: true,
		unix.EIO: true} {
		r := &ruler{rules: map[uint32]flowSpec{9: rule(40000, 3)}}
		d := rulesOf(t, r)
		r.fails[unix.ETHTOOL_SRXCLSRLDEL] = errno
		get, set, notes := noted(t, d, "at 9")
		err := set(absent)
		if is, gerr := get(); (err != nil) != fails || is != present || gerr != nil || len(*notes) != 0 {
			t.Errorf("%v: %v, then %s, %v, %q", errno, err, is, gerr, *notes)
		}
		if fix := fault.Fix(err); strings.Contains(fix, "nothing is left") {
			t.Errorf("%v: the rule is listed, and the user is told: %s", errno, fix)
		}
	}
	r := &ruler{rules: map[uint32]flowSpec{9: rule(40000, 3)}}
	d := rulesOf(t, r)
	s := &placedRule{d, steering{local: ruleLocal, remote: ruleRemote, queue: 3}}
	delete(r.rules, 9) // meanwhile, by somebody else
	if err := s.remove(9); err != nil {
		t.Error(err)
	}
}

// A driver that is busy for a moment is asked again.
func TestBusyRule(t *testing.T) {
	r := &ruler{rules: map[uint32]flowSpec{9: rule(1, 3)}}
	d := rulesOf(t, r)
	ruleWithin = patience
	for _, c := range []uint32{unix.ETHTOOL_GRXCLSRULE, unix.ETHTOOL_GRXCLSRLALL, unix.ETHTOOL_GRXCLSRLCNT} {
		r.fails[c], r.times[c] = unix.EBUSY, 3
		get, _, _ := noted(t, d, "at 9")
		if is, err := get(); is != absent || err != nil {
			t.Errorf("%#x: %s, %v", c, is, err)
		}
	}
}

// Nothing is made that was not announced, and what was made is known where that could not be
// written down.
func TestRuleNotWrittenDown(t *testing.T) {
	for fails, left := range map[string]int{"not at": 0, "at": 1} {
		r := &ruler{shape: only}
		s, err := rulesOf(t, r).Setting(ruleOurs)
		if err != nil {
			t.Fatal(err)
		}
		s = s.Noted("", func(n string) error {
			if strings.TrimRight(n, " 0123456789") == fails {
				return unix.ENOSPC
			}
			return nil
		})
		if err := s.Set(present); !errors.Is(err, unix.ENOSPC) || len(r.rules) != left {
			t.Errorf("%s: %v; rules %v", fails, err, r.rules)
		}
		if err := s.Set(absent); err != nil || len(r.rules) != 0 {
			t.Errorf("%s: deleted: %v; rules %v", fails, err, r.rules)
		}
	}
}

// An insert that fails late, or tells no place, is looked for.
func TestRuleWithoutPlace(t *testing.T) {
	for name, r := range map[string]*ruler{"late": {late: unix.EIO}, "no place": {dumb: true}} {
		for _, shape := range []func(flowSpec) flowSpec{whole, only} {
			r.rules, r.shape = map[uint32]flowSpec{4: rule(1, 3)}, shape
			get, set, _ := noted(t, rulesOf(t, r), "")
			if err := set(present); (err != nil) != (r.late != 0) {
				t.Errorf("%s: %v", name, err)
			}
			is, err := get()
			known := shape(rule(1, 3)).flowType != 0
			if known && (is != present || err != nil) || !known &&
				(err == nil || !strings.Contains(err.Error(), "it may be at 15")) {
				t.Errorf("%s: %s, %v", name, is, err)
			}
			if err := set(absent); known && (err != nil || len(r.rules) != 1) || !known &&
				(err == nil || len(r.rules) != 2) {
				t.Errorf("%s: deleted: %v; rules %v", name, err, r.rules)
			}
		}
	}
}
