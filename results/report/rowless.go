// SPDX-License-Identifier: MIT

package report

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
)

// rowless are the cells that have no row in a terminal's table, because it would be empty.
type rowless struct {
	copied []*Cell // of modes that always copy on this path
	cannot []*Cell // of modes that cannot run here at all
}

// part parts the cells: shown are the numbers of those that have rows. A table that would have
// none has them all.
func part(cells []Cell) (shown []int, a rowless) {
	for i := range cells {
		switch c := &cells[i]; {
		case c.copiedHere():
			a.copied = append(a.copied, c)
		case c.ofNoPair():
			a.cannot = append(a.cannot, c)
		default:
			shown = append(shown, i)
		}
	}
	if len(shown) > 0 {
		return shown, a
	}
	for i := range cells {
		shown = append(shown, i)
	}
	return shown, rowless{}
}

// copiedHere reports whether the cell's runs could not but be invalid where they were made.
func (c *Cell) copiedHere() bool {
	return c.Expected > 0 && c.Expected == c.Invalid-c.Replaced && c.OK+c.Failed+c.Unsupported == 0
}

// ofNoPair reports whether the cell is of a mode that has no pair because it cannot run with any.
func (c *Cell) ofNoPair() bool {
	return (c.Cell.RX == "" || c.Cell.TX == "") && c.OK+c.Invalid+c.Failed == 0
}

// write lists the cells that have no row, with the numbers of the reasons, which follow.
func (a rowless) write(b *screen.Writer) {
	if len(a.copied)+len(a.cannot) == 0 {
		return
	}
	b.WriteString("\n")
	for _, x := range []struct {
		what  string
		cells []*Cell
	}{
		{"zero-copy modes that are always copied on this path, so without figures: ", a.copied},
		{"cannot run here: ", a.cannot},
	} {
		if len(x.cells) == 0 {
			continue
		}
		var names []string
		for _, c := range x.cells {
			name := plaintext.Line(c.pair())
			if len(c.Stops) > 0 {
				name += " " + cites(c.Stops)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		wrap(b, "", "  ", x.what+strings.Join(names, ", "))
	}
}

// pair names the two modes, or the one that a cell has: "rx tcp with tx msg-zerocopy", "rx zcrx".
func (c *Cell) pair() string {
	switch {
	case c.Cell.TX == "":
		return "rx " + c.Cell.RX
	case c.Cell.RX == "":
		return "tx " + c.Cell.TX
	}
	return "rx " + c.Cell.RX + " with tx " + c.Cell.TX
}
