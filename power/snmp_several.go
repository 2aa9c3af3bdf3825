// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gosnmp/gosnmp"
)

// snmpTable is where a vendor's units list their meters, so that one that was not named is
// taken only if it is the only one.
type snmpTable struct {
	values, digits string // columns; digits "" where values have none
	suffix         string // of the rows that are power
	scale          float64
	index          []string // the options that a row's index is made of
}

var snmpTables = map[string]snmpTable{
	"apc": {values: apcDeviceCentiKW, scale: 10, index: []string{"pdu"}},
	"raritan": {values: raritanInlet, digits: raritanInletUnit, suffix: raritanActive, scale: 1,
		index: []string{"pdu", "inlet"}},
}

// mostRows is how many rows of a unit's table are read.
const mostRows = 256

// open lists the options of a row that the user left open: with outlets named, which unit's they
// are.
func (t snmpTable) open(s Spec, vendor string) []string {
	var open []string
	for _, name := range t.index {
		if s.Options.Has(name) || s.Options.Has("outlet") && (name == "inlet" || vendor == "apc") {
			continue // APC counts the outlets of a group through
		}
		open = append(open, name)
	}
	return open
}

// checkSeveral refuses to choose among the units or inlets that the user did not name.
func (p *snmp) checkSeveral(ctx context.Context, s Spec) error {
	t, ok := snmpTables[p.plan.vendor]
	if !ok {
		return nil
	}
	open := t.open(s, p.plan.vendor)
	if len(open) == 0 {
		return nil
	}
	rows, err := p.rows(ctx, t)
	if err != nil {
		p.info.Doubts = []string{
			fmt.Sprintf("the unit does not list its meters (%v): it may have others beside the one that is read", err)}
		return nil
	}
	seen := map[string]bool{}
	var all, first []string
	for _, row := range rows {
		var key []string
		for i, name := range t.index {
			if slices.Contains(open, name) {
				key = append(key, name+"="+row.index[i])
			} else if given, _ := numbersFrom(s, name, 1); len(given) > 0 &&
				!slices.Contains(given, row.index[i]) {
				key = nil
				break
			}
		}
		if text := strings.Join(key, "&"); len(key) > 0 && !seen[text] {
			seen[text] = true
			all = append(all, fmt.Sprintf("%s (%s W)", text, formatWatts(row.watts)))
			first = append(first, text)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return &unavailable{fmt.Sprintf("the unit has %d of them, and which is meant is not known: %s", len(all),
		listed(all)),
		"name one: " + given(fmt.Sprintf("snmp=%s@ADDRESS?%s", p.plan.vendor, first[0]))}
}

// snmpRow is one meter of a unit's table.
type snmpRow struct {
	index []string
	watts float64
}

var errManyRows = errors.New("more rows than a unit has")

// rows reads a unit's table.
func (p *snmp) rows(ctx context.Context, t snmpTable) (out []snmpRow, err error) {
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	n := 0
	err = p.client.Walk(strings.TrimSuffix(t.values, "."), func(pdu gosnmp.SnmpPDU) error {
		if n++; n > mostRows {
			return errManyRows
		}
		rest, ok := strings.CutPrefix(pdu.Name, t.values)
		rest, power := strings.CutSuffix(rest, t.suffix)
		index := strings.Split(rest, ".")
		if !ok || !power || len(index) != len(t.index) {
			return nil
		}
		v, err := snmpNumber(pdu)
		if err != nil {
			return nil // a row without a value is none to choose
		}
		out = append(out, snmpRow{index, float64(v) * t.scale})
		return nil
	})
	if err != nil {
		p.drop()
		return nil, snmpError(err)
	}
	if t.digits == "" || len(out) == 0 {
		return out, nil
	}
	for i := range out {
		d, err := p.get(ctx, []string{t.digits + strings.Join(out[i].index, ".") + t.suffix})
		if err != nil {
			return nil, err
		}
		if d[0] >= 0 && d[0] <= 9 {
			out[i].watts *= math.Pow10(-int(d[0]))
		}
	}
	return out, nil
}
