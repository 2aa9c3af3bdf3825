// SPDX-License-Identifier: MIT

// Package sock is the system-call layer of the socket data paths: calls on one
// non-blocking TCP socket that neither allocate nor involve the Go scheduler,
// and the socket options that a flow needs.
//
// Calls that cannot sleep go through RawSyscall: a normal Syscall that takes
// longer than about 20 us lets the runtime hand the thread's P away, which
// costs a receive loop more than a tenth of its throughput. The only call here
// that may sleep is [Wait]; it goes through the normal Syscall, because a
// thread that sleeps while it holds a P stalls the garbage collector.
package sock
