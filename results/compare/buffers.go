// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// otherBuffers says that the receivers of two cells had unlike amounts of memory to copy payload
// into, where nobody asked for that: how much of it stays in a cache, and how much a receive may
// bring, then differs as well. "": they had alike, or one has the payload elsewhere.
func otherBuffers(a, b *plan.Cell, nameA, nameB string) string {
	x, y := held(a), held(b)
	if x == 0 || y == 0 || x == y || slices.Contains(differing(a, b), "rx_buffer") {
		return ""
	}
	return fmt.Sprintf("receive buffers of %s in %s and %s in %s", bytesText(x), nameA, bytesText(y), nameB)
}

// held computes into how many bytes a cell's receiver copies, by how its mode lays them out; 0: it
// does not, or that is not known, as of published figures.
func held(c *plan.Cell) int {
	m, err := modes.Find(stream.RX, c.RX)
	if err != nil || m.Holds == nil || c.RoundTrips() {
		return 0
	}
	return m.Holds(stream.Options{MessageBytes: cmp.Or(c.MessageBytes, stream.DefaultMessage(m.Kind)),
		ReadBytes: c.ReadBytes, BufferBytes: c.RXBuffer})
}

// bytesText formats a size as cells have it.
func bytesText(n int) string {
	return plan.LookupOption("rx_buffer").Value(&plan.Cell{RX: "tcp", RXBuffer: n})
}
