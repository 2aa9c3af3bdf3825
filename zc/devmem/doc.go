// SPDX-License-Identifier: MIT

// Package devmem is the receive and the send mode devmem: devmem TCP (receive
// Linux 6.12, send 6.16; Documentation/networking/devmem.rst). Payload is in a
// dmabuf that the NIC is bound to, and sockets speak of it by offsets.
//
// # Receive
//
// The [Receiver] takes an RX queue over, as package nicqueue says, and binds it to
// memory sized by the NIC's ring. recvmsg with MSG_SOCK_DEVMEM tells by control
// messages where payload is; each piece has a token by which it goes back
// (SO_DEVMEM_DONTNEED), in batches.
//
// # The proof
//
// Payload in the dmabuf comes with control messages, one a piece; payload in a
// packet's linear part, which the kernel copies, with control messages of another
// kind; payload that came by another queue with none at all. So every byte is one
// of zero-copied, linear and copied by the kernel's own word.
//
// # Send
//
// The [Sender] binds its payload to the interface that the flow leaves by and
// sends offsets of it. The kernel notifies as of MSG_ZEROCOPY when it lets go.
package devmem
