// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// severalFlows makes the process that is to be killed one of several flows.
const severalFlows = "flows"

// flows are two flows, or four where what takes minutes is asked for, that share so many MiB.
func flows(mib int) labtest.Flows {
	return labtest.Flows{Mode: devmem.RX, N: long.Rounds(2, 4), Bytes: mib << 20, Open: open}
}

// Several flows at the same time, each by a queue of its own, arrive without a copy.
func TestLabFlows(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		flows(4).Arrive(t, isZeroCopy)
	}
}

// One of several flows is steered elsewhere, and the others are not.
func TestLabFlowsWrongQueue(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		flows(8).WrongQueue(t, isZeroCopy)
	}
}

// kill -9 of a process with several queues: the kernel frees all of them, and the next flow's
// lease restores what it had set.
func TestLabFlowsKilled(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		flows(1).Killed(t, "TestKilledReceiver", killEnv+"="+severalFlows, labtest.Transfer{Family: "ipv4",
			Bytes: 8 << 20, Open: open})
	}
}
