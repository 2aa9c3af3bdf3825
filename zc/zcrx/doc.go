// SPDX-License-Identifier: MIT

// Package zcrx is the receive modes zcrx and zcrx-nodev: io_uring zero-copy
// receive (Linux 6.15, io_uring/zcrx.c). The NIC writes payload into memory of
// the application, which gets told where by completions and gives each piece
// back through a refill ring.
//
// # The queue
//
// The mode zcrx takes over one RX queue of the NIC. [New] switches header split
// on, keeps the queue free of other flows, and registers the memory; then the
// flow says hello on an ordinary queue, where it can be read, and
// [Receiver.Attach] steers it to the queue. [Receiver.Close] takes all of that
// back in reverse order and waits until the queue has its own memory again. What
// a killed process leaves behind are header split, RSS table and rule: the
// kernel itself only frees the queue.
//
// The mode zcrx-nodev (ZCRX_REG_NODEV, 7.1) has no queue: the same interface,
// but the kernel copies all payload into the memory. It works over any
// interface and says that it copies.
//
// Several rings can share a queue ([stream.Rings], 6.19): the first ring's receiver takes it over,
// and the others import it, on threads of their own or in processes ([process]). What they have
// together is a [share], and in memory a [board]. The NIC's memory can grow ([growth], 7.3).
//
// # The proof
//
// A kernel that counts (7.2) tells how many bytes it had to copy from packets
// that came by another queue; before, the flow's bytes count by the queue that
// its packets were last seen on (SO_INCOMING_NAPI_ID). Payload in the linear part
// of a packet is copied too, and no kernel counts it: header split is read back
// after the flow to exclude it. [Receiver.Evidence] tells what was seen.
package zcrx
