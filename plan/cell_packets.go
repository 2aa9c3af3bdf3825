// SPDX-License-Identifier: MIT

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// checkFrames refuses what no flow of frames can have.
func (c *Cell) checkFrames() error {
	all := c.modes()
	if len(all) == 0 || all[0].Kind != stream.Frame {
		return nil
	}
	refuse := func(option string, err error) error {
		o := LookupOption(option)
		return &OptionError{Option: o, Value: o.Raw(c), Err: err}
	}
	switch {
	case c.MessageBytes > stream.MaxFramePayload:
		return refuse("message", fmt.Errorf("a generated frame's payload has %d..%d bytes", stream.MinDatagramBytes,
			stream.MaxFramePayload))
	case c.XDPTouch != "" && c.XDPTouch != swapMACs && c.sendsBack(all[0]):
		return refuse("xdp_touch", errors.New("frames sent back must be addressed to their sender: use "+swapMACs+
			", or leave it out"))
	case c.NFlows() > 1:
		return refuse(
			"flows", errors.New(
				"an XDP program gets all frames of an interface: use one flow, and several 5-tuples (tuples)"))
	}
	return nil
}

// swapMACs is the touch that addresses frames to their sender.
const swapMACs = "swap-macs"

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

// CheckLossFree refuses to look for a rate of what is never lost, or is no rate of packets.
func (c *Cell) CheckLossFree() error {
	if !c.LossFree || c.MovesPackets() && !c.RoundTrips() {
		return nil
	}
	o := LookupOption("pace")
	m, err := modes.Find(stream.RX, c.RX)
	if err == nil && m.Kind == stream.Stream {
		return &OptionError{Option: o, Value: PaceLossFree,
			Err: fmt.Errorf("rx %s carries a stream, which loses nothing: choose modes that carry packets", c.RX)}
	}
	return &OptionError{Option: o, Value: PaceLossFree,
		Err: errors.New("round trips have no rate at which they lose nothing: use rr_rate")}
}

// MovesPackets reports whether the cell's modes move packets rather than a stream.
func (c *Cell) MovesPackets() bool {
	all := c.modes()
	return len(all) > 0 && all[0].Kind.Packets()
}

// streamProbes look at TCP, or at what zero copy does.
var streamProbes = []string{"latency", "zc", "tcp"}

// checkPackets refuses what no flow of packets can have.
func (c *Cell) checkPackets() error {
	if err := c.CheckLossFree(); err != nil {
		return err
	}
	if !c.MovesPackets() {
		return nil
	}
	if n := c.MessageBytes; n != 0 && (n < stream.MinDatagramBytes || n > stream.MaxDatagramBytes) {
		o := LookupOption("message")
		return &OptionError{Option: o, Value: o.Raw(c), Err: fmt.Errorf("a packet's payload has %d..%d bytes",
			stream.MinDatagramBytes, stream.MaxDatagramBytes)}
	}
	if c.RoundTrips() {
		for _, x := range []struct {
			name string
			n    int
		}{{"request", c.Request}, {"response", c.Response}} {
			if x.n != 0 && (x.n < stream.MinDatagramBytes || x.n > stream.MaxDatagramBytes) {
				o := LookupOption(x.name)
				return &OptionError{Option: o, Value: o.Raw(c), Err: fmt.Errorf("a datagram has %d..%d bytes",
					stream.MinDatagramBytes, stream.MaxDatagramBytes)}
			}
		}
	}
	if err := c.checkAFXDP(); err != nil {
		return err
	}
	if err := c.checkFrames(); err != nil {
		return err
	}
	for _, name := range c.Probes() {
		if slices.Contains(streamProbes, name) {
			return &OptionError{Option: LookupOption("probe"), Value: c.Probe,
				Err: fmt.Errorf("%s applies to TCP, but %s: leave it out", name, c.modeNames())}
		}
	}
	return nil
}

// checkAFXDP refuses several flows where a program of each would want the interface for itself: it
// has one, and one socket of AF_XDP for each of its queues.
func (c *Cell) checkAFXDP() error {
	i := slices.IndexFunc(c.modes(), func(m stream.Mode) bool { return m.Has(stream.AFXDP) })
	if i < 0 || c.NFlows() == 1 {
		return nil
	}
	o := LookupOption("flows")
	return &OptionError{Option: o, Value: o.Raw(c),
		Err: fmt.Errorf("%s takes a whole interface for one flow, its XDP program and a socket of AF_XDP for "+
			"each queue: use one flow", c.modes()[i].Name)}
}

// leavesThreads reports whether the cell's frames go on to a thread that is not NAPI's: the one
// behind a cpumap.
func (c *Cell) LeavesThreads() bool {
	m, err := modes.Find(stream.RX, c.RX)
	return err == nil && m.Has(stream.Redirects) &&
		cmp.Or(c.XDPRedirect, stream.XDPRedirects[0]) == stream.XDPRedirects[0]
}
