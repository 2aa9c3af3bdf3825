// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// severalFlows makes the process that is to be killed one of several flows.
const severalFlows = "flows"

// flows are two flows, or four where what takes minutes is asked for, that share so many MiB.
func flows(mib int) labtest.Flows {
	return labtest.Flows{Mode: zcrx.Mode, N: long.Rounds(2, 4), Bytes: mib << 20, NIC: stream.NICQueue{AreaBytes: 8 << 20}, Open: labtest.Opener(zcrx.New)}
}

// Several flows at the same time, each by a queue of its own: every byte of each arrives without
// a copy, by its queue, whose memory stays bound while others come and go.
func TestLabFlows(t *testing.T) {
	labtest.Need(t)
	flows(4).Run(t, func(x labtest.Transfer, o labtest.Outcome) {
		isZeroCopy(t, x, o)
		if got := int(o.Figure("zcrx_flow_queue")); got != *x.NIC.Queue {
			t.Errorf("it came by queue %d, not %d", got, *x.NIC.Queue)
		}
	})
}

// One of several flows is steered elsewhere: it is copied and says where it went, and the others
// are not.
func TestLabFlowsWrongQueue(t *testing.T) {
	labtest.Need(t)
	f, wrong, elsewhere := flows(8), 1, 0
	f.Change = func(i int, x *labtest.Transfer) {
		if i == wrong {
			x.NIC.SteerTo = &elsewhere
		}
	}
	f.Run(t, func(x labtest.Transfer, o labtest.Outcome) {
		if x.NIC.SteerTo == nil {
			isZeroCopy(t, x, o)
			return
		}
		c := o.Counters
		if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.CopiedBytes < c.Bytes/100*99 {
			t.Errorf("%+v", c)
		}
		if want := fmt.Sprintf("the flow landed on queue 0, the provider is on queue %d", *x.NIC.Queue); o.Evidence.Why != want || o.Evidence.Fix == "" {
			t.Errorf("why %q, want %q; fix %q", o.Evidence.Why, want, o.Evidence.Fix)
		}
	})
}

// kill -9 of a process with several queues: the kernel frees all of them, and the next flow's
// lease restores what it had set.
func TestLabFlowsKilled(t *testing.T) {
	labtest.Need(t)
	flows(1).Killed(t, "TestKilledReceiver", killEnv+"="+severalFlows, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, Open: labtest.Opener(zcrx.New)})
}
