// SPDX-License-Identifier: MIT

package endpoint

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results"
)

// Classes and functions are parts of the busy time, which they add up to, per kB and per packet.
func TestProfileFigures(t *testing.T) {
	frame := func(name string) profile.Frame { return profile.Frame{Name: name, Kernel: true} }
	p := &profile.Profile{Event: perf.Event{Name: "cpu-clock", Nanoseconds: true}, Hz: 999, WallNs: 1000, Samples: 9,
		Stacks: []profile.Stack{
			{Where: profile.SoftIRQ, Frames: []profile.Frame{frame("tcp_v4_rcv"), frame("ip_rcv")}, Count: 6,
				Weight: 600,
				Class:  profile.TCP},
			{Where: profile.Thread, Frames: []profile.Frame{frame("_copy_to_iter")}, Count: 2, Weight: 200,
				Class: profile.Copy},
			{Where: profile.Idle, Count: 1, Weight: 100, Class: profile.IdleClass},
		}}
	h := &results.Host{Bytes: new(uint64(4000)), Metrics: []measure.Metric{{Name: "netstat_ip_in_receives", Value: 2},
		{Name: "netstat_ip_out_requests", Value: 1}, {Name: "tcp_info_segs_in", Value: 8}}}
	got := profileFigures(p, 1600, h)
	if *got.Busy.SelfPerKB != 400 || *got.Busy.SelfPerPacket != 800 || *got.SampledBusyCores != .8 ||
		*got.Samples != 9 {
		t.Errorf("%+v", got)
	}
	sum := 0.0
	for _, c := range got.Classes {
		sum += *c.SelfPerKB
	}
	if math.Abs(sum-400) > 1e-9 || got.Classes[0].Name != "tcp" || *got.Classes[0].SelfPerPacket != 600 {
		t.Errorf("classes add up to %v: %+v", sum, got.Classes)
	}
	if len(got.Functions) != 2 || got.Functions[0].Name != "tcp_v4_rcv" || *got.Functions[0].TotalPerKB != 300 ||
		got.Functions[0].Where != "softirq" {
		t.Errorf("%+v", got.Functions)
	}
	if *got.WirePackets != 8 || got.WireSource != "TCP_INFO" || *got.Packets != 2 || *got.Busy.SelfPerWire != 200 ||
		*got.Classes[0].SelfPerWire != 150 ||
		*got.Functions[0].SelfPerWire != 150 || *got.Functions[0].TotalPerWire != 150 {
		t.Errorf("of the wire: %+v", got)
	}
	if f := profileFigures(p, 0, &results.Host{}); f.Busy.SelfPerKB != nil || f.Classes[0].SelfPerPacket != nil ||
		f.WirePackets != nil || f.Functions[0].SelfPerWire != nil {
		t.Errorf("nothing was moved, and it cost %+v", f.Busy)
	}
}

// A flow with a profile has it, of the window and of the measured CPUs: the copy is in it, and the
// classes add up to the CPUs' busy time.
func TestIntegrationProfiledFlow(t *testing.T) {
	kind.Timed(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	rx, tx := rxSpec("tcp", 64*kib), txSpec("tcp", 64*kib)
	rx.Cell.Probe = plan.ProbeProfile
	sch := lasting(600 * time.Millisecond)
	res, _ := runBoth(t, rx, tx, sch, sch)
	if res.Verdict != results.OK {
		t.Fatalf("%s: %s", res.Verdict, res.Reason)
	}
	if res.Host.Probes == nil || res.Host.Probes.Profile == nil {
		t.Fatalf("no profile: %q", res.Warnings)
	}
	p := res.Host.Probes.Profile
	sum := 0.0
	for _, c := range p.Classes {
		sum += *c.SelfPerKB
	}
	busy := *res.Host.CPUBusyCores * *res.Host.DurationS * 1e9 / (float64(*res.Host.Bytes) / 1000)
	if math.Abs(sum-busy) > busy*1e-6 || math.Abs(*p.Busy.SelfPerKB-busy) > busy*1e-6 {
		t.Errorf("classes %v, busy %v, by accounting %v ns/kB", sum, *p.Busy.SelfPerKB, busy)
	}
	if i := slices.IndexFunc(p.Classes, func(c results.ProfiledPart) bool {
		return c.Name == "copy" &&
			*c.SelfPerKB > 0
	}); i < 0 {
		t.Errorf("nothing was copied: %+v", p.Classes)
	}
	if p.ReaderCores == nil || *p.ReaderCores <= 0 || *p.ReaderCores > .05 {
		t.Errorf("emptying the rings took %v cores", p.ReaderCores)
	}
	// The kernel's IP counts for all of this namespace, where other tests have flows, too.
	if p.WirePackets == nil || p.Packets == nil || *p.WirePackets <= 0 || *p.Packets <= 0 || p.Busy.SelfPerWire == nil {
		t.Errorf("no packets, or none of the wire: %+v", p)
	}
	got, err := profile.Parse(res.Profile)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, s := range got.Sample {
		n += s.Value[0]
	}
	if float64(n) != *p.Samples || n == 0 {
		t.Errorf("%d samples, told %v", n, *p.Samples)
	}
	for _, m := range res.Host.Rows() {
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
}

// What classes did beside their time, by hand: 8 kB of payload; the copy has 600 cycles, 300
// instructions and all misses. By a clock there are no cycles, and nothing is told.
func TestCountFigures(t *testing.T) {
	p := &profile.Profile{Event: perf.Event{Name: "cycles"}, Hz: 999, Stacks: []profile.Stack{
		{Where: profile.SoftIRQ, Count: 4, Weight: 200, Class: profile.TCP},
		{Where: profile.Thread, Count: 6, Weight: 600, Class: profile.Copy},
		{Where: profile.Idle, Count: 6, Weight: 900, Class: profile.IdleClass}}}
	counts := map[perf.Count]map[profile.Class]float64{
		perf.Instructions: {profile.TCP: 500, profile.Copy: 300}, perf.LLCMisses: {profile.Copy: 16}}
	got := profileFigures(p, 0, &results.Host{Bytes: new(uint64(8000))})
	countFigures(got, p, counts, 8)
	class := map[string]results.ProfiledPart{"": got.Busy}
	for _, c := range got.Classes {
		class[c.Name] = c
	}
	for name, want := range map[string][4]float64{"": {100, 100, 1, 2}, "copy": {75, 37.5, .5, 2},
		"tcp": {25, 62.5, 2.5, 0}} {
		c := class[name]
		if *c.CyclesPerKB != want[0] || *c.InstructionsPerKB != want[1] || *c.IPC() != want[2] ||
			*c.LLCMissesPerKB != want[3] {
			t.Errorf("%q: %v cycles, %v instructions, %v a cycle, %v misses; want %v", name, *c.CyclesPerKB,
				*c.InstructionsPerKB, *c.IPC(), *c.LLCMissesPerKB, want)
		}
	}
	clocked := *p
	clocked.Event = perf.Event{Name: "cpu-clock", Nanoseconds: true}
	got = profileFigures(&clocked, 0, &results.Host{Bytes: new(uint64(8000))})
	if countFigures(got, &clocked, counts, 8); got.Busy.CyclesPerKB != nil || got.Busy.InstructionsPerKB != nil {
		t.Errorf("cycles by a clock: %+v", got.Busy)
	}
	alone := profileFigures(p, 0, &results.Host{Bytes: new(uint64(8000))})
	if countFigures(alone, p, nil, 8); *alone.Busy.CyclesPerKB != 100 || alone.Busy.IPC() != nil ||
		alone.Classes[0].LLCMissesPerKB != nil {
		t.Errorf("a processor that counts cycles alone: %+v", alone.Busy)
	}
}
