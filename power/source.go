// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Scope says how much of a machine a source sees, from the narrowest to the
// widest. A figure of one scope is not comparable with one of another.
type Scope string

// The scopes.
const (
	scopeDevice  Scope = "device"       // a part that a sensor sits on
	scopeGPU     Scope = "gpu"          // the boards of the GPUs
	ScopePackage Scope = "package"      // CPU packages; no NIC, fans, or loss of the power supply
	scopeMemory  Scope = "package-dram" // CPU packages and the memory at their controllers
	scopeBoard   Scope = "board"        // the whole machine, as its management controller or platform counter sees it
	scopeOutlet  Scope = "outlet"       // a power distribution unit's outlet or inlet
	ScopeWall    Scope = "wall"         // an external meter before the power supply
)

// rank orders scopes by how much they see.
var rank = map[Scope]int{scopeDevice: 0, scopeGPU: 1, ScopePackage: 2, scopeMemory: 3, scopeBoard: 4, scopeOutlet: 5,
	ScopeWall: 6}

// Kind is what a channel's values are.
type Kind int

// The kinds of values.
const (
	power  Kind = iota // microwatts, at the moment of the reading or averaged up to it
	energy             // microjoules since the source was opened; never falls
)

// channel is one figure that a source reads.
type channel struct {
	Name  string // "package_0"; lower_snake_case, unique in the source
	Kind  Kind
	Scope Scope
	// Part is set for a channel that other channels contain, or that lies apart
	// from what the source stands for: it is reported, not summed.
	Part bool
	// Resolution is the smallest step: watts of a Power channel, joules of an
	// Energy one. 0: not known to matter.
	Resolution float64
	Place      string // the PCI address of a GPU; mostly ""
}

// info is what a source is.
type info struct {
	Name     string // its spec without options: "rapl", "snmp=apc@pdu1"
	Scope    Scope  // of the sum of its channels that are no Part
	Channels []channel
	// MinInterval is how often it is worth being asked.
	MinInterval time.Duration
	// Quick is a source of counters that tells them at once: it is read at the edges of turns.
	Quick bool
	// Uncertainty of a reading is a fraction of it; NaN where nobody says.
	Uncertainty float64
	// Averages is over how long the instrument itself averages; 0: not known.
	Averages time.Duration
	Device   string // what answered: model, zones, firmware
	// Doubts are what makes its figures doubtful though it gives them.
	Doubts []string
	// NoSum says why none of its channels stands for the source, and how the user names
	// one; nil where one does, or several that are known to add up. Of a source that
	// learns it only by reading, it may change with every reading.
	NoSum *unavailable
}

// Says describes the source, with what is in doubt about it.
func (i info) Says() string {
	text := i.Device
	if len(i.Doubts) > 0 {
		text += " (in doubt: " + strings.Join(i.Doubts, "; ") + ")"
	}
	if i.NoSum != nil {
		text += " (no figure: " + i.NoSum.Why + ")"
	}
	return text
}

// none is a channel that had no value in a reading.
const none = math.MinInt64

// Source is one instrument. Its methods are called by one goroutine at a time.
type Source interface {
	Info() info
	// Read fills v, one value per channel of Info: microwatts or microjoules,
	// [none] for a channel without a value. It must return when ctx ends. After
	// an error the next Read tries again, connecting anew where it has to. An
	// error of [*Gap] says that energy was lost: no window may span it.
	Read(ctx context.Context, v []int64) error
	Close() error
}

// importer is a Source whose readings were logged by somebody else. Instead of
// being sampled it is read once the run is over.
type importer interface {
	Source
	// Import returns the readings between two moments of CLOCK_MONOTONIC,
	// nanoseconds, in order of time.
	Import(fromNs, toNs int64) ([]sample, error)
}

// spender is a Source that uses CPU time outside of the reading thread, such as
// that of a child process.
type spender interface {
	// SpentNs is that CPU time since Open, nanoseconds, of what still runs too. It
	// may be called while Read is.
	SpentNs() int64
}

// assessor is a Source that says anew with every reading how uncertain it is.
type assessor interface {
	// LastUncertainty is that of the last reading, as a share of it; 0: not known.
	LastUncertainty() float64
}

// gap is a reading after which the counters before and after do not belong
// together.
type gap struct{ Why string }

func (g *gap) Error() string { return g.Why }

// unavailable is a source that this host does not have, or may not read.
type unavailable struct {
	Why string
	How string // what to do about it
}

func (u *unavailable) Error() string { return u.Why }

// Fix returns what the user can do about it.
func (u *unavailable) Fix() string { return u.How }

// errNoReading is an instrument that answers but has no value.
var errNoReading = errors.New("the instrument has no reading")

// errZero is an instrument that reads 0 W of what is running: it does not measure.
var errZero = fmt.Errorf("it reads 0 W, and nothing that runs draws none: %w", errNoReading)

// mostWatts is more than any one instrument here can truly read: what is above
// is a glitch. A rack of the densest servers draws 140 kW from several feeds, and no
// feed, unit or machine has one meter for more than a three-phase circuit of 125 A at
// 230 V, which is 86 kW.
const mostWatts = 100e3

// mostAverage is the longest that an instrument is believed to average a reading over,
// and leastAverage the shortest: what is told beyond is the period of a statistic, or
// a default that nobody filled in, and says nothing about the reading.
const leastAverage, mostAverage = 10 * time.Millisecond, 10 * time.Minute

// averages checks an averaging time as an instrument gives it; 0 where that cannot be one.
func averages(d time.Duration) time.Duration {
	if d < leastAverage || d > mostAverage {
		return 0
	}
	return d
}

// micro converts watts and refuses what no instrument can read of what is running.
func micro(watts float64) (int64, error) {
	if watts == 0 {
		return none, errZero
	}
	return microPart(watts)
}

// microPart converts watts of one of several that are added: a power supply in standby
// may draw none.
func microPart(watts float64) (int64, error) {
	switch {
	case math.IsNaN(watts) || math.IsInf(watts, 0):
		return none, errNoReading
	case watts < 0 || watts > mostWatts:
		return none, errors.New("implausible reading: " + formatWatts(watts) + " W")
	}
	return int64(math.Round(watts * 1e6)), nil
}
