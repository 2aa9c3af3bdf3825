// SPDX-License-Identifier: MIT

// Package handover has memory of a device from another program: what links the vendor's library
// cannot be static, and hardware that zcbench does not know may have a program of its own.
//
// The program inherits a socket as descriptor 3 (AF_UNIX, SOCK_SEQPACKET). Each packet is one
// message of text, of at most [MaxMessage] bytes. zcbench asks, the program answers each
// question with one message, in order:
//
//	open SIZE              with a descriptor by SCM_RIGHTS: the window
//	    memory OFFSET SIZE [PLACE [NAME]]      with a descriptor: the dmabuf
//	read OFFSET LENGTH     copy so many bytes of the memory, from OFFSET, to the window's begin
//	    done
//	write OFFSET LENGTH    copy so many bytes from the window's begin to the memory, at OFFSET
//	    done
//
// Instead of any of these answers it may say
//
//	refused WHY            and, after a newline, what to do about it
//
// Numbers are decimal. The window is a memfd of [Window] bytes that cannot shrink or grow, for the
// program to map: payload passes through it, and no LENGTH is longer. The answer's OFFSET is where
// in the dmabuf the memory begins, its SIZE is at least what was asked for; OFFSET of read and
// write counts from the memory's begin. PLACE is the PCI address of the device, or "-". NAME is for
// people. After read the bytes in the window are those that a device had written before the
// question came. A program that cannot copy refuses read and write.
//
// When the socket ends, the program frees the memory and ends. It is killed when zcbench ends,
// however that happens.
package handover

import "time"

const (
	// FD is the program's end of the socket.
	FD = 3
	// MaxMessage is the longest message.
	MaxMessage = 4096
	// Window is how many bytes can be copied at once.
	Window = 1 << 20
	// MaxSize is the most memory that can be asked for.
	MaxSize = 1 << 40

	opening = 60 * time.Second // a vendor's library may have to wake the device
	copying = 20 * time.Second // of one window
	ending  = 5 * time.Second  // after the socket's end, before it is killed
)
