// SPDX-License-Identifier: MIT

// Package handover has another program make memory and hand it over: a dmabuf, by SCM_RIGHTS.
// [Start] is zcbench's side, [Serve] that of a program of ours. docs/memory.md tells the protocol
// to whoever writes another one.
//
// Messages are lines on a socket of kind SOCK_SEQPACKET, which the program has as descriptor 3:
//
//	memory 1 SIZE                       with a memfd that both can map, for copies
//	    dmabuf SIZE OFFSET COPIES PLACE     with the dmabuf; COPIES is 0 or 1, PLACE a PCI address or -
//	                                    and in a second line, if it likes, its name for people
//	read OFFSET N [OFFSET N]...         bytes from the memory to the memfd, one piece behind the other
//	write OFFSET N [OFFSET N]...        and the other way
//	    ok
//
// To each the program may answer "error WHY", and in a second line what to do. It ends when the
// socket does.
package handover

import "time"

const (
	// FD is the program's descriptor of the socket.
	FD = 3
	// CopyBytes is the size of the memory by which bytes are copied.
	CopyBytes = 1 << 20
	// MostPieces is how many pieces one request copies.
	MostPieces = 90

	version = 1
	mostMsg = 4096 // bytes of a message
)

// What a program's answers may take; shorter in tests.
var (
	makesWithin  = time.Minute // a GPU's driver may have to wake it
	copiesWithin = 20 * time.Second
	endsWithin   = 5 * time.Second
)
