// SPDX-License-Identifier: MIT

package baseline

import (
	"sync"

	"github.com/zcbench/zcbench/flow/uring"
)

var probeRing = sync.OnceValue(uring.Probe)

// ProbeUringReceiver tries what the receive mode uring needs.
func ProbeUringReceiver() error {
	f := probeRing()
	return uring.Lacking("uring", f.Ring, f.RecvMultishot)
}

// ProbeUringSender tries what the send mode uring needs.
func ProbeUringSender() error {
	f := probeRing()
	return uring.Lacking("uring", f.Ring)
}
