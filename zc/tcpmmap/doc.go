// SPDX-License-Identifier: MIT

// Package tcpmmap is the receive mode tcp-mmap: TCP_ZEROCOPY_RECEIVE (Linux 4.18,
// net/ipv4/tcp.c), by which the kernel maps the pages that payload came in into a
// window of the application's memory, instead of copying.
//
// It works on any TCP socket, and maps only payload that fills pages of its own:
// fragments of exactly a page from its beginning, not part of a larger block of
// pages or of the page cache. That wants a NIC that splits headers from payload
// into buffers of a page, and segments of a page (MTU 4148 for IPv4 with TCP
// timestamps) or hardware GRO. What lies between is received by copying. The
// bytes mapped and the bytes copied are the proof, and
// [Receiver.Evidence] says what kept the kernel from mapping and what to set.
//
// Where the interface is named and can split headers, [New] switches that on for
// the flow, and Close switches it off again.
package tcpmmap
