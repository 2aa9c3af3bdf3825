// SPDX-License-Identifier: MIT

package plan

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// TurnGroup returns what a cell shares with all that it can take turns with: all that is chosen of
// hosts, of how runs are made, and of CPUs and queues. What remains is of the flow alone. A mode
// that takes a queue of the NIC over is alone.
func (c *Cell) TurnGroup() string {
	var all []string
	for i := range Options {
		o := &Options[i]
		if v := o.Raw(c); v != "" && (o.Kind == OfHost || o.Kind == ofRun || len(o.Sets) > 0 || o.Places) {
			all = append(all, o.Name+"="+v)
		}
	}
	if slices.ContainsFunc(c.modes(), stream.Mode.TakesQueue) {
		all = append(all, c.ID)
	}
	return strings.Join(all, " ")
}

// CheckTurns refuses what cells cannot do in turns.
func (c *Cell) CheckTurns() error {
	no := func(what, why string) error {
		return &fault.Error{Op: what + " cannot be measured in turns: " + why,
			How: "use order: blocks, or leave it out"}
	}
	for _, m := range c.modes() {
		switch {
		case m.Kind.Packets():
			return no(m.Name, "a flow of packets does not stop and go on yet")
		case m.Has(stream.RoundTrips):
			return no(m.Name, "requests are not kept to turns yet")
		}
	}
	switch {
	case c.Probe != "":
		return no("probe "+c.Probe, "it would see all cells of the group")
	case c.Path != "":
		return no("path", "its counters would be of all cells of the group")
	case c.BusyPollUs > 0:
		return no("busy_poll", "a thread that polls would do so in the turns of others")
	}
	return nil
}
