// SPDX-License-Identifier: MIT

package tcpmmap_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
)

// What copies can have the NIC of the modes that do not.
func TestLabSteered(t *testing.T) {
	long.Test(t) // several flows, each by a queue of its own, are in the short run
	labtest.Steered(t, "tcp")
}

// Nor can they tell queues that share a NAPI instance from each other by it.
func TestLabImitatedSharedNAPI(t *testing.T) { labtest.SharedNAPISteered(t, "tcp") }

// One of two flows that comes by another queue for a while is not where it should be.
func TestLabWanders(t *testing.T) {
	long.Test(t) // what is judged is in the short run, of queues that are none
	for _, rx := range []string{"tcp", "uring"} {
		t.Run(rx, func(t *testing.T) { labtest.Wanders(t, rx) })
	}
}

// Several of their flows come by several queues.
func TestLabSteeredFlows(t *testing.T) {
	for _, rx := range []string{"tcp", "uring", "tcp-mmap"}[:long.Rounds(1, 3)] {
		t.Run(rx, func(t *testing.T) { labtest.SteeredFlows(t, rx) })
	}
}
