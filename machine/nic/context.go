// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// context is an RSS context beside the default one: an indirection table of its
// own, for flows that a rule sends there.
type context struct {
	ID    uint32
	Table []uint32
}

// Contexts lists the interface's RSS contexts (ETHTOOL_MSG_RSS_GET as a dump, 6.12).
func (d *Device) Contexts() ([]context, error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RSS_GET, netlink.Dump, d.header)
	var out []context
	for _, m := range msgs {
		c, derr := decodeContext(m.Data)
		if derr != nil {
			return nil, garbled(d.op("list the RSS contexts"), derr)
		}
		if c.ID != 0 {
			out = append(out, c)
		}
	}
	if err != nil {
		return nil, d.failed(remedy.RSSContextsGet, d.op("list the RSS contexts"), err)
	}
	return out, nil
}

func decodeContext(b []byte) (c context, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return c, err
	}
	for ad.Next() {
		switch ad.Type() {
		case attrRSSContext:
			c.ID = ad.Uint32()
		case attrRSSIndir:
			b := ad.Bytes()
			for ; len(b) >= 4; b = b[4:] {
				c.Table = append(c.Table, binary.NativeEndian.Uint32(b))
			}
		}
	}
	return c, ad.Err()
}

// NewContext makes a context that spreads flows over some RX queues in turn
// (ETHTOOL_SRSSH, ioctl).
func (d *Device) NewContext(queues []uint32) (uint32, error) {
	table, err := d.tableOver(queues)
	if err != nil {
		return 0, err
	}
	req := rxfh{cmd: unix.ETHTOOL_SRSSH, context: newContext, indirSize: uint32(len(table))}
	b := append(bytesOfRXFH(&req), make([]byte, 4*len(table))...)
	for i, q := range table {
		binary.NativeEndian.PutUint32(b[rxfhHead+4*i:], q)
	}
	if err := ioctlBytes(d, b); err != nil {
		return 0, d.failed(remedy.ContextNew, d.op("make an RSS context over the queues %v", queues), err)
	}
	return binary.NativeEndian.Uint32(b[rxfhContextAt:]), nil
}

// DeleteContext deletes one. The kernel refuses while a rule sends flows there.
func (d *Device) DeleteContext(id uint32) error {
	req := rxfh{cmd: unix.ETHTOOL_SRSSH, context: id}
	if err := ioctlBytes(d, bytesOfRXFH(&req)); err != nil {
		return d.failed(remedy.ContextDelete, d.op("delete RSS context %d", id), err)
	}
	return nil
}

// tableOver makes an indirection table over some queues in turn.
func (d *Device) tableOver(queues []uint32) ([]uint32, error) {
	table, err := d.Indirection()
	if err != nil {
		return nil, err
	}
	for i := range table {
		table[i] = queues[i%len(queues)]
	}
	return table, nil
}

// isOver reports whether a table, however long it is, has some queues in turn.
func isOver(table, queues []uint32) bool {
	for i, q := range table {
		if q != queues[i%len(queues)] {
			return false
		}
	}
	return len(table) > 0
}

// contextSetting makes a setting of a context over the queues of arg, such as 2,3: it is present or
// absent.
func (d *Device) contextSetting(s *setting.Setting, arg string) error {
	queues, err := parseQueues(arg)
	if err != nil {
		return fmt.Errorf("RSS context %q: want queues such as 2,3", arg)
	}
	hold(s, &placedContext{d, queues})
	return nil
}

// ContextName formats the name of the setting that is an RSS context over some queues in turn.
func ContextName(queues []uint32) string { return "rss-context " + queueText(queues) }

// queueText joins queues as settings name them: 2,3.
func queueText(queues []uint32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(queues), "[]"), " ", ",")
}

func parseQueues(s string) (queues []uint32, err error) {
	for _, f := range strings.Split(s, ",") {
		q, err := parse32(f)
		if err != nil || strconv.Itoa(int(q)) != f {
			return nil, fmt.Errorf("%q is not the number of a queue", f)
		}
		queues = append(queues, q)
	}
	return queues, nil
}

// contextOver finds the youngest context over some queues in turn. One of somebody else's that is
// the same does the same.
func (d *Device) contextOver(queues []uint32) (id uint32, err error) {
	all, err := d.Contexts()
	for _, c := range all {
		if isOver(c.Table, queues) {
			id = max(id, c.ID)
		}
	}
	if err == nil && id == 0 {
		err = &fault.Error{Op: d.op("find the RSS context over the queues %s", queueText(queues)), Err: unix.ENOENT,
			How: "another program has deleted it, or the driver while it was reset: look at ethtool -x " + d.Name +
				" context N, and at the kernel's log (dmesg)"}
	}
	return id, err
}

// placedContext is a context over some queues in turn; its place is its number.
type placedContext struct {
	d      *Device
	queues []uint32
}

func (c *placedContext) make(write func(placeNote) error) error {
	all, err := c.d.Contexts()
	if err != nil {
		return err
	}
	note := placeNote{word: noteMaking}
	for _, x := range all {
		note.places = append(note.places, x.ID)
	}
	if err := write(note); err != nil {
		return err
	}
	id, err := c.d.NewContext(c.queues)
	if err != nil {
		return err
	}
	return write(placeNote{noteAt, []uint32{id}})
}

func (c *placedContext) look(but []uint32) (l placeLook, err error) {
	all, err := c.d.Contexts()
	for _, x := range all {
		switch {
		case slices.Contains(but, x.ID):
		case isOver(x.Table, c.queues):
			return placeLook{at: x.ID, found: true}, err
		case len(x.Table) == 0:
			l.unsure = append(l.unsure, x.ID)
		}
	}
	return l, err
}

func (c *placedContext) holds(at uint32) (bool, error) {
	all, err := c.d.Contexts()
	return slices.ContainsFunc(all, func(x context) bool {
		return x.ID == at && (len(x.Table) == 0 || isOver(x.Table, c.queues))
	}), err
}

func (c *placedContext) remove(at uint32) error {
	err := c.d.DeleteContext(at)
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	all, lerr := c.d.Contexts()
	if lerr != nil {
		return lerr
	}
	if slices.ContainsFunc(all, func(x context) bool { return x.ID == at }) {
		return err
	}
	return nil
}

func (c *placedContext) unsure(l placeLook) error {
	var show, del []string
	for _, at := range l.unsure {
		show = append(show, fmt.Sprintf("ethtool -x %s context %d", c.d.Name, at))
		del = append(del, fmt.Sprintf("ethtool -X %s context %d delete", c.d.Name, at))
	}
	return &fault.Error{Op: c.d.op("find the RSS context over the queues %v", c.queues) + ": it may be " +
		orList(l.unsure) + ", whose table the driver does not tell",
		How: lookAndDelete(show, del)}
}
