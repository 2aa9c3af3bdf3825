// SPDX-License-Identifier: MIT

package judge

import (
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// rule is one thing that runs are judged by. What it finds says what to do about it.
type rule struct {
	Name  string         // of the gate or the flag, or else what is asked
	Looks string         // at what
	Class plan.GateClass // of a gate; "": the rule is none, and flags or warns, or gives the verdict
	Test  string         // that holds it

	both func(*Both, *results.Record)                 // of what the two ends said
	run  func(plan.Gates, *results.Record) *failure   // a gate of one run
	mark func(plan.Gates, *results.Record)            // of a run that its gates let count
	cell func(plan.Gates, []*results.Record) *failure // a gate of all runs of a cell
	each func(plan.Gates, []*results.Record)          // of each of a cell's runs, beside the others
}

// Asked is a rule as others are told of it.
type Asked struct {
	Name, Looks string
	Class       plan.GateClass // of a run that breaks it; "": it leaves no run out
	AtEnd       bool           // each end asks it of itself
}

// Rules lists all that runs are judged by, in the order in which it is asked.
func Rules() (all []Asked) {
	for _, r := range end.Rules {
		all = append(all, Asked{r.Name, r.Looks, r.Class, true})
	}
	for _, r := range rules {
		all = append(all, Asked{r.Name, r.Looks, r.Class, false})
	}
	return all
}

// rules are in the order in which they are asked. Before, each end has asked its own ([end.Rules]).
// [Conclude] says what limited a run.
var rules = []rule{
	{Name: results.FlagDropsUnattributed, Looks: "segments that were lost, and counters and reasons of drops",
		Test: "TestMarkDrops", both: func(_ *Both, r *results.Record) { markDrops(r) }},
	{Name: "verdict", Looks: "the verdicts of both ends, and the bytes that each counted", Test: "TestVerdict",
		both: func(b *Both, r *results.Record) {
			r.Verdict, r.Reason, r.Fix = b.verdict(r.Cell.MovesPackets())
		}},
	{Name: "fragments", Looks: "fragments that the kernel dropped", Test: "TestReassembly",
		both: func(_ *Both, r *results.Record) { markReassembly(r) }},
	{Name: results.FlagPacketsUnaccounted, Looks: "packets that were sent, received, and lost by counters",
		Test: "TestMarkPackets",
		both: func(b *Both, r *results.Record) { AccountPackets(r, b.OneMachine, b.OneNamespace) }},
	{Name: "flows", Looks: "how many flows each end tells of", Test: "TestCountFlows",
		both: func(_ *Both, r *results.Record) { countFlows(r) }},
	{Name: "round trips", Looks: "whether an end tells of round trips", Test: "TestAskedTrips",
		both: func(_ *Both, r *results.Record) { askedTrips(r) }},
	{Name: "NIC's encryption", Looks: "what a NIC that has the keys encrypted and decrypted", Test: "TestNICEncrypted",
		both: func(_ *Both, r *results.Record) { nicEncrypted(r) }},

	{Name: "throttled", Looks: "limits of cgroups", Class: plan.ByEnvironment, Test: "TestThrottled", run: throttled},
	{Name: "foreign_cores", Looks: "load on the flow's CPUs that is others'", Class: plan.ByEnvironment,
		Test: "TestForeignConcernsTheFlow", run: foreign},
	{Name: plan.IdleDriftGate, Looks: "idle power before and after", Class: plan.ByOutcome, Test: "TestIdleDrift",
		run: idleDrift},
	{Name: "retrans_per_gb", Looks: "retransmitted segments", Class: plan.ByOutcome, Test: "TestRun", run: retrans},
	{Name: "drops_per_gb", Looks: "packets that the receiver dropped", Class: plan.ByOutcome, Test: "TestRun",
		run: drops},
	{Name: "coverage", Looks: "columns of /proc/stat", Class: plan.ByOutcome, Test: "TestRun", run: coverage},
	{Name: "counters", Looks: "CPU time of the time series", Class: plan.ByOutcome, Test: "TestRun", run: counters},
	{Name: plan.LimitGate, Looks: "what limited the run", Class: plan.ByOutcome, Test: "TestLimit", run: limit},
	{Name: plan.FlagUnfair, Looks: "Jain's index of the flows", Class: plan.ByOutcome, Test: "TestFairness",
		run: unfair},
	{Name: plan.FlagStarved, Looks: "the slowest flow", Class: plan.ByOutcome, Test: "TestFairness", run: starved},

	{Name: plan.ActedGate, Looks: "options that did not act", Class: plan.ByOutcome, Test: "TestInertOptions",
		mark: inert},
	{Name: results.FlagBusySibling, Looks: "the other thread of a flow's core", Test: "TestBusySibling",
		mark: func(_ plan.Gates, r *results.Record) { siblings(r) }},
	{Name: results.FlagNotQuiet, Looks: "stolen time and others' load, where packets are counted",
		Test: "TestNotQuiet", mark: func(_ plan.Gates, r *results.Record) { quiet(r) }},
	{Name: results.FlagUnsaturated, Looks: "whether what received had time left", Test: "TestSlack",
		mark: func(_ plan.Gates, r *results.Record) { slack(r) }},

	{Name: "throughput_cv", Looks: "spread of the throughput", Class: plan.ByOutcome, Test: "TestApply",
		cell: throughputCV},
	{Name: "cpu_cv", Looks: "spread of the SUT's busy cores", Class: plan.ByOutcome, Test: "TestApply", cell: sutCPUCV},
	{Name: "cpu_cv", Looks: "spread of the TG's busy cores", Class: plan.ByOutcome, Test: "TestApply", cell: tgCPUCV},
	{Name: "drift", Looks: "throughput in the order of the runs", Class: plan.ByOutcome, Test: "TestApply",
		cell: drift},
	{Name: plan.FrequencyGate, Looks: "the flow's CPU frequency beside that of the cell's runs", Class: plan.ByOutcome,
		Test: "TestFrequency", each: frequency},
	{Name: "temperature_c", Looks: "CPU temperature", Class: plan.ByOutcome, Test: "TestApply", cell: temperature},
}
