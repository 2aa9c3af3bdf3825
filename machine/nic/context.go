// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Context is an RSS context beside the default one: an indirection table of its
// own, for flows that a rule sends there.
type Context struct {
	ID    uint32
	Table []uint32
}

// Contexts lists the interface's RSS contexts (ETHTOOL_MSG_RSS_GET as a dump, 6.12).
func (d *Device) Contexts() ([]Context, error) {
	msgs, err := d.ask(d.ethtool, unix.ETHTOOL_MSG_RSS_GET, netlink.Dump, d.header)
	var out []Context
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

func decodeContext(b []byte) (c Context, err error) {
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

// tableOver is an indirection table over some queues in turn.
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

// contextSetting is a context over the queues of arg, such as 2,3: it is present
// or absent.
func (d *Device) contextSetting(arg string) (get func() (string, error), set func(string) error, err error) {
	var queues []uint32
	for _, f := range strings.Split(arg, ",") {
		q, err := parse32(f)
		if err != nil || strconv.Itoa(int(q)) != f {
			return nil, nil, fmt.Errorf("RSS context %q: want queues such as 2,3", arg)
		}
		queues = append(queues, q)
	}
	find := func() (id uint32, ok bool, err error) {
		want, err := d.tableOver(queues)
		if err != nil {
			return 0, false, err
		}
		all, err := d.Contexts()
		i := slices.IndexFunc(all, func(c Context) bool { return slices.Equal(c.Table, want) })
		if i < 0 {
			return 0, false, err
		}
		return all[i].ID, true, err
	}
	get = func() (string, error) {
		_, ok, err := find()
		if ok {
			return present, err
		}
		return absent, err
	}
	set = func(v string) error {
		if v == present {
			_, err := d.NewContext(queues)
			return err
		}
		id, ok, err := find()
		if err != nil || !ok {
			return err
		}
		return d.DeleteContext(id)
	}
	return get, set, nil
}
