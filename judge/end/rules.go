// SPDX-License-Identifier: MIT

package end

import "github.com/zcbench/zcbench/plan"

// rule is one thing that an end judges its run by. What it finds says what to do about it.
type rule struct {
	Name  string         // what is asked
	Looks string         // at what
	Class plan.GateClass // of a run that breaks it
	Test  string         // that holds it

	flow func(*Evidence, *Flow) Finding    // of each flow
	run  func(*Evidence, *verdict) Finding // of a run whose flows are well
}

// Rules are in the order in which they are asked.
var Rules = []rule{
	{Name: "bytes", Looks: "bytes that the path took, counted, and that the other end counted", Class: plan.ByProof,
		Test: "TestEndBytes", flow: plain(bytesAddUp)},
	{Name: "payload", Looks: "bytes that differ from what was sent, and answers", Class: plan.ByProof,
		Test: "TestEndPayload", flow: plain(payloadIsRight)},
	{Name: "packets", Looks: "packets that differ from what was sent", Class: plan.ByProof, Test: "TestEndPayload",
		flow: plain(packetsAreRight)},
	{Name: "copied", Looks: "bytes that a zero-copy mode copied", Class: plan.ByProof, Test: "TestZeroCopy",
		flow: notCopied},
	{Name: "encryption", Looks: "whether the kernel or the NIC had the keys", Class: plan.ByProof,
		Test: "TestEncryptedByWhom", flow: plain(encryptedAsAsked)},
	{Name: "queue", Looks: "queues on which a steered flow was seen", Class: plan.ByProof, Test: "TestEndQueue",
		flow: onItsQueue},
	{Name: "passed on", Looks: "bytes that were passed on, how, and what became of them", Class: plan.ByProof,
		Test: "TestPassedOn", flow: plain(passedOn)},
	{Name: "answers", Looks: "bytes of answers that a mode copied which claims not to", Class: plan.ByProof,
		Test: "TestAnswersUncopied", flow: answersUncopied},
	{Name: "moved", Looks: "what each of several flows brought in the window", Class: plan.ByProof,
		Test: "TestEndMoved", flow: plain(moved)},
	{Name: "window", Looks: "when the window's edges were read, and what passed", Class: plan.ByEnvironment,
		Test: "TestWindow", run: (*Evidence).window},
	{Name: "turns", Looks: "when the edges of turns were read, and what passed between them", Class: plan.ByEnvironment,
		Test: "TestTurns", run: (*Evidence).turns},
	{Name: "CPU layout", Looks: "CPUs on which softirqs ran", Class: plan.ByEnvironment, Test: "TestKeptLayout",
		run: (*Evidence).keptLayout},
	{Name: "poll", Looks: "settings of NAPI, and where its threads may run", Class: plan.ByEnvironment,
		Test: "TestKeptPoll", run: (*Evidence).keptPoll},
	{Name: "bpf_stats", Looks: "whether the kernel timed eBPF programs", Class: plan.ByEnvironment,
		Test: "TestUntimed", run: (*Evidence).untimed},
}
