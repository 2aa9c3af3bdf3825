// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
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

// PaceRate returns to how many bits of payload per second the cell's runs are paced, all flows
// together: as was asked for, or as its objects make; 0: they are not, or it is not known yet.
func (c *Cell) PaceRate() int {
	if c.EveryUs == 0 {
		return c.PaceBitsPS
	}
	return int(float64(c.ObjectBytes) * 8 * 1e6 / float64(c.EveryUs) * float64(c.NFlows()))
}

// Every returns how often an object of a flow is due; 0: the cell has none.
func (c *Cell) Every() time.Duration { return time.Duration(c.EveryUs) * time.Microsecond }

// ObjectPhase returns how long after the first objects that of flow n is due.
func (c *Cell) ObjectPhase(n int) time.Duration {
	if c.FanIn == 0 {
		return 0
	}
	return c.Every() * time.Duration(n/c.FanIn) / time.Duration(max(c.NFlows()/c.FanIn, 1))
}

// parseEvery reads how often objects are due.
func parseEvery(s string) (int, error) {
	const least, most = 100 * time.Microsecond, time.Second
	us, err := parseMicroseconds(most)(s)
	if err == nil && time.Duration(us)*time.Microsecond < least {
		err = fmt.Errorf("%s is outside %v..%v", s, least, most)
	}
	return us, err
}

// objectsFit refuses half of what objects need, and what they cannot be with.
func objectsFit(c *Cell, _ []stream.Mode) error {
	switch {
	case c.ObjectBytes == 0 && c.EveryUs == 0 && c.FanIn == 0:
	case c.ObjectBytes == 0:
		return fmt.Errorf("objects have no size: say object, such as 2M, or leave out every and fan_in")
	case c.EveryUs == 0:
		return c.refuse("object", fmt.Errorf("nothing says how often: say every, such as 5ms"))
	case c.PaceBitsPS != 0 || c.PacePercent != 0 || c.LossFree:
		return c.refuse("object", fmt.Errorf("objects have a pace of their own, by every: leave out pace"))
	case c.FanIn > 0 && c.NFlows()%c.FanIn != 0:
		return c.refuse("fan_in",
			fmt.Errorf("the number of flows is %d, which is no multiple of it: use more flows, or "+
				"another fan_in", c.NFlows()))
	}
	return nil
}

// Paced reports whether the cell is to keep to a rate, or searches for one.
func (c *Cell) Paced() bool { return c.PaceRate() != 0 || c.PacePercent != 0 || c.LossFree }

// PaceTolerance is how far the delivered rate may be from the pace, as a share of it.
const PaceTolerance = 0.01
