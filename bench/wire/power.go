// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/power"
)

// Requests about power. Readings are taken from OpPowerStart until the agent
// ends.
const (
	OpPowerStart Op = "power-start" // PowerStart -> []PowerSource
	OpPowerRead  Op = "power-read"  // PowerRead -> PowerReading
)

// PowerStart names the sources that the agent reads.
type PowerStart struct {
	Sources    []power.Spec `json:"sources,omitempty"`
	Auto       bool         `json:"auto,omitempty"` // and all that are there
	IntervalMs int          `json:"interval_ms"`
	Turns      bool         `json:"turns,omitempty"` // measure how often each source has a new value
}

// PowerSource is a source that is being read.
type PowerSource struct {
	Name   string      `json:"name"`
	Scope  power.Scope `json:"scope"`
	Device string      `json:"device,omitempty"`
	// PeriodNs is how often it has a new value, if that was asked for; 0: it did not show.
	PeriodNs int64 `json:"period_ns,omitempty"`
}

// PowerRead asks for a run's figures; its times are on the agent's
// CLOCK_MONOTONIC. Older readings than Forget are dropped afterwards.
type PowerRead struct {
	Times  power.Times `json:"times"`
	Forget int64       `json:"forget_before_ns,omitempty"`
}

// PowerReading is what the sources measured of a run, in the order of their
// names in PowerStart.
type PowerReading struct {
	Figures []power.Figure   `json:"figures"`
	Cost    []measure.Metric `json:"cost,omitempty"`
}
