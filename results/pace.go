// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/units"
)

// MaxPacePercent is the largest share: above it noise alone makes a cell miss its pace.
const MaxPacePercent = 90

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
		if err != nil || c.PacePercent < 1 || c.PacePercent > MaxPacePercent {
			return fmt.Errorf("%.20q is not a whole percentage in 1..%d: above that, noise alone would miss the pace",
				s, MaxPacePercent)
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
func rawPace(c *Cell) string {
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
func loadPace(c *Cell, s string) (err error) {
	if s == PaceLossFree {
		c.LossFree = true
		return nil
	}
	if share, ok := strings.CutSuffix(s, "%"); ok {
		c.PacePercent, err = parseInt(share)
		return err
	}
	c.PaceBitsPS, err = parseInt(s)
	return err
}

// pace is the option's value; its column has the rate.
var pace = value{raw: rawPace, set: setPace, load: loadPace, show: showPace, column: paceRate,
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

// paceAsked is the column of what was asked for, as it was.
var paceAsked = optional(column{"pace",
	func(r *row) string { return rawPace(&r.rec.Cell) },
	func(r *row, s string) error { return loadPace(&r.rec.Cell, s) }})

// AtPaceOf returns c at the pace of d.
func (c Cell) AtPaceOf(d Cell) Cell {
	c.PaceBitsPS, c.PacePercent, c.LossFree = d.PaceBitsPS, d.PacePercent, d.LossFree
	return c
}

// Paced reports whether the cell is to keep to a rate, or searches for one.
func (c *Cell) Paced() bool { return c.PaceBitsPS != 0 || c.PacePercent != 0 || c.LossFree }

// Flags of records.
const (
	FlagOffPace     = "off-pace"    // the rate is further from the pace than [PaceTolerance]
	FlagCalibration = "calibration" // not paced, to know what shares are of
)

// Calibrates reports whether the run was made to calibrate the pace. To statistics it is a warm-up;
// if something else spoilt it, it is judged and replaced as a run that counts.
func (r *Record) Calibrates() bool { return slices.Contains(r.Flags, FlagCalibration) }

// PaceTolerance is how far the delivered rate may be from the pace, as a share of it.
const PaceTolerance = 0.01

// PaceError computes by which share of the pace a run was faster or slower; nil if it had no pace
// or no rate was measured.
func (r *Record) PaceError() *float64 {
	if r.Cell.PaceBitsPS == 0 || r.SUT.ThroughputGbps == nil {
		return nil
	}
	return new(*r.SUT.ThroughputGbps*1e9/float64(r.Cell.PaceBitsPS) - 1)
}

// OffPace reports whether the run missed its pace.
func (r *Record) OffPace() bool {
	e := r.PaceError()
	return e != nil && math.Abs(*e) > PaceTolerance
}

// Calibration is what shares of a pace are of: the median without a pace of the slowest of the
// cells that are compared.
type Calibration struct {
	BitsPS int    `json:"bits_ps"`
	Cell   string `json:"cell"`  // the slowest
	Runs   int    `json:"runs"`  // of it
	Cells  int    `json:"cells"` // that were measured
}

// Calibrate makes a calibration of records of cells that are compared: of the runs that are marked
// as such and were ok. Nil: there are none.
func Calibrate(recs []Record) *Calibration {
	rates, ids := map[CellKey][]float64{}, map[CellKey]string{}
	var keys []CellKey
	for i := range recs {
		r := &recs[i]
		if r.Verdict != OK || r.SUT.ThroughputGbps == nil || !r.Calibrates() {
			continue
		}
		k := r.Cell.Key()
		if rates[k] == nil {
			keys, ids[k] = append(keys, k), r.Cell.ID
		}
		rates[k] = append(rates[k], *r.SUT.ThroughputGbps)
	}
	var c *Calibration
	for _, k := range keys {
		slices.Sort(rates[k])
		n := len(rates[k])
		bits := int((rates[k][(n-1)/2] + rates[k][n/2]) / 2 * 1e9)
		if c == nil || bits < c.BitsPS {
			c = &Calibration{BitsPS: bits, Cell: ids[k], Runs: n}
		}
	}
	if c != nil {
		c.Cells = len(keys)
	}
	return c
}

// CalibrateEach makes one of each family of cells, in the order of their runs.
func CalibrateEach(recs []Record, family func(Cell) CellKey) (keys []CellKey, of map[CellKey]*Calibration) {
	runs := map[CellKey][]Record{}
	for _, r := range recs {
		if !r.Calibrates() {
			continue
		}
		k := family(r.Cell)
		if runs[k] == nil {
			keys = append(keys, k)
		}
		runs[k] = append(runs[k], r)
	}
	of = map[CellKey]*Calibration{}
	for _, k := range keys {
		of[k] = Calibrate(runs[k])
	}
	return keys, of
}

// Share computes a percentage of the calibrated rate, cut to three digits; 0 if that is too slow
// for a pace.
func (c *Calibration) Share(percent int) int {
	n, unit := c.BitsPS/100*percent, 1
	for n/unit >= 1000 {
		unit *= 10
	}
	if n = n / unit * unit; n < LeastPace {
		return 0
	}
	return n
}

// String describes what 100 % of the pace is.
func (c *Calibration) String() string {
	s := fmt.Sprintf("100 %% of pace is %.3g Gbit/s: the median of %d unpaced runs of %s", float64(c.BitsPS)/1e9,
		c.Runs, c.Cell)
	if c.Cells > 1 {
		s += fmt.Sprintf(", the slowest of %d cells", c.Cells)
	}
	return s
}
