// SPDX-License-Identifier: MIT

package stream

import "slices"

// Evidence is what a data path found out about how the kernel served its flow,
// beside the bytes in its [Counters].
type Evidence struct {
	Why     string   // why payload was copied, as far as it can be told; "" where it was not
	Fix     string   // what to do about that
	Notes   []string // what a reader of the figures should know
	Figures []Figure

	// Together are figures of all flows of a [Group], the same in the evidence of each: they are
	// counted once for all of them.
	Together []Figure

	// Courses are figures that changed while the flow went on; of a [Group] those of all its flows.
	Courses []Course

	// Device says which device has the payload's memory, beginning with its PCI address, and
	// DeviceBytes how much that is; "": none, it is the host's.
	Device      string
	DeviceBytes int64

	// CountsLinear: LinearBytes of the counters is a measurement, and not 0 because
	// nothing tells payload in packets' linear parts from other payload.
	CountsLinear bool

	// Astray says by which queue the flow came, other than the one that was asked for.
	Astray string

	// Uncounted is at least how many bytes of the flow were copied though the
	// counters call them zero copied: the kernel did not count those copies.
	Uncounted uint64

	// Untold is how many bytes of the flow, which the counters call zero copied, may have been
	// copied: nothing tells, and Why says so.
	Untold uint64

	// MostInOne is how many packets of the flow GSO or GRO may have put into one, which the
	// kernel's counters then count once; 0: each is one.
	MostInOne uint64

	// Lost are the packets of the flow that the path knows to be lost at its end. A name of package
	// ledger stands in the place of that counter, which has packets of others, too.
	Lost []Figure

	// UringEngine is the io_uring engine that served the flow; "" for none.
	UringEngine string
}

// Share makes the figures those of all flows of a [Group], but for the ones whose names each flow
// has for itself.
func (e *Evidence) Share(own ...string) {
	var mine []Figure
	for _, f := range e.Figures {
		if slices.Contains(own, f.Name) {
			mine = append(mine, f)
		} else {
			e.Together = append(e.Together, f)
		}
	}
	e.Figures = mine
}

// Figure is one named number of a data path.
type Figure struct {
	Name  string
	Unit  string // "bytes", or "1" for a plain number
	Value float64
}

// Course is a figure over time: it has had a value since a time of CLOCK_MONOTONIC.
type Course struct {
	Name, Unit string
	AtNs       []int64
	V          []float64
}

// Helped is a receive path for which kernel threads of its own work, once it is attached: none of
// NAPI's, and none of this process. They are by their numbers in this PID namespace.
type Helped interface{ Threads() []int }

// Witness is a data path that can give evidence.
type Witness interface {
	// Evidence is called on the data path's thread when Receive or Send has
	// returned, before the socket is closed.
	Evidence() Evidence
}
