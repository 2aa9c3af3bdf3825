// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// needsShare skips where no NIC's queue can be had, or rings cannot share one.
func needsShare(t *testing.T) {
	t.Helper()
	labtest.Need(t)
	if f := uring.Probe().ZcrxImport; !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
	if incapable(t) {
		t.Skip("its queues take no memory")
	}
}

// rings are two rings: one of two flows, and one of one.
func rings(mib int) [][]labtest.Transfer {
	x := labtest.Transfer{Family: "ipv4", Bytes: mib << 20, Open: labtest.Opener(zcrx.New)}
	return [][]labtest.Transfer{{x, x}, {x}}
}

// both runs a test with the second ring in a thread, and in a process.
func both(t *testing.T, f func(t *testing.T, share *stream.Rings)) {
	t.Run("threads", func(t *testing.T) { f(t, &stream.Rings{}) })
	t.Run("processes", func(t *testing.T) { f(t, &stream.Rings{Processes: true}) })
}

// Rings that share a queue receive all of their flows without a copy, each verified byte by byte;
// what each claims fits together into the buffers that the queue's page pools handed out.
func TestLabRings(t *testing.T) {
	needsShare(t)
	both(t, func(t *testing.T, share *stream.Rings) {
		claims, pids := 0.0, map[float64]bool{}
		errs := labtest.Rings(t, share, rings(4), func(ring int, x labtest.Transfer, o labtest.Outcome) {
			c := o.Counters
			if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.ZeroCopyBytes != c.Bytes ||
				o.Evidence.Uncounted != 0 {
				t.Errorf("ring %d: %+v; %s", ring, c, o.Evidence.Why)
			}
			if o.Figure("zcrx_ring") != float64(ring) || o.Figure("zcrx_ring_copied_bytes") != 0 ||
				o.Figure("zcrx_flow_queue") != o.Figure("zcrx_queue") || o.Figure("zcrx_pieces") <= 0 {
				t.Errorf("ring %d: %+v, %+v", ring, o.Evidence.Figures, o.Evidence.Together)
			}
			if claims = max(claims, o.Figure("zcrx_pool_buffers")*o.Figure("zcrx_buffer_bytes")); claims < 12<<20 {
				t.Errorf("three flows of 4 MiB, and buffers for %g bytes", claims)
			}
			pids[o.Figure("zcrx_ring_process")] = true
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if share.Processes && (pids[float64(os.Getpid())] || len(pids) != 2) || !share.Processes && len(pids) != 1 {
			t.Errorf("the processes were %v", pids)
		}
	})
}

// A flow of the second ring that comes by another queue is copied, and it says so; those of the
// first ring are not.
func TestLabRingsWrongQueue(t *testing.T) {
	needsShare(t)
	both(t, func(t *testing.T, share *stream.Rings) {
		all, elsewhere := rings(6), 0
		all[1][0].SteerTo = &elsewhere
		errs := labtest.Rings(t, share, all, func(ring int, x labtest.Transfer, o labtest.Outcome) {
			c := o.Counters
			if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 ||
				ring == 1 && (c.CopiedBytes < c.Bytes/100*95 || !strings.Contains(o.Evidence.Why,
					"landed on queue 0")) ||
				ring == 0 && c.CopiedBytes > c.Bytes/100*5 {
				t.Errorf("ring %d: %+v; %s", ring, c, o.Evidence.Why)
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

// A ring that does not hand back starves its fellow, which says who holds the buffers.
func TestLabRingsStarve(t *testing.T) {
	long.Test(t)
	needsShare(t)
	both(t, func(t *testing.T, share *stream.Rings) {
		all := rings(64)
		for i := range all {
			for n := range all[i] {
				all[i][n].NIC.AreaBytes = 8 << 20
			}
		}
		all[1][0].NIC.HoldBytes = 1 << 30
		errs := labtest.Rings(t, share, all, func(ring int, _ labtest.Transfer, o labtest.Outcome) {
			t.Errorf("ring %d got through: %+v", ring, o.Counters)
		})
		if err := errs[0]; err == nil || !strings.Contains(err.Error(), "starved") ||
			!strings.Contains(err.Error(), "ring 1 holds") || !strings.Contains(fault.Fix(err), "--hold") {
			t.Errorf("%v", err)
		}
	})
}

// killRings is what [TestKilledReceiver] is to be: rings in processes.
const killRings = "rings"

// flowingRings is a receiver whose rings are in processes, and whose flows do not end.
func flowingRings(t *testing.T) {
	all := rings(8 << 10)
	for i := range all {
		for n := range all[i] {
			all[i][n].Touch = stream.TouchNone
		}
	}
	go func() { fmt.Println("flowing") }()
	errs := labtest.Rings(t, &stream.Rings{Processes: true}, all, func(int, labtest.Transfer, labtest.Outcome) {})
	t.Errorf("it was not killed: %v", errs)
}

// kill -9 of a receiver: the rings in other processes go with it, and the queue is free.
func TestLabRingsKilled(t *testing.T) {
	long.Test(t)
	needsShare(t)
	labtest.KilledAs(t, "TestKilledReceiver", killEnv+"="+killRings, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20,
		Open: labtest.Opener(zcrx.New)})
	if left := labtest.Processes(t, "zcbench-ring"); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// kill -9 of a ring's process: its flow fails and says so, those of the first ring end when their
// sender does, and the queue is free.
func TestLabRingKilled(t *testing.T) {
	needsShare(t)
	all := rings(256)
	for i := range all {
		for n := range all[i] {
			all[i][n].Touch = stream.TouchNone
		}
	}
	for n := range all[1] {
		all[1][n].Bytes = 16 << 30 // more than it can have received when it is killed
	}
	all[0][0].Half = func() { labtest.KillProcesses(t, "zcbench-ring") }
	errs := labtest.Rings(t, &stream.Rings{Processes: true}, all, func(ring int, x labtest.Transfer,
		o labtest.Outcome) {
		if ring != 0 {
			t.Errorf("ring %d: %+v", ring, o.Counters)
		}
	})
	if err := errs[1]; err == nil || !strings.Contains(err.Error(), "which had a ring of the queue, ended") {
		t.Errorf("%v", err)
	}
}
