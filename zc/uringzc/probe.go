// SPDX-License-Identifier: MIT

package uringzc

import (
	"github.com/zcbench/zcbench/flow/uring"
)

// Probe tries what the mode needs: SEND_ZC from registered buffers, and the
// report that tells copied sends from others.
func Probe() error {
	f := uring.Probe()
	return uring.Lacking("uring-zc", f.Ring, f.SendZC, f.SendZCReport, f.RegisteredBuffers)
}
