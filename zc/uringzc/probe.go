// SPDX-License-Identifier: MIT

package uringzc

import (
	"github.com/zcbench/zcbench/flow/uring"
)

// probe tries what the mode needs: SEND_ZC from registered buffers, and the
// report that tells copied sends from others.
func probe() error {
	f := uring.Probe()
	return uring.Lacking("uring-zc", f.Ring, f.SendZC, f.SendZCReport, f.RegisteredBuffers)
}
