// SPDX-License-Identifier: MIT

// Package perf samples what CPUs, or a process's threads, execute: where they are, and who called
// that, kernel and user stack (perf_event_open(2)). Samples lie in a ring of each CPU, which is
// emptied every 100 ms into memory that was set aside before; they are read when all is over.
//
// Nothing here knows names: package symbol gives them, package profile adds samples up.
package perf
