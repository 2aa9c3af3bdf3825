// SPDX-License-Identifier: MIT

// Package baseline holds the data paths on which the kernel copies payload
// between its own memory and the application's: what zero copy is measured
// against.
//
// Receive modes: tcp, tcp-trunc, uring. Send modes: tcp, sendfile, uring, rr.
package baseline
