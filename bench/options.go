// SPDX-License-Identifier: MIT

package bench

import (
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// Options are what the runs of a session have in common.
type Options struct {
	Duration time.Duration // of the steady window
	Turn     time.Duration // of cells that take turns, each time; 0: each run is made by itself
	guard    time.Duration // with turns: of power, on both sides of the window of a cell that takes none
	reads    time.Duration // of turns: what reading the probes takes at an edge of one
	Alone    time.Duration // window of cells that are made alone where others take turns; 0: Duration
	Fitted   bool          // with turns: Duration says how long a start takes, whatever its pauses are
	// Bytes, unless 0, bounds a flow by its payload instead, all of which is measured;
	// Duration is the time that it may take then.
	Bytes    uint64
	RampUp   time.Duration // cut before it
	RampDown time.Duration // cut after it

	Addr          string // the SUT's address on the path to be measured, without port
	Port          int    // of the data port; 0 takes a free one
	TGZone        string // the TG's interface on the link of an Addr that holds on one link alone (fe80::)
	SUTDev, TGDev string // interfaces whose queues and counters belong to the run; "" for none
	// SUTUpper and TGUpper have the flow's address and route, where that is another
	// interface; nil where not.
	SUTUpper, TGUpper *Upper
	lanes             []lane     // pairs of interfaces beside those, see findLanes
	container         *container // the SUT's; nil: it is none
	SharedWithSSH     bool       // the flow may share the interface by which ssh reaches a host
	// SUTFlows and TGFlows are the CPUs of each flow: of its thread, -1 does not pin it, and
	// where its softirq goes in a cell with two CPUs; with one it goes to the thread's. None
	// is one flow that is not placed.
	SUTFlows, TGFlows []place.CPUs

	MTU            int      // of the path
	NoteMTU        bool     // records have it, where a cell says nothing of it
	MaxCopied      *float64 // fraction; nil is the default
	IdleDrift      *float64 // the gate's limit for that of idle power, a fraction; nil: none
	SampleInterval time.Duration
	Stall          time.Duration
	WarmupDuration time.Duration // window of a warm-up run; 0: Duration
	Rest           time.Duration // between runs, in which the CPUs' background is measured; 0: it is not

	near  [2][]int // the CPUs near the interface of the SUT and the TG
	may   [2][]int // those of them, or of the NUMA node that was asked for, that flows are given
	other [2][]int // those beside may that are of another class of a hybrid processor: the last resort
	far   [2][]int // those on other NUMA nodes, one of each core
	named [2][]int // the CPUs that were named for their threads, for several flows in turn
	// layoutNamed: the CPUs of the cell's layout were named, of the SUT and the TG.
	layoutNamed [2]bool
	nodes       [2]*int          // the NUMA nodes that were asked for, of the SUT and the TG; nil: none
	beside      *wire.QueueShare // of a cell's queues in those of its group, for what is foretold
	rxQueues    [2][]int         // those of the interfaces, as they were found; nil: not known
	found       [2]port          // the interfaces themselves

	// SUTSettings and TGSettings are set on the hosts while they measure; see
	// Runner.Settings for what a cell adds.
	SUTSettings, TGSettings matrix.Settings
}

// options takes from a plan what its runs have in common.
func options(s *matrix.Spec) Options {
	rest := autoRest(s.Duration)
	if s.Rest != nil {
		rest = *s.Rest
	}
	alone := time.Duration(0)
	if s.Lengths != nil {
		alone = s.Lengths.Alone
	}
	return Options{Duration: s.Duration, Turn: s.TurnLength(), Alone: alone, Rest: rest,
		WarmupDuration: s.WarmupDuration,
		RampUp:         s.RampUp,
		RampDown:       s.RampDown, Port: s.Port,
		SampleInterval: s.Common.SampleInterval, Stall: s.Common.Stall, MaxCopied: s.Gates.Copied,
		IdleDrift:   s.Gates.IdleDrift,
		SUTSettings: s.SUT.Settings, TGSettings: s.TG.Settings, SharedWithSSH: s.SharedWithSSH,
		nodes: [2]*int{s.SUT.Node, s.TG.Node}}
}

// forCell applies a cell's own wishes to the options of its runs.
func (st *stage) forCell(c plan.Cell, o Options) Options {
	if l, ok := st.spec.SUT.Layouts[c.CPULayout]; ok {
		o.SUTFlows, o.layoutNamed[0] = []place.CPUs{{App: l.App, Softirq: l.IRQ}}, true
	}
	if l, ok := st.spec.TG.Layouts[c.TGLayout()]; ok {
		o.TGFlows, o.layoutNamed[1] = []place.CPUs{{App: l.App, Softirq: l.IRQ}}, true
	}
	if c.MTU != 0 && o.SUTDev != "" {
		o.MTU = c.MTU
	}
	return o
}

// ofTurns applies a cell's own turns, or that it takes none, to the options of its runs.
func (o Options) ofTurns(c *plan.Cell) Options {
	switch turn := c.TurnLength(o.Turn); {
	case o.Turn == 0:
	case turn > 0:
		o.Turn, o.Duration = turn, matrix.TurnsWindow(c, o.Duration, turn)
	default:
		if o.Alone > 0 {
			o.Duration, o.RampUp = o.Alone, max(o.RampUp, aloneRamp)
		}
		o.RampUp, o.RampDown = max(o.RampUp, o.guard), max(o.RampDown, o.guard)
	}
	return o
}

// aloneRamp is what a flow is given to get to its pace in by itself, where others have their ramp
// in turns.
const aloneRamp = 500 * time.Millisecond

// startLength returns how long runs take that are made together.
func (o Options) startLength(runs []matrix.Run) time.Duration {
	o = o.ofTurns(&runs[0].Cell)
	if runs[0].Group == 0 {
		return o.length(runs[0])
	}
	t := o.timetable(len(runs), o.window(runs[0]), turnDrains, 0)
	return startDelay + t.length()
}

// length returns how long a flow lasts.
func (o Options) length(p matrix.Run) time.Duration {
	return startDelay + o.RampUp + o.window(p) + o.RampDown
}

func (o Options) window(p matrix.Run) time.Duration {
	switch {
	case p.Calibrates && p.Group > 0: // it is a warm-up, too
		return max(min(o.Duration, calibrationRuns*o.calibrationWindow()), o.WarmupDuration)
	case p.Calibrates:
		return o.calibrationWindow()
	case p.Once:
		return min(o.Duration, onceWindow)
	case p.Warmup && !p.Trial && o.WarmupDuration > 0:
		return o.WarmupDuration
	}
	return o.Duration
}

// onceWindow is long enough to see whether payload is copied.
const onceWindow = 300 * time.Millisecond

func (o Options) calibrationWindow() time.Duration {
	return min(o.Duration, max(leastCalibration, min(o.Duration/5, mostCalibration)))
}

// noted converts a cell to the form of records.
func (o Options) noted(c plan.Cell) plan.Cell {
	if o.NoteMTU && c.MTU == 0 {
		c.MTU = o.MTU
	}
	return c
}
