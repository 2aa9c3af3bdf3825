// SPDX-License-Identifier: MIT

package results

import "strconv"

// Factor is one thing that cells of a plan can differ in, besides their modes:
// one field of [Cell].
type Factor struct {
	Name  string // in experiment files and tables
	Value func(*Cell) string
}

// Factors are all factors but the two modes, in the order tables show them. A
// factor that is left as found has the value "as-found"; without probes, probe is
// "none".
var Factors = []Factor{
	{"gro", func(c *Cell) string { return onOff(c.GRO) }},
	{"hw_gro", func(c *Cell) string { return onOff(c.HWGRO) }},
	{"big_tcp", func(c *Cell) string { return bytesOrFound(c.BigTCPBytes) }},
	{"tg_big_tcp", func(c *Cell) string { return bytesOrFound(c.TGBigTCPBytes) }},
	{"cpu_layout", func(c *Cell) string { return orFound(c.CPULayout) }},
	{"rx_buf_len", func(c *Cell) string { return bytesOrFound(c.RXBufLen) }},
	{"mtu", func(c *Cell) string { return bytesOrFound(c.MTU) }},
	{"message", func(c *Cell) string { return bytesOrFound(c.MessageBytes) }},
	{"read", func(c *Cell) string { return bytesOrFound(c.ReadBytes) }},
	{"token_batch", func(c *Cell) string { return countOrFound(c.TokenBatch) }},
	{"touch", func(c *Cell) string { return orFound(c.Touch) }},
	{"congestion", func(c *Cell) string { return orFound(c.Congestion) }},
	{"control", func(c *Cell) string { return orFound(c.Control) }},
	{"probe", func(c *Cell) string { return orNoProbe(c.Probe) }},
}

// Key is a cell without its id, in a form that can be compared: runs with equal
// keys are repetitions of one measurement.
func (c Cell) Key() CellKey {
	k := CellKey{cell: c, gro: onOff(c.GRO), hwGRO: onOff(c.HWGRO)}
	k.cell.ID, k.cell.GRO, k.cell.HWGRO = "", nil, nil
	return k
}

// CellKey is the key of a cell.
type CellKey struct {
	cell       Cell
	gro, hwGRO string
}

// AsFound is the value of a factor that nobody sets.
const AsFound = "as-found"

func onOff(b *bool) string {
	switch {
	case b == nil:
		return AsFound
	case *b:
		return "on"
	}
	return "off"
}

func orFound(s string) string {
	if s == "" {
		return AsFound
	}
	return s
}

func countOrFound(n int) string {
	if n == 0 {
		return AsFound
	}
	return strconv.Itoa(n)
}

// bytesOrFound shortens whole binary multiples, as sizes are usually set.
func bytesOrFound(n int) string {
	switch {
	case n == 0:
		return AsFound
	case n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "Mi"
	case n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "Ki"
	}
	return strconv.Itoa(n)
}
