// SPDX-License-Identifier: MIT

// Command versus compares zcrecv and zcsend with iperf3, neper and netperf, or with another build
// of themselves: one flow or several over a veth pair of two network namespaces, the same CPUs,
// buffers, congestion control and duration, runs interleaved in ABBA order. It needs root and
// the tools. docs/versus.md and docs/versus-packets.md have the user's side. Its commands small and
// xdp compare round trips and small datagrams with netperf and iperf3, and the XDP modes with
// xdp-bench.
//
// The yardstick is the same for all tools. Throughput is bytes and time as the receiver reports
// them, held against what the kernel counted at the receiver's interface. CPU time is that of the
// processes, from their start to their end, as the kernel accounts it to the parent (wait4), and
// that of the softirqs outside of them (loadOf), per byte that the kernel counted.
package main
