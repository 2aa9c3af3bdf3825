// SPDX-License-Identifier: MIT

// Package datagram has the modes that move datagrams by UDP, and what carries their flows. Cookie,
// hello, welcome, end and farewell go by a TCP connection to the data port, as those of a stream
// do. The datagrams go between the addresses and ports that this connection has: both ends know
// them then, and nobody else's datagrams come to the receiver's socket, which is connected.
//
// A datagram begins with its sequence number and a tag that only the two ends can make. The rest
// is the payload's pattern of a place that follows from the number, so that nothing of it has to
// be written anew for each datagram.
package datagram
