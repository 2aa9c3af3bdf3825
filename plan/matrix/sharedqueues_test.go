// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
)

// Flows that share a queue and have threads of their own cannot have the layout of one CPU, unless
// those of each queue share a CPU. What the refusal says to do is enough.
func TestSharedQueues(t *testing.T) {
	for name, x := range map[string]struct {
		cell plan.Cell
		cpus []int
		says string
	}{
		"a queue each": {cell: plan.Cell{RX: "tcp", Flows: 2, Queues: 2}},
		"as found":     {cell: plan.Cell{RX: "tcp", Flows: 2}},
		"one flow":     {cell: plan.Cell{RX: "tcp", Queues: 1}},
		"one queue": {cell: plan.Cell{RX: "tcp", Flows: 2, Queues: 1},
			says: "2 flows of tcp share one RX queue, whose softirq has one CPU, and each has a thread on a CPU " +
				"of its own: name one CPU for all threads (such as --sut-cpu 2; in files sut.cpu: 2), or use the " +
				"layout 2cpu, or a queue for each flow (--queues 2), if the NIC has 3"},
		"the queue named": {cell: plan.Cell{RX: "uring", Flows: 2, Queue: new(1)},
			says: "share one RX queue"},
		"two queues": {cell: plan.Cell{RX: "tcp", Flows: 4, Queues: 2},
			says: "share 2 RX queues, whose softirq has one CPU, and each has a thread on a CPU of its own: name " +
				"2 CPUs, one for the flows of each queue (such as --sut-cpu 2,3; in files sut.cpu: [2, 3])"},
		"one queue, one CPU":   {cell: plan.Cell{RX: "tcp", Flows: 2, Queues: 1}, cpus: []int{2}},
		"two queues, two CPUs": {cell: plan.Cell{RX: "tcp", Flows: 4, Queues: 2}, cpus: []int{2, 3}},
		"two queues, other CPUs": {cell: plan.Cell{RX: "tcp", Flows: 4, Queues: 2}, cpus: []int{2, 3, 4},
			says: "flows 0 and 2 of one queue have CPUs 2 and 4"},
		"one thread for all":          {cell: plan.Cell{RX: "zcrx", Flows: 4, Queues: 1}},
		"one thread for each binding": {cell: plan.Cell{RX: "devmem", Flows: 4, Queues: 2}},
	} {
		x.cell.CPULayout = "1cpu"
		err := SharedQueues(&x.cell, x.cpus)
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error()+": "+fault.Fix(err), x.says) {
			t.Errorf("%s: %v: %s\nwant %q", name, err, fault.Fix(err), x.says)
		}
		if x.cell.CPULayout = "2cpu"; SharedQueues(&x.cell, nil) != nil {
			t.Errorf("%s: refused with two CPUs", name)
		}
	}
}

// A file that asks for it is refused at the layout's place; one that names the CPUs, or leaves the
// combination out, is not.
func TestSharedQueuesInFiles(t *testing.T) {
	const head = "name: x\n"
	const factors = "factors:\n  rx: [tcp, zcrx]\n  tx: tcp\n  flows: [1, 2]\n  queues: 1\n  cpu_layout: [2cpu, 1cpu]\n"
	_, err := Parse("x.yaml", []byte(head+factors))
	if err == nil || !strings.HasPrefix(err.Error(),
		"x.yaml:7:3: the layout 1cpu puts a flow's softirq on its thread's CPU, but 2 flows of tcp") ||
		!strings.HasSuffix(err.Error(), "or leave the combination out (exclude)") {
		t.Errorf("%v", err)
	}
	for _, more := range []string{"sut: {cpu: 1}\n", "exclude:\n  - {rx: tcp, flows: 2, cpu_layout: 1cpu}\n"} {
		if _, err := Parse("x.yaml", []byte(head+more+factors)); err != nil {
			t.Error(err)
		}
	}
}

// CPUs for more threads than any cell has are refused at their place.
func TestSpareCPUsInFiles(t *testing.T) {
	const factors = "factors:\n  rx: zcrx\n  tx: tcp\n  flows: [1, 4]\n  queues: 1\n"
	for text, want := range map[string]string{
		"name: x\nsut:\n  dev: a\n  cpu: [2, 3]\n" +
			factors: "x.yaml:4:8: sut.cpu: 2 CPUs are named, but this end has at most 1 thread: ",
		"name: x\ntg: {cpu: [2, 3, 4, 5, 6]}\n" +
			factors: "x.yaml:2:11: tg.cpu: 5 CPUs are named, but this end has at most 4 threads: ",
		"name: x\ntg: {cpu: [2, 3, 4, 5]}\nsut: {cpu: [6]}\n" + factors: "",
	} {
		if _, err := Parse("x.yaml", []byte(text)); want == "" && err != nil || want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
