// SPDX-License-Identifier: MIT

package modes

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// Refuses says what of a cell's choices a mode cannot do together; nil: nothing.
func Refuses(p stream.Mode, c *results.Cell) error {
	area := stream.AreaKind(c.Area)
	inDMABuf := slices.Contains(stream.DMABufKinds, area)
	switch {
	case p.RoundTrips && max(c.Request, 1)*max(c.InFlight, 1) > stream.MaxUnanswered:
		return fmt.Errorf("%d requests of %d bytes in flight are more than %d bytes: take smaller ones, or fewer", c.InFlight, c.Request, stream.MaxUnanswered)
	case p.Segments && c.UDPBatch == 1:
		return fmt.Errorf("%s with a call for each datagram has nothing to segment: that is the mode udp", p.Name)
	case p.Role == stream.TX:
	case p.NoPayload && c.RoundTrips():
		return fmt.Errorf("%s never has a request in its hands, so it cannot answer: take another receive mode, or another send mode than %s", p.Name, c.TX)
	case p.NoPayload && c.Touch != "" && c.Touch != string(stream.TouchNone):
		return fmt.Errorf("%s never has the payload in its hands, so touch %q is impossible; use --touch none", p.Name, c.Touch)
	case p.DMABuf && area != "" && !inDMABuf:
		return fmt.Errorf("%s cannot have memory of the kind %q; its kinds are %v", p.Name, area, stream.DMABufKinds)
	case p.NICQueue && !p.NeedsDev && inDMABuf:
		return fmt.Errorf("%s has no NIC that could write into a dmabuf: leave the area %q out", p.Name, area)
	}
	return nil
}
