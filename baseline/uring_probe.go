// SPDX-License-Identifier: MIT

package baseline

import (
	"sync"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/uring"
)

var probeRing = sync.OnceValue(uring.Probe)

// ProbeUringReceiver tries what the receive mode uring needs.
func ProbeUringReceiver() error {
	f := probeRing()
	return lacking("uring", f.Ring, f.RecvMultishot)
}

// ProbeUringSender tries what the send mode uring needs.
func ProbeUringSender() error {
	f := probeRing()
	return lacking("uring", f.Ring)
}

func lacking(mode string, needed ...uring.Feature) error {
	for _, f := range needed {
		if !f.Supported {
			return &fault.Unsupported{Mode: mode, Op: f.Name, Err: f.Err(), How: f.Fix}
		}
	}
	return nil
}
