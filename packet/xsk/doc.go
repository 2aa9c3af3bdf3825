// SPDX-License-Identifier: MIT

// Package xsk is sockets of AF_XDP for receiving: frames that an XDP program redirects come into
// memory that the application shares with the kernel (UMEM), by a ring of descriptors, and their
// memory goes back by another ring (Documentation/networking/af_xdp.rst). The kernel copies them
// there, or the NIC writes them there itself: which of the two is asked for explicitly, and read
// back, so that one never becomes the other.
//
// Nothing here allocates once a socket is open, and no call tells the Go scheduler of itself.
package xsk
