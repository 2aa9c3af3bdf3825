// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
)

func TestMemoryNodes(t *testing.T) {
	two := place.Topology{Nodes: map[int][]int{0: {0, 1}, 1: {2, 3}}}
	for name, x := range map[string]struct {
		nodes map[int]int
		cpu   int
		rows  int
		warns bool
	}{
		"near":          {map[int]int{1: 512}, 2, 1, false},
		"far":           {map[int]int{0: 512}, 2, 1, true},
		"a few far":     {map[int]int{0: 5, 1: 507}, 2, 2, false},
		"more far":      {map[int]int{0: 6, 1: 506}, 2, 2, true},
		"not pinned":    {map[int]int{0: 512}, -1, 1, false},
		"not measured":  {nil, 2, 0, false},
		"nothing there": {map[int]int{}, 2, 0, false},
	} {
		ms, warning := memoryNodes(x.nodes, x.cpu, two)
		if len(ms) != x.rows || (warning != "") != x.warns {
			t.Errorf("%s: %v, %q", name, ms, warning)
		}
		sum := 0.0
		for _, m := range ms {
			sum += m.Value
			if err := metrics.CheckRow(m.Named(), m.Unit, m.Source); err != nil {
				t.Error(err)
			}
		}
		if len(ms) > 0 && (sum < .999 || sum > 1.001) {
			t.Errorf("%s: shares of %v", name, sum)
		}
	}
	if _, warning := memoryNodes(map[int]int{0: 9}, 2,
		place.Topology{Nodes: map[int][]int{0: {0, 1, 2}}}); warning != "" {
		t.Errorf("on a host of one node: %s", warning)
	}
}

// faults is how many pages a thread of this process has brought in.
func faults(t *testing.T, tid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	if err != nil {
		t.Fatal(err)
	}
	// minflt is the eighth behind the name (fs/proc/array.c: do_task_stat).
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	n, err := strconv.Atoi(f[7])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The payload's pages are brought in by the thread that sends them: on its CPU's node. Huge pages
// are off for this process meanwhile: of these a fault, or none, brings many pages.
func TestPayloadIsTheWorkers(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0)
	const message = 8 << 20
	e, err := Open(wire.EndSpec{Role: stream.TX, Cell: plan.Cell{TX: "tcp", MessageBytes: message},
		Addr: "127.0.0.1:1", Flows: wire.OneFlow(-1)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	pages := message / os.Getpagesize()
	if got := faults(t, e.first().worker.tid); got < pages {
		t.Errorf("the thread that sends has brought in %d pages, and the payload has more than %d: another "+
			"thread has, wherever it ran", got, pages)
	}
}

// The memory that receivers have for the payload is all there when they are made, and known.
func TestReceiversMemoryIsThere(t *testing.T) {
	runtime.LockOSThread() // the contract of paths: an io_uring belongs to the thread that made it
	defer runtime.UnlockOSThread()
	for _, mode := range []string{"tcp", "uring"} {
		m, o, err := resolve(wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: mode, MessageBytes: 1 << 20},
			Addr: "127.0.0.1:0", Flows: wire.OneFlow(-1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Support(""); err != nil {
			t.Logf("%s cannot run here: %v", mode, err)
			continue
		}
		r, err := m.NewReceiver(o)
		if err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, n := range nodesOf(r, nil) {
			all += n
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if all < 64 { // of a sample; buffers of a MB have 256 pages
			t.Errorf("%s: %d pages of its memory are on a node", mode, all)
		}
	}
}
