// SPDX-License-Identifier: MIT

// Field compares zero-copy receive of zcbench with the C programs of the field
// that do the same: liburing's zcrx example, kperf, the kernel's ncdevmem.
//
// It runs in the lab's guest (make bench-lab), where all of them share a machine,
// a kernel and a NIC. Runs alternate in blocks, ABC CBA, so that a drift of the
// machine favours nobody. Every program is judged by the same evidence: bytes are
// those that the NIC wrote into memory of a provider, CPU time is what the
// scheduler gave the receiving process and the thread that polls its queue, both
// between two moments of a steady flow. Nobody looks at the payload.
//
// The lab runs it with clocks that count instructions (zcbench lab exec
// --count-time) and one CPU. A nanosecond is an instruction then, whatever else
// the host does. With two, each CPU's clock would go on while the other's
// instructions are emulated, so that a thread's time would depend on what the
// other CPU did: single runs differ twofold. For the same reason queues are
// polled by threads: softirq is charged to whichever task it interrupts, else.
package main
