// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// killEnv makes the test binary a receiver that is to be killed.
const killEnv = "ZCRX_TEST_KILL"

// TestKilledReceiver is no test but the process that TestLabKilled kills.
func TestKilledReceiver(t *testing.T) {
	if os.Getenv(killEnv) == "" {
		t.Skip("it is started by TestLabKilled")
	}
	if os.Getenv(killEnv) == severalFlows {
		flows(1).Flow(t)
		return
	}
	if os.Getenv(killEnv) == killRings {
		flowingRings(t)
		return
	}
	x := labtest.Transfer{Family: "ipv4", Bytes: 8 << 30, Touch: stream.TouchNone, Open: labtest.Opener(zcrx.New),
		Begun: func(stream.Receiver) { fmt.Println("flowing") }}
	_, err := labtest.In(labtest.RXNS, x.Receive)
	t.Errorf("it was not killed: %v", err)
}

// kill -9 in the middle of a flow: the kernel frees the queue, and the next flow
// has it at once. Header split, RSS table and rule are restored by the next flow's
// lease, before it sets its own.
func TestLabKilled(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.Killed(t, "TestKilledReceiver", killEnv, long.Rounds(1, 3), labtest.Transfer{Family: "ipv4",
			Bytes: 16 << 20, Open: labtest.Opener(zcrx.New)})
	}
}
