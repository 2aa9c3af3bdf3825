// SPDX-License-Identifier: MIT

package perf

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// Sample is where a CPU was at a moment. Its slices are the caller's until the next sample.
type Sample struct {
	AtNs     int64 // CLOCK_MONOTONIC
	CPU      int
	PID, TID int    // 0, 0: the idle task
	Period   uint64 // what the sample stands for: nanoseconds or cycles ([Event])
	// Kernel and User are addresses, the innermost first. The very first of both is where the
	// CPU was; all others are addresses that calls return to.
	Kernel, User []uint64
}

// Tally is what records said besides samples.
type Tally struct {
	Samples   uint64
	Lost      uint64 // the ring was full
	Left      uint64 // the memory for all samples was full
	Throttled uint64 // how often the kernel paused an event that took too long
	Odd       uint64 // records of another form than asked for
}

// maxChain is the most addresses that are taken of a sample; kernel.perf_event_max_stack is 127
// unless somebody raised it.
const maxChain = 4096

// decoder reads records one after another.
type decoder struct {
	rest   []byte
	tally  Tally
	sample Sample
}

// each calls f with the samples in records.
func each(data []byte, f func(*Sample)) (Tally, error) {
	d := decoder{rest: data}
	for len(d.rest) > 0 {
		if len(d.rest) < headerLen {
			return d.tally, fmt.Errorf("samples end in the middle of a record: %d bytes", len(d.rest))
		}
		kind, misc := binary.NativeEndian.Uint32(d.rest), binary.NativeEndian.Uint16(d.rest[4:])
		size := int(binary.NativeEndian.Uint16(d.rest[6:]))
		if size < headerLen || size > len(d.rest) {
			return d.tally, fmt.Errorf("a record of %d bytes where there are %d", size, len(d.rest))
		}
		body := d.rest[headerLen:size]
		d.rest = d.rest[size:]
		switch kind {
		case unix.PERF_RECORD_SAMPLE:
			if !d.read(body, misc) {
				d.tally.Odd++
				continue
			}
			d.tally.Samples++
			f(&d.sample)
		case unix.PERF_RECORD_LOST: // u64 id, u64 lost
			if len(body) >= 16 {
				d.tally.Lost += binary.NativeEndian.Uint64(body[8:])
			}
		case unix.PERF_RECORD_THROTTLE:
			d.tally.Throttled++
		}
	}
	return d.tally, nil
}

// What a record's misc says of the CPU's mode (PERF_RECORD_MISC_CPUMODE_MASK).
const (
	modeMask   = 7
	modeKernel = 1
	modeUser   = 2
)

// read reads a sample: ip, pid and tid, time, cpu, period, callchain (perf_output_sample of
// kernel/events/core.c).
func (d *decoder) read(b []byte, misc uint16) bool {
	const fixed = 8 + 8 + 8 + 8 + 8 + 8
	if len(b) < fixed {
		return false
	}
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	s := &d.sample
	ip := u64(b)
	s.PID, s.TID = int(int32(u32(b[8:]))), int(int32(u32(b[12:])))
	s.AtNs, s.CPU, s.Period = int64(u64(b[16:])), int(int32(u32(b[24:]))), u64(b[32:])
	n, chain := u64(b[40:]), b[fixed:]
	if n > maxChain || n*8 > uint64(len(chain)) {
		return false
	}
	s.Kernel, s.User = s.Kernel[:0], s.User[:0]
	d.chain(chain[:n*8])
	if len(s.Kernel)+len(s.User) > 0 {
		return true
	}
	switch misc & modeMask { // a sample without a stack
	case modeKernel:
		s.Kernel = append(s.Kernel, ip)
	case modeUser:
		s.User = append(s.User, ip)
	}
	return true
}

// chain sorts the addresses by the marks between them (enum perf_callchain_context); those of a
// guest of this machine are nobody's here.
func (d *decoder) chain(b []byte) {
	const firstMark = ^uint64(4094) // PERF_CONTEXT_MAX
	mark := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		switch a := binary.NativeEndian.Uint64(b); {
		case a >= firstMark:
			mark = a
		case int64(mark) == unix.PERF_CONTEXT_KERNEL:
			d.sample.Kernel = append(d.sample.Kernel, a)
		case int64(mark) == unix.PERF_CONTEXT_USER:
			d.sample.User = append(d.sample.User, a)
		}
	}
}
