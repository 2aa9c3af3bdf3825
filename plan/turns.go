// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

// NoTurns is a [Cell].Turn: the cell is made alone, as a block.
const NoTurns = "none"

// usualTurn is what tables call turns that are as long as their plan says.
const usualTurn = "usual"

// The lengths that a turn may have.
const (
	leastTurn = 10 * time.Millisecond
	mostTurn  = 10 * time.Second
)

// ParseTurn reads the length of a turn.
func ParseTurn(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration such as 100s or 800ms", s)
	case d < leastTurn || d > mostTurn:
		return 0, fmt.Errorf("%v is outside %v..%v", d, leastTurn, mostTurn)
	}
	return d, nil
}

// parseTurn reads the length of a cell's turns, and gives it the form that [Cell].Turn has.
func parseTurn(s string) (string, error) {
	if s == NoTurns {
		return s, nil
	}
	d, err := ParseTurn(s)
	if err != nil {
		return "", fmt.Errorf("%w, nor is it %s", err, NoTurns)
	}
	return d.String(), nil
}

// Alone reports whether the cell is made alone where others take turns: because that was asked for,
// or because a ring of it is in another process, which takes none.
func (c *Cell) Alone() bool { return c.Turn == NoTurns || c.RingsIn == RingsProcesses }

// TurnLength returns how long a turn of the cell is where others have turns of that length; 0: it
// takes none.
func (c *Cell) TurnLength(usual time.Duration) time.Duration {
	if c.Alone() {
		return 0
	}
	if c.Turn == "" || usual == 0 {
		return usual
	}
	d, _ := ParseTurn(c.Turn) // of NoTurns 0
	return d
}

// OtherTurns finds the cells that have turns of another length than their plan says, which others
// have: they are measured beside its comparisons, and are in none of them. Where every cell says
// its length, that is a factor as any other.
func OtherTurns(cells []Cell) func(*Cell) bool {
	some := slices.ContainsFunc(cells, func(c Cell) bool { return c.Turn == "" })
	return func(c *Cell) bool { return some && c.Turn != "" }
}

// turnGroup returns what a cell shares with all that it can take turns with: all that is chosen of
// hosts, of how runs are made, and of CPUs and queues. What remains is of the flow alone. Which
// cells do take turns says [TurnGroups].
func (c *Cell) turnGroup() string {
	var all []string
	for i := range Options {
		o := &Options[i]
		if o.Name == headerSplit {
			continue
		}
		if v := o.Raw(c); v != "" && o.ofGroup() && !o.setsNothing(v) {
			all = append(all, o.Name+"="+v)
		}
	}
	if n := c.NThreads(stream.RX); n != c.NFlows() { // which have other CPUs
		all = append(all, fmt.Sprintf("threads=%d", n))
	}
	return strings.Join(all, " ")
}

// setsNothing reports whether an option that may set something on hosts sets nothing with a value.
func (o *Option) setsNothing(v string) bool {
	return o.Name == "tls" && settingValue(o.Sets[0], v) == ""
}

// ofGroup reports whether cells that can take turns have the same value of an option.
func (o *Option) ofGroup() bool {
	return o.Kind == OfHost || o.Kind == ofRun || len(o.Sets) > 0 || o.Places
}

// Apart reports whether cells with different values of an option take no turns with each other.
// Flows that poll take turns with none.
func (o *Option) Apart() bool { return o.ofGroup() || o.Name == "poll" || o.Name == "busy_poll" }

// headerSplit is the option that modes which take a queue over need no word of: they split.
const headerSplit = "header_split"

// split returns whether headers are split in a cell's runs; "": as found.
func (c *Cell) split() string {
	switch {
	case c.SplitsItself(), c.HeaderSplit != nil && *c.HeaderSplit:
		return "on"
	case c.HeaderSplit != nil:
		return "off"
	}
	return ""
}

// SplitsItself reports whether the receive mode turns header split on, where it can be.
func (c *Cell) SplitsItself() bool {
	return slices.ContainsFunc(c.modes(), func(m stream.Mode) bool {
		return m.Role == stream.RX && m.Has(stream.SplitsHeaders)
	})
}

// TakesQueues reports whether the receive mode takes the RX queues over that its flows come by.
func (c *Cell) TakesQueues() bool { return c.takesQueues() }

// TurnGroups finds the cells that take turns with each other, as their numbers. Header split is the
// NIC's, and so the same for all of a group: where a mode splits headers, they are split for those
// too that leave it as found. But a plan that has such a cell once more with header split on asks
// for the host as it is, too: then the one that leaves it as found is in another group.
//
// A cell that is made alone is a group of one.
func TurnGroups(cells []Cell) (all [][]int) {
	splits, keys := map[string]bool{}, map[CellKey]bool{}
	for i := range cells {
		c := &cells[i]
		keys[c.Key()] = true
		splits[c.turnGroup()] = splits[c.turnGroup()] || c.SplitsItself()
	}
	of := map[string]int{}
	for i := range cells {
		c := &cells[i]
		key, split, twin := c.turnGroup(), c.split(), *c
		twin.HeaderSplit = new(true)
		if split == "" && splits[key] && !keys[twin.Key()] {
			split = "on"
		}
		key += " " + headerSplit + "=" + split
		if c.Alone() {
			key += " " + string(c.Key())
		}
		at, known := of[key]
		if !known {
			at = len(all)
			of[key], all = at, append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

// mostLump is how much payload may come to the application at once, bytes, so that a turn of 20 ms
// at 20 Gbit/s has several of it.
const mostLump = 4 << 20

// bufferBytes returns the size of the receiving application's buffer.
func (c *Cell) bufferBytes() int { return cmp.Or(c.RXBuffer, c.MessageBytes) }

// CheckTurns refuses what cells cannot do in turns.
func (c *Cell) CheckTurns() error {
	no := func(what, why string) error {
		return &fault.Error{Op: what + " cannot be measured in turns: " + why,
			How: "use order: blocks, or leave it out"}
	}
	if c.Alone() {
		return nil
	}
	for _, m := range c.modes() {
		switch {
		case m.Kind.Packets():
			return no(m.Name, "a flow of packets does not stop and go on yet")
		case m.Has(stream.RoundTrips):
			return no(m.Name, "requests are not kept to turns yet")
		case m.Role == stream.RX && m.Has(stream.UsesRing|stream.Buffered) && c.bufferBytes() > mostLump:
			return &fault.Error{Op: fmt.Sprintf("%s with a receive buffer of %d MiB cannot be measured in turns: the "+
				"kernel may say that payload came once for all that fits there (an rx_buffer of 1M can)", m.Name,
				c.bufferBytes()>>20), How: "use rx_buffer: 1M, or order: blocks"}
		}
	}
	switch {
	case c.BothWays():
		return no("both", "the other way would go on in the turns of others")
	case c.WritesTo() != "":
		return no("then", "what is written would go from the page cache to the disk in the turns of others")
	case c.Then != "":
		return no("then", "what is passed on would arrive in the turns of others")
	case c.EveryUs > 0:
		return no("object", "an object would wait for the cell's next turn")
	case c.Path != "":
		return no("path", "its counters would be of all cells of the group")
	case c.ByPort():
		return no("steer: port", "each port would want queues, and an RSS context, of its own")
	case c.Polls() != PollIRQ:
		return no(c.pollWord(), "a thread that polls would do so in the turns of others")
	}
	return nil
}
