// SPDX-License-Identifier: MIT

// Package nopreempt keeps the Go runtime from taking a data path's thread away every 10 ms.
//
// The runtime asks each goroutine that has run for so long to let others run (retake of
// runtime/proc.go, Go 1.26), also where nobody waits. One that is bound to its thread pays dearly:
// it hands its P, the right to run Go code, to another thread, and sleeps until that one hands it
// back (stoplockedm, startlockedm). These are two wake-ups, often between CPUs, up to 50 times a
// second; on a busy machine the flow stands still for milliseconds. Round trips show it: p99.9 over
// veth was 0.70 of what it is without this package, the longest half. GODEBUG=asyncpreemptoff=1
// does not help: it is asked all the same, where a function begins.
//
// Each data path has a P of its own beside those of everything else, so nobody waits for it.
package nopreempt

import _ "unsafe" // for go:linkname

// Keeper belongs to a thread of a data path. The zero value is ready.
type Keeper struct{ calls uint32 }

// every is how many calls a request of the runtime's waits for, at most. A collection of garbage
// needs all threads for a moment: it asks each 100 us or more often (stopTheWorldWithSema,
// suspendG), with a signal that ends a sleep, and so has each thread within some milliseconds.
// (With GODEBUG=asyncpreemptoff=1 there is no signal: then it waits for as many sleeps.) What comes
// once in 10 ms gets through once in so many times.
const every = 16

// Absorb passes over that the runtime has asked this goroutine to let others run. It comes right
// after a system call, during which a data path nearly always has been asked, before any function
// that may notice. It costs some 3 ns. The request itself stays noted (gp.preempt): what takes a
// lock of the runtime's, such as a channel, a timer or new memory, renews it (releasem, unlock2).
// Where a later runtime does otherwise, the goroutine lets others run, as any does.
//
//go:nosplit
//go:norace
func (k *Keeper) Absorb() {
	if k.calls++; k.calls%every == 0 {
		return
	}
	// A goroutine that must not be stopped is not, and where a function begins it is then not asked
	// a second time (newstack of runtime/stack.go: canPreemptM).
	procPin()
	begin()
}

// begin begins as any function does that calls another one: by looking whether it is to stop.
//
//go:noinline
//go:norace
func begin() { procUnpin() }

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
