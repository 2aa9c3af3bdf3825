// SPDX-License-Identifier: MIT

package baseline

import (
	"sync"

	"github.com/zcbench/zcbench/flow/uring"
)

var probeRing = sync.OnceValue(uring.Probe)

// probeUringReceiver tries what the receive mode uring needs.
func probeUringReceiver() error {
	f := probeRing()
	return uring.Lacking("uring", f.Ring, f.RecvMultishot)
}

// probeUringSender tries what the send mode uring needs.
func probeUringSender() error {
	f := probeRing()
	return uring.Lacking("uring", f.Ring)
}
