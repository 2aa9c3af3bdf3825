// SPDX-License-Identifier: MIT

// Command versus compares zcrecv and zcsend with iperf3: one flow over a veth
// pair of two network namespaces, the same pinning, buffers, congestion control
// and duration, runs interleaved in ABBA order. It needs root and iperf3.
//
// The yardstick is the same for both tools: bytes and time as the receiver
// reports them, and the CPU time of the receiver's whole process, from its start
// to its end, as the kernel accounts it to the parent (wait4).
package main
