// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// thenFits refuses what an application cannot do with the payload that it has by a mode.
func thenFits(m stream.Mode, c *Cell) error {
	no := func(why string) error { return c.refuse("then", errors.New(why)) }
	why := ""
	switch {
	case c.Then == "" || m.Role == stream.TX:
		return nil
	case c.WritesTo() != "":
		why = cannotWrite(m, c)
	default:
		why = cannotPassOn(m, c)
	}
	switch {
	case why != "":
		return no(why)
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

// cannotPassOn says why payload does not go back to the TG, and what to do; "": it can.
func cannotPassOn(m stream.Mode, c *Cell) string {
	switch {
	case c.Then == ThenSplice && !m.Has(stream.Splices):
		return fmt.Sprintf("splice takes the payload from the socket, and rx %s takes it first: use rx %s, or "+
			"then: %s", m.Name, thatCan(stream.Splices), ThenForward)
	case c.Then == ThenForward && !m.Has(stream.Forwards):
		return fmt.Sprintf("rx %s cannot pass payload on: use rx %s", m.Name, thatCan(stream.Forwards))
	case c.Then == ThenSplice && c.Touch != "" && c.Touch != string(stream.TouchNone):
		return "by splice the application never gets the payload: use touch: none; the TG verifies what comes back"
	case c.Then == ThenForward && m.Has(stream.UsesRing|stream.UsesNICQueue) && !inPages(c.Area):
		return fmt.Sprintf("io_uring cannot send from memory of kind %q, a dmabuf: use area %s or %s, or rx devmem",
			c.Area, dmabuf.Pages, dmabuf.Huge)
	case records.How(c.TLS) != records.None:
		return "what is passed on would go back as it came, or plain, and not as payload that both ends encrypt " +
			"(tls): leave out one of the two"
	case c.BothWays():
		return "the TG receives what is passed on: leave out both"
	}
	return ""
}

// cannotWrite says why payload is not written to a file, and what to do; "": it can.
func cannotWrite(m stream.Mode, c *Cell) string {
	const unpinned = "is a dmabuf, whose pages get_user_pages does not pin, so no file is written from it (EFAULT)"
	switch {
	case m.Has(stream.DMABuf):
		return fmt.Sprintf("memory of rx %s %s: use rx zcrx, with area %s or %s", m.Name, unpinned, dmabuf.Pages,
			dmabuf.Huge)
	case !m.Has(stream.Forwards):
		return fmt.Sprintf("rx %s writes to no file: use rx %s", m.Name, thatCan(stream.Forwards, stream.DMABuf))
	case m.Has(stream.UsesNICQueue) && !inPages(c.Area):
		return fmt.Sprintf("memory of kind %q %s: use area %s or %s", c.Area, unpinned, dmabuf.Pages, dmabuf.Huge)
	case records.How(c.TLS) != records.None:
		return "nobody has tried to write to a file what was encrypted (tls): leave out one of the two"
	case c.NFlows() > disk.MostFlows:
		return fmt.Sprintf("%d files share %d MiB, and each is %d MiB long at least: use at most %d flows", c.NFlows(),
			disk.MostBytes>>20, disk.MostBytes/disk.MostFlows>>20, disk.MostFlows)
	case c.BothWays():
		return "nobody has tried to write to a file while the other way goes on (both): leave out one of the two"
	}
	return ""
}

// inPages reports whether a kind of memory is the process's own.
func inPages(area string) bool {
	p, _, err := dmabuf.Find(cmp.Or(area, dmabuf.Pages))
	return err == nil && p.Pages != nil
}

// thatCan lists the receive modes that have a trait, and none of others.
func thatCan(t stream.Traits, but ...stream.Traits) string {
	var names []string
	for _, m := range modes.All {
		if m.Has(t) && !slices.ContainsFunc(but, m.Has) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}
