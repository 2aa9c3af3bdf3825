// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// thenFits refuses what an application cannot do with the payload that it has by a mode.
func thenFits(m stream.Mode, c *Cell) error {
	no := func(why string) error { return c.refuse("then", errors.New(why)) }
	switch {
	case c.Then == "" || m.Role == stream.TX:
	case c.Then == ThenSplice && !m.Has(stream.Splices):
		return no(fmt.Sprintf("splice takes the payload from the socket, and rx %s takes it first: use rx %s, or "+
			"then: %s", m.Name, thatCan(stream.Splices), ThenForward))
	case c.Then == ThenForward && !m.Has(stream.Forwards):
		return no(fmt.Sprintf("rx %s cannot pass payload on: use rx %s", m.Name, thatCan(stream.Forwards)))
	case c.Then == ThenSplice && c.Touch != "" && c.Touch != string(stream.TouchNone):
		return no("by splice the application never gets the payload: use touch: none; the TG verifies what comes back")
	case c.Then == ThenForward && m.Has(stream.UsesRing|stream.UsesNICQueue) && !inPages(c.Area):
		return no(fmt.Sprintf("io_uring cannot send from memory of kind %q, a dmabuf: use area %s or %s, or rx devmem",
			c.Area, dmabuf.Pages, dmabuf.Huge))
	case records.How(c.TLS) != records.None:
		return no("what is passed on would go back as it came, or plain, and not as payload that both ends encrypt " +
			"(tls): leave out one of the two")
	case c.BothWays():
		return no("the TG receives what is passed on: leave out both")
	case c.NRings() > 1:
		return no(
			"a ring that shares its queue does not pass payload on yet: use one ring for each queue (queue_rings)")
	case m.TakesQueue() && (c.NFlows() > c.NQueues() || c.ByPort()):
		return no(
			"a thread with several flows does not pass them on yet: give each flow a queue of its own (queues), " +
				"steered by a rule (steer: flow)")
	}
	return nil
}

// inPages reports whether a kind of memory is the process's own.
func inPages(area string) bool {
	p, _, err := dmabuf.Find(cmp.Or(area, dmabuf.Pages))
	return err == nil && p.Pages != nil
}

// thatCan lists the receive modes that have a trait.
func thatCan(t stream.Traits) string {
	var names []string
	for _, m := range modes.All {
		if m.Has(t) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}
