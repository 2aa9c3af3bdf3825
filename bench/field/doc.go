// Field compares zero-copy receive of zcbench with the C programs of the field
// that do the same: liburing's zcrx example, kperf, the kernel's ncdevmem.
//
// It runs in the lab's guest (make bench-lab), where all of them share a machine,
// a kernel and a NIC. Runs alternate in blocks, ABC CBA, so that a drift of the
// machine favours nobody. Every program is judged by the same evidence: bytes are
// those that the NIC wrote into memory of a provider, CPU time is what the
// scheduler gave the receiving process and its children, both between two moments
// of a steady flow. Nobody looks at the payload. The lab runs it with clocks that
// count instructions (zcbench lab exec --count-time), so that what else the host
// does changes nothing; a nanosecond is an instruction then, of all processors
// together, not time of a real one.
package main
