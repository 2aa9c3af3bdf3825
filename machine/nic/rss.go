// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// Indirection reads the table by which receive-side scaling chooses a queue: the
// hash of a flow picks an entry (ETHTOOL_GRXFHINDIR, ioctl).
func (d *Device) Indirection() ([]uint32, error) {
	op := d.op("read the RSS indirection table")
	c := &rxfhIndir{cmd: unix.ETHTOOL_GRXFHINDIR}
	for range 2 { // how long it is, and the table; a record may say otherwise the second time
		if err := ioctl(d, c); err != nil {
			return nil, d.failed(remedy.RSSGet, op, err)
		}
		if c.size > maxIndirection {
			return nil, &fault.Error{Op: op, Err: unix.E2BIG,
				How: fmt.Sprintf("its table has %d entries: please report it", c.size)}
		}
		c.cmd = unix.ETHTOOL_GRXFHINDIR
	}
	return append([]uint32(nil), c.ring[:c.size]...), nil
}

// ErrTableHidden is why the RSS table cannot be told: what reads is not what was set.
var ErrTableHidden = errors.New("the driver shows zeros while rx-hashing is off, whatever is set")

// Table reads the indirection table as it was set. A driver that shows zeros instead is an
// [ErrTableHidden]: written back, they would be the table.
//
// With rx-hashing off idpf shows zeros in the place of the table that it has, and stores what it
// is given (idpf_get_rxfh, idpf_set_rxfh of idpf_ethtool.c, Linux 7.2). ice and i40e write zeros
// to the NIC, which is what they then read (ice_vsi_manage_rss_lut of ice_lib.c, ice_get_rxfh of
// ice_ethtool.c; i40e_clear_rss_lut of i40e_main.c).
func (d *Device) Table() ([]uint32, error) {
	table, err := d.Indirection()
	if err != nil || slices.ContainsFunc(table, func(q uint32) bool { return q != 0 }) {
		return table, err
	}
	queues, err := d.Queues()
	if err != nil {
		return nil, err
	}
	all, err := d.Features()
	if err == nil && tableHidden(table, len(queues), all[FeatureRXHash]) {
		err = &fault.Error{Op: d.op("read the RSS indirection table"), Err: ErrTableHidden,
			How: "turn rx-hashing on: ethtool -K " + d.Name + " rxhash on"}
	}
	return table, err
}

// tableHidden reports whether a table may be another one than it reads. Where rx-hashing is off for
// good, or the driver does without it (mlx5, with compressed completions), zeros are zeros.
func tableHidden(table []uint32, queues int, hashing Feature) bool {
	zeros := !slices.ContainsFunc(table, func(q uint32) bool { return q != 0 })
	return zeros && queues > 1 && hashing.Known && hashing.Hard && !hashing.Wanted && !hashing.Active
}

// SetIndirection writes the table (ETHTOOL_SRXFHINDIR, ioctl); an empty one
// brings back the driver's own, which follows the number of queues.
func (d *Device) SetIndirection(table []uint32) error {
	c := &rxfhIndir{cmd: unix.ETHTOOL_SRXFHINDIR, size: uint32(len(table))}
	copy(c.ring[:], table)
	if err := ioctl(d, c); err != nil {
		return d.failed(remedy.RSSSetTable, d.op("set the RSS indirection table"), err)
	}
	return nil
}

// isDefault reports whether a table is what drivers make for n queues
// (ethtool_rxfh_indir_default): the queues in turn.
func isDefault(table []uint32, n int) bool {
	for i, q := range table {
		if q != uint32(i%n) {
			return false
		}
	}
	return true
}

// without gives table's entries of the queues out to others of n in turn: to those that have
// entries, and if there are none, to all that are left. What somebody has kept out of the table
// stays out.
func without(table []uint32, out []int, n int) []uint32 {
	var left, all []uint32
	for q := range uint32(n) {
		if slices.Contains(out, int(q)) {
			continue
		}
		if all = append(all, q); slices.Contains(table, q) {
			left = append(left, q)
		}
	}
	if len(left) == 0 {
		left = all
	}
	table = slices.Clone(table)
	next := 0
	for i, q := range table {
		if slices.Contains(out, int(q)) && len(left) > 0 {
			table[i] = left[next%len(left)]
			next++
		}
	}
	return table
}

// rssSetting makes the table a setting.
func (d *Device) rssSetting(s *setting.Setting) {
	s.Get, s.Set, s.Canon = d.rssText, d.setRSSText, canonicalTable
	s.Follows = func(text, now string) bool {
		table, err := parseTable(text)
		if now != RSSDefault || err != nil {
			return false
		}
		queues, err := d.Queues()
		return err == nil && isDefault(table, len(queues))
	}
}

// canonicalTable writes a table with one space between its entries. Whether it is
// the default one depends on the number of queues when it is set.
func canonicalTable(v string) (string, error) {
	if v == RSSDefault {
		return v, nil
	}
	table, err := parseTable(v)
	return tableText(table), err
}

// rssText formats the indirection table. It calls the kernel's default by that name: set as a table
// it would no longer follow the number of queues.
func (d *Device) rssText() (string, error) {
	table, err := d.Table()
	if err != nil {
		return "", err
	}
	queues, err := d.Queues()
	if err != nil {
		return "", err
	}
	if isDefault(table, len(queues)) {
		return RSSDefault, nil
	}
	return tableText(table), nil
}

// RSSDefault is the text of a table that follows the number of queues.
const RSSDefault = "default"

func tableText(table []uint32) string {
	return strings.Trim(fmt.Sprint(table), "[]")
}

func (d *Device) setRSSText(v string) error {
	if v == RSSDefault {
		return d.SetIndirection(nil)
	}
	table, err := parseTable(v)
	if err != nil {
		return err
	}
	if queues, err := d.Queues(); err == nil && isDefault(table, len(queues)) {
		table = nil // it will be read so, and taken for it
	}
	return d.SetIndirection(table)
}

func parseTable(v string) (table []uint32, err error) {
	for _, f := range strings.Fields(v) {
		q, err := parse32(f)
		if err != nil {
			return nil, fmt.Errorf("RSS table: %q is not the number of a queue: want default, or the queue of "+
				"every entry, such as 0 1 2 3 0 1 2 3 for eight of them", f)
		}
		table = append(table, q)
	}
	if len(table) == 0 || len(table) > maxIndirection {
		return nil, fmt.Errorf("RSS table of %d entries", len(table))
	}
	return table, nil
}
