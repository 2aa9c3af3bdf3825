// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
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
		return refuse("message", fmt.Errorf("a generated frame's payload has %d..%d bytes", stream.MinDatagramBytes, stream.MaxFramePayload))
	case c.NFlows() > 1:
		return refuse("flows", errors.New("an XDP program has all frames of an interface: take one flow, and several 5-tuples (tuples)"))
	}
	return nil
}
