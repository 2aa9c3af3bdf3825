// SPDX-License-Identifier: MIT

package why

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// experiment is a simulated session of two cells in blocks.
type experiment struct {
	seed    uint64
	reps    int
	b       map[string]float64 // what B takes otherwise, ns per kB by class
	calls   float64            // system calls of B for one of A; 0: as many
	outside float64            // ns per kB that B's accounting has and its samples have not
	turns   bool               // each block is a start, in which the two take turns
	change  func(*results.Record)
}

// classesOf are what A takes, ns per kB.
var classesOf = map[string]float64{"copy": 60, "tcp": 35, "driver": 22, "socket": 14, "ip": 9, "gro": 8, "scheduler": 7,
	"syscall": 6, "locks": 4, "application": 3, "irq-off-end": 12, "other": 5}

// classNames are in a fixed order, so that equal seeds make equal experiments.
var classNames = []string{"copy", "tcp", "driver", "socket", "ip", "gro", "scheduler", "syscall", "locks",
	"application", "irq-off-end", "other"}

var cells = [2]plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp", Touch: "read"},
	{ID: "uring/tcp", RX: "uring", TX: "tcp", Touch: "read"}}

// journal plays it: whole blocks are slower or faster than others by a fifth, runs by 3 %, and
// classes by 5 % and by what a sampler sees of them.
func (x experiment) journal() results.Journal {
	rng := rand.New(rand.NewPCG(x.seed, 77))
	j := results.Journal{Header: results.Header{SessionID: "s", Cells: cells[:],
		Plan: &plan.Origin{Baseline: &cells[0]}}}
	for rep := range x.reps {
		block := 1 + .2*rng.NormFloat64()
		for k := range cells {
			r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprint(k, "-", rep), SessionID: "s",
				Cell: cells[k], Rep: rep, Block: rep, Seq: 2*rep + k, Verdict: results.OK}
			r.SUT.Env.BootID, r.TG.Env.BootID = "sut", "tg"
			if x.turns {
				r.Start, r.StartUTCNs, r.Turns = rep+1, int64(rep+1)*1e9, &results.Turns{TurnNs: 60e6, Turns: 18,
					Cells: 2}
			}
			x.host(rng, &r.SUT, k, max(block, .3)*(1+.03*rng.NormFloat64()))
			if x.change != nil {
				x.change(&r)
			}
			j.Records = append(j.Records, r)
		}
	}
	return j
}

func (x experiment) host(rng *rand.Rand, h *results.Host, k int, slow float64) {
	p := &results.Profiled{Event: "cpu-clock", Hz: 999, Samples: new(4000.), Lost: new(0.)}
	busy := 0.0
	for _, name := range classNames {
		ns := classesOf[name]
		if k == 1 {
			ns += x.b[name]
		}
		ns = max(0, ns*slow*(1+.05*rng.NormFloat64())+.1*math.Sqrt(ns)*rng.NormFloat64())
		if ns == 0 {
			continue
		}
		busy += ns
		p.Classes = append(p.Classes, results.ProfiledPart{Name: name, SelfPerKB: new(ns)})
		for i, share := range []float64{.7, .3} {
			p.Functions = append(p.Functions, results.ProfiledPart{Name: fmt.Sprint(name, "_function", i),
				Where: "softirq", Class: name, SelfPerKB: new(share * ns)})
		}
	}
	p.Busy = results.ProfiledPart{SelfPerKB: new(busy)}
	h.Probes = &results.Probes{Profile: p}
	if k == 1 {
		busy += x.outside
	}
	const kb = 1e6
	h.Bytes, h.TotalBytes, h.DurationS = new(uint64(kb*1000)), new(uint64(2*kb*1000)), new(1.0)
	h.CPUBusyCores, h.ThroughputGbps = new(busy*kb/1e9), new(8.0)
	times := 1.0
	if k == 1 && x.calls > 0 {
		times = x.calls
	}
	noisy := func(v float64) float64 { return v * (1 + .05*rng.NormFloat64()) }
	h.Metrics = []measure.Metric{
		{Name: "flow_calls", Unit: "1", Value: noisy(20000 * times), Source: "data path"},
		{Name: "flow_waits", Unit: "1", Value: noisy(20000 * times), Source: "data path"},
		{Name: "thread_data_path_voluntary_switches", Unit: "1", Value: noisy(3000),
			Source: "/proc/PID/task/TID/status"},
		{Name: "softirq_cpu0_net_rx", Unit: "1", Value: noisy(9000), Source: "/proc/softirqs"},
		{Name: "softirq_cpu1_net_rx", Unit: "1", Value: noisy(1000), Source: "/proc/softirqs"},
		{Name: "ip_rx_packet_bytes", Unit: "bytes", Value: noisy(45000), Source: "/proc/net/snmp"},
		{Name: "uring_rearms", Unit: "1", Value: noisy(4000), Source: "data path, whole flow"},
		{Name: measure.MetricIdleState, Of: []string{"0", "c6"}, Unit: "cores", Value: noisy(.1), Source: "/sys"},
		{Name: "cpuidle_c6_cores", Unit: "cores", Value: noisy(.1), Source: "/sys"},
		{Name: "cpuidle_cpu0_c6_entries", Unit: "1", Value: noisy(500), Source: "/sys"},
	}
	h.Idle = []string{"softnet_cpu[0-1]_time_squeeze"}
	h.FlowMHz = new(noisy(3000))
}

func (x experiment) couple(t *testing.T) *compare.Couple {
	t.Helper()
	s := compare.NewSet("s", x.journal())
	s.Dir = "s"
	metrics, err := compare.Lookup([]string{"ns_per_kb"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare.Within(&s, cells[0], metrics)
	if err != nil || len(r.Couples()) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return &r.Couples()[0]
}

func (x experiment) explain(t *testing.T) (*Result, *End) {
	t.Helper()
	r, err := Explain(x.couple(t), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ends) != 1 || r.Ends[0].Role != ends.SUT {
		t.Fatalf("%+v", r)
	}
	mustAddUp(t, &r.Ends[0])
	return r, &r.Ends[0]
}

// mustAddUp holds the end to its identities: classes add up to the CPU time, and so does what is
// explained with what is not.
func mustAddUp(t *testing.T, e *End) {
	t.Helper()
	all, named := 0.0, 0.0
	for _, c := range e.Classes {
		all += c.Diff
		if c.Differs && !c.Vague {
			named += c.Diff
		}
	}
	tiny := 1e-9 * (math.Abs(e.CPU.A) + math.Abs(e.CPU.B))
	if math.Abs(all-e.CPU.Diff) > tiny {
		t.Errorf("classes add up to %v, CPU %v", all, e.CPU.Diff)
	}
	if math.Abs(named+e.Unexplained.Diff-e.CPU.Diff) > tiny || e.Explained != nil &&
		math.Abs(e.Explained.Diff-named) > tiny {
		t.Errorf("%v explained and %v not, CPU %v", named, e.Unexplained.Diff, e.CPU.Diff)
	}
}

func anyNamed(e *End) bool {
	return e.CPU.Differs || anyDiffers(e.Classes) || anyDiffers(e.Functions) || anyDiffers(e.Counters)
}
