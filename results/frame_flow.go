// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
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
	return rx.SendsBack || rx.Redirects && to && out == ""
}

// hasHelpers reports whether the helper threads were counted. The flag says so if metrics were not
// read.
func (r *Record) hasHelpers() bool {
	return !math.IsNaN(r.SUT.value(measure.MetricHelperCores)) || slices.Contains(r.Flags, FlagHelpers)
}

// ReadsFrames reports whether the data path's thread takes the frames of a cell itself, rather than
// only reading what was counted.
func (c *Cell) ReadsFrames(m stream.Mode) bool {
	return m.Reads || m.Redirects && strings.HasPrefix(c.XDPRedirect, "xsk")
}

// OwnCores returns the CPU time, in cores, of the threads that received in the window: NAPI's and,
// if read is set, the data paths'. It leaves out what others did on the same CPUs. Nil: softirq,
// which is no thread's, received, or it was not measured.
func (h *Host) OwnCores(read bool) *float64 {
	if h.CPUPollerCores == nil {
		return nil
	}
	own := *h.CPUPollerCores
	if !read {
		return &own
	}
	for i := range h.Flows { // not ThreadCores, in which a thread's waits for its CPU are, too
		s := h.Flows[i].CPUS
		if s == nil || h.DurationS == nil || !(*h.DurationS > 0) {
			return nil
		}
		own += *s / *h.DurationS
	}
	return &own
}
