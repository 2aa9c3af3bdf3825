// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// sendsBack reports whether the receiver sends frames back by the interface on which they came.
func (c *Cell) sendsBack(rx stream.Mode) bool {
	out, to := stream.RedirectDev(c.XDPRedirect)
	return rx.Has(stream.SendsBack) || rx.Has(stream.Redirects) && to && out == ""
}

// ReadsFrames reports whether the data path's thread takes the frames of a cell itself, rather than
// only reading what was counted.
func (c *Cell) ReadsFrames(m stream.Mode) bool {
	return m.Has(stream.Reads) || m.Has(stream.Redirects) && strings.HasPrefix(c.XDPRedirect, "xsk")
}

// MovesPackets reports whether the cell's modes move packets rather than a stream.
func (c *Cell) MovesPackets() bool {
	all := c.modes()
	return len(all) > 0 && all[0].Kind.Packets()
}

// LeavesThreads reports whether the cell's frames go on to a thread that is not NAPI's: the one
// behind a cpumap.
func (c *Cell) LeavesThreads() bool {
	m, err := modes.Find(stream.RX, c.RX)
	return err == nil && m.Has(stream.Redirects) &&
		cmp.Or(c.XDPRedirect, stream.XDPRedirects[0]) == stream.XDPRedirects[0]
}
