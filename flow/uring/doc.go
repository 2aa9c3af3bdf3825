// SPDX-License-Identifier: MIT

// Package uring is the ring: an io_uring instance, its memory, and all of the
// unsafe code that these need. It speaks to the kernel through plain system
// calls and follows include/uapi/linux/io_uring.h.
//
// A [Ring] is used like this: [Ring.GetSQE] hands out a submission queue entry,
// one of its methods fills it, [Ring.Submit], [Ring.SubmitAndGetEvents] or
// [Ring.SubmitAndWait] gives it to the kernel, and [Ring.CQReady], [Ring.CQEAt]
// and [Ring.Advance] take the completions. Received bytes come in the buffers
// of a [BufRing], or without a copy in the area of a [Zcrx]. [Probe] finds out what the running
// kernel can do by doing it.
//
// # Engines
//
// The ring itself (set up, mapped, submitted to, waited on, peeked at) is the
// work of an [Engine]: this package's own, or giouring where it is built in. What
// is built on it is the same code, and one table of tests runs on each.
//
// # Threads
//
// A Ring is used by one goroutine at a time. A ring with Options.SingleIssuer
// belongs to one OS thread: every call but Close, Overflow and the like must come
// from the thread that called [New], or, with Options.Disabled, from the thread
// that called [Ring.Enable]; from another one the kernel answers EEXIST. A
// registered ring descriptor (Options.RegisterFD) belongs to its thread as well.
// The caller holds the thread with runtime.LockOSThread.
//
// # Memory
//
// What a request points at must not move and must live until its completion:
// use [NewMemory], whose bytes lie outside of the Go heap, never a Go slice.
//
// # The hot path
//
// Filling, submitting, waiting and reaping allocate nothing. Submit and
// SubmitAndGetEvents never sleep. The native engine does not tell the Go scheduler
// of its calls, also not of sleeping in SubmitAndWait; giouring does of all.
//
// The oldest kernel is 5.11 (waiting with a timeout). What needs a newer one
// says so.
package uring
