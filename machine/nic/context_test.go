// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
)

// contexts is a driver that has room for one RSS context, in the kernel's place.
type contexts struct {
	id    uint32 // 0: there is none
	table []uint32
	mute  bool // it does not tell the table
	fails unix.Errno
}

func (c *contexts) answer(cmd []byte) error {
	ne := binary.NativeEndian
	switch ne.Uint32(cmd) {
	case unix.ETHTOOL_GRXFHINDIR:
		ne.PutUint32(cmd[4:], 4)
		return nil
	case unix.ETHTOOL_SRSSH:
		if id := ne.Uint32(cmd[rxfhContextAt:]); id != newContext {
			if c.fails != 0 {
				return c.fails
			}
			c.id = 0
			return nil
		}
		c.id, c.table = 5, nil
		for b := cmd[rxfhHead:]; len(b) >= 4; b = b[4:] {
			c.table = append(c.table, ne.Uint32(b))
		}
		ne.PutUint32(cmd[rxfhContextAt:], c.id)
		return nil
	}
	return unix.EOPNOTSUPP
}

func (c *contexts) tell(ae *netlink.AttributeEncoder) {
	if c.id == 0 {
		return
	}
	ae.Uint32(attrRSSContext, c.id)
	var b []byte
	for _, q := range c.table {
		b = binary.NativeEndian.AppendUint32(b, q)
	}
	if !c.mute {
		ae.Bytes(attrRSSIndir, b)
	}
}

// on is the setting of a context over the queues 2 and 3, and what is written down of it.
func (c *contexts) on(t *testing.T, note string) (get func() (string, error), set func(string) error, notes *[]string) {
	t.Helper()
	d := scripted(t, unix.EIO, replies{unix.ETHTOOL_MSG_RSS_GET: c.tell})
	d.driver = c.answer
	s, err := d.Setting("rss-context 2,3")
	if err != nil {
		t.Fatal(err)
	}
	notes = new([]string)
	s = s.Noted(note, func(n string) error { *notes = append(*notes, n); return nil })
	return s.Get, s.Set, notes
}

// A context is found by its number, also where its table does not read back, or has another length
// by now.
func TestNotedContext(t *testing.T) {
	for name, after := range map[string]func(*contexts){
		"as made":        func(*contexts) {},
		"mute":           func(c *contexts) { c.mute = true },
		"another length": func(c *contexts) { c.table = append(c.table, c.table...) },
	} {
		c := &contexts{}
		get, set, notes := c.on(t, "")
		err := set(present)
		after(c)
		is, gerr := get()
		if err = errors.Join(err, gerr); err != nil || is != present {
			t.Errorf("%s: made: %s, %v", name, is, err)
		}
		get, set, more := c.on(t, (*notes)[len(*notes)-1])
		err = set(absent)
		is, gerr = get()
		if err = errors.Join(err, gerr); err != nil || is != absent || c.id != 0 {
			t.Errorf("%s: deleted: %s, %v; %d", name, is, err, c.id)
		}
		if d := cmp.Diff([]string{"not at", "at 5", "deleted"}, append(*notes, *more...)); d != "" {
			t.Error(d)
		}
	}
}

// One that may be ours, or is another's, is not deleted; one that cannot be deleted is not gone.
func TestWhoseContext(t *testing.T) {
	for name, c := range map[string]struct {
		is   contexts
		note string
		want string
	}{
		"may be ours":  {contexts{id: 5, mute: true}, "not at 1", "it may be 5, whose table"},
		"others'":      {contexts{id: 5, table: []uint32{1, 2, 1, 2}}, "not at 1", ""},
		"was there":    {contexts{id: 5, table: []uint32{2, 3, 2, 3}}, "not at 5", ""},
		"our number":   {contexts{id: 5, table: []uint32{1, 2, 1, 2}}, "at 5", ""},
		"a rule needs": {contexts{id: 5, table: []uint32{2, 3}, fails: unix.EBUSY}, "at 5", "delete RSS context 5"},
		"still there":  {contexts{id: 5, table: []uint32{2, 3}, fails: unix.ENOENT}, "at 5", "delete RSS context 5"},
	} {
		is := &c.is
		_, set, _ := is.on(t, c.note)
		err := set(absent)
		if is.id != 5 || (err == nil) != (c.want == "") || c.want != "" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; context %d", name, err, is.id)
		}
		if strings.Contains(c.want, "may be") && !strings.Contains(fault.Fix(err), "ethtool -X lo context 5 delete") {
			t.Errorf("%s: fix %s", name, fault.Fix(err))
		}
	}
}
