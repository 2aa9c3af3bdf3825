// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
)

// Refuses explains which of a cell's choices a mode cannot have together; nil: nothing.
func Refuses(p stream.Mode, c *Cell) error {
	area := stream.AreaKind(c.Area)
	inDMABuf := slices.Contains(stream.DMABufKinds, area)
	switch {
	case p.Has(stream.RoundTrips) && max(c.Request, 1)*max(c.InFlight, 1) > stream.MaxUnanswered:
		return fmt.Errorf("%d requests of %d bytes in flight exceed %d bytes: use smaller or fewer requests",
			c.InFlight, c.Request, stream.MaxUnanswered)
	case p.Has(stream.Segments) && c.UDPBatch == 1:
		return fmt.Errorf("%s with one call per datagram has nothing to segment: use the mode udp", p.Name)
	case p.Role == stream.TX:
	case p.Has(stream.NoPayload) && c.RoundTrips():
		return fmt.Errorf("%s never sees the payload of a request, so it cannot answer: choose another receive "+
			"mode, or a send mode other than %s", p.Name, c.TX)
	case p.Has(stream.NoPayload) && c.Touch != "" && c.Touch != string(stream.TouchNone):
		return fmt.Errorf("%s never gets the payload, so touch %q is impossible; use --touch none", p.Name, c.Touch)
	case p.Has(stream.DMABuf) && area != "" && !inDMABuf:
		return fmt.Errorf("%s cannot use memory of kind %q; its kinds are %v", p.Name, area, stream.DMABufKinds)
	case p.Has(stream.UsesNICQueue) && !p.Has(stream.NeedsDev) && inDMABuf:
		return fmt.Errorf("%s has no NIC that could write into a dmabuf: leave out the area %q", p.Name, area)
	}
	return nil
}
