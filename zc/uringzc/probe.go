// SPDX-License-Identifier: MIT

package uringzc

import (
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
)

// Probe tries what the mode needs: SEND_ZC from registered buffers, and the
// report that tells copied sends from others.
func Probe() error {
	f := uring.Probe()
	for _, need := range []uring.Feature{f.Ring, f.SendZC, f.SendZCReport, f.RegisteredBuffers} {
		if !need.Supported {
			return &fault.Unsupported{Mode: "uring-zc", Op: need.Name, Err: need.Err(), How: need.Fix}
		}
	}
	return nil
}
