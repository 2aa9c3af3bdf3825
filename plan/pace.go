// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/units"
)

// maxPacePercent is the largest share: above it noise alone makes a cell miss its pace.
const maxPacePercent = 90

// LeastPace is the slowest pace, bits per second, by which not even a handshake of less would come
// through.
const LeastPace = 1e6

// setPace reads none, a rate or a share.
func setPace(c *Cell, s string) (err error) {
	c.PaceBitsPS, c.PacePercent, c.LossFree = 0, 0, s == PaceLossFree
	if s == NoPace || c.LossFree {
		return nil
	}
	if share, ok := strings.CutSuffix(s, "%"); ok {
		c.PacePercent, err = strconv.Atoi(strings.TrimSpace(share))
		if err != nil || c.PacePercent < 1 || c.PacePercent > maxPacePercent {
			return fmt.Errorf("%.20q is not a whole percentage in 1..%d: above that, noise alone would miss the pace",
				s, maxPacePercent)
		}
		return nil
	}
	r, err := units.ParseBitRate(s)
	if err == nil && r != 0 && r < LeastPace {
		err = fmt.Errorf("%s is less than 1M bit/s, too slow even for the handshake", s)
	}
	c.PaceBitsPS = int(r)
	return err
}

// rawPace formats the pace as it was asked for: the rate that a share came to does not tell cells
// apart.
func RawPace(c *Cell) string {
	if c.LossFree {
		return PaceLossFree
	}
	if c.PacePercent != 0 {
		return strconv.Itoa(c.PacePercent) + "%"
	}
	return paceRate(c)
}

// paceRate formats the rate if it is known.
func paceRate(c *Cell) string {
	if c.PaceBitsPS == 0 {
		return ""
	}
	return strconv.Itoa(c.PaceBitsPS)
}

// loadPace reads what rawPace or paceRate wrote, in any order.
func LoadPace(c *Cell, s string) (err error) {
	if s == PaceLossFree {
		c.LossFree = true
		return nil
	}
	if share, ok := strings.CutSuffix(s, "%"); ok {
		c.PacePercent, err = units.ParseInt(share)
		return err
	}
	c.PaceBitsPS, err = units.ParseInt(s)
	return err
}

// pace is the option's value; its column has the rate.
var pace = value{raw: RawPace, set: setPace, load: LoadPace, show: showPace, column: paceRate,
	columnDoc: "payload bits per second that the run was paced to; empty = as fast as possible",
	zero:      func(c *Cell) { c.PaceBitsPS, c.PacePercent, c.LossFree = 0, 0, false }}

// NoPace is the value of a pace that nobody asked for.
const NoPace = "none"

// PaceLossFree is the value of a pace that each run looks for: the highest without loss.
const PaceLossFree = "loss-free"

func showPace(raw string) string {
	n, err := strconv.Atoi(raw)
	switch {
	case raw == "":
		return NoPace
	case err != nil:
		return raw
	}
	return units.BitRate(n).String()
}

// AtPaceOf returns c at the pace of d.
func (c Cell) AtPaceOf(d Cell) Cell {
	c.PaceBitsPS, c.PacePercent, c.LossFree = d.PaceBitsPS, d.PacePercent, d.LossFree
	return c
}

// Paced reports whether the cell is to keep to a rate, or searches for one.
func (c *Cell) Paced() bool { return c.PaceBitsPS != 0 || c.PacePercent != 0 || c.LossFree }

// PaceTolerance is how far the delivered rate may be from the pace, as a share of it.
const PaceTolerance = 0.01
