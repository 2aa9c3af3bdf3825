// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// fatAgentEnv makes the agent one that measures nothing and says a lot, at once.
const fatAgentEnv = "ZCBENCH_TEST_FAT_AGENT"

func beFatAgent() {
	requests, enc := wire.NewDecoder(os.Stdin), wire.NewEncoder(os.Stdout)
	var spec wire.EndSpec
	for {
		var req wire.Request
		if requests.Decode(&req) != nil {
			return
		}
		var result any = struct{}{}
		switch req.Op {
		case wire.OpHello:
			result = wire.HelloResult{Version: wire.Version, ToolVersion: version.Tool(), PID: os.Getpid(),
				NetNS: "4:1", OnlineCPUs: []int{0}}
		case wire.OpFinish:
			result = []string{}
		case wire.OpClock:
			result = wire.Clock{MonotonicNs: host.Monotonic()}
		case wire.OpOpen:
			req.Decode(&spec)
			result = wire.Opened{Addr: "127.0.0.1:5201"}
		case wire.OpRun:
			var sch wire.Schedule
			req.Decode(&sch)
			result = fatEnd(sch)
		}
		b, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		enc.Encode(wire.Response{ID: req.ID, Result: b})
	}
}

func fatEnd(sch wire.Schedule) wire.EndResult {
	end := wellEnd()
	end.FromNs, end.ToNs = sch.FromNs, sch.ToNs
	seconds := float64(sch.ToNs-sch.FromNs) / 1e9
	gbps := float64(*end.Host.Bytes) * 8 / 1e9 / seconds
	end.Host.DurationS, end.Host.ThroughputGbps = &seconds, &gbps
	for i := range 1000 {
		end.Host.Metrics = append(end.Host.Metrics, measure.Metric{Name: fmt.Sprint("probe_latency_bucket_", i),
			Unit: "1", Value: float64(i), Source: "eBPF"})
	}
	s := measure.Series{Name: "flow_bytes", Unit: "bytes"}
	for i := range 2000 {
		s.T, s.V = append(s.T, int64(i)), append(s.V, float64(i))
	}
	end.Host.Series = append(end.Host.Series, s)
	return end
}

// A session's memory does not grow by what its runs measured, which the journal
// has.
func TestMemoryOfALongSession(t *testing.T) {
	t.Setenv(fatAgentEnv, "1")
	var ends [2]*host.Host
	for i := range ends {
		h, err := host.Dial(t.Context(), "local", host.Options{ToolVersion: version.Tool()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		ends[i] = h
	}
	w, err := results.Create(filepath.Join(t.TempDir(), "out"), results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	const first, last = 30, 130
	var before, after uint64
	c := cell("tcp", "tcp")
	progress := &heard{onBegin: func(n int) {
		switch n {
		case first:
			before = heap()
		case last:
			after = heap()
		}
	}}
	s := &Session{Journal: w, Progress: progress, Enough: newAdaptive(matrix.Adaptive{Min: last + 1}),
		Runner: &Runner{SUT: ends[0], TG: ends[1], Session: "s", Opt: Options{Duration: time.Second,
			Addr: "127.0.0.1"}}}
	recs, err := s.Play(t.Context(), matrix.Interleave([]plan.Cell{c}, last+1, false, 1))
	if err != nil || len(recs) != last+1 || recs[last].Verdict != results.OK {
		t.Fatalf("%d records, %v, the last %+v", len(recs), err, recs[len(recs)-1])
	}
	perRun := (int64(after) - int64(before)) / (last - first)
	t.Logf("%d bytes a run, of %d in the journal", perRun, 200_000)
	if perRun > 8<<10 {
		t.Errorf("memory grows by %d bytes a run", perRun)
	}
}

// heap returns the bytes that are reachable. A buffer in a pool outlives one
// collection, so there are two: encoding/json pools half a MB here or none, which
// one collection told as 5 kB a run.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
