// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"structs"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
)

// rawCPU is struct cpu of tasks.bpf.c.
type rawCPU struct {
	_                                structs.HostLayout
	Done                             uint64
	First, Last                      uint64
	Ns                               [counter.TaskClasses * counter.TaskContexts]uint64
	Hard, Turns, Softs, Polls, Hards [counter.TaskClasses]uint64
	Stolen                           [counter.TaskClasses]uint64
	Rests, Steal                     uint64
	HardAt                           uint64
	Class, Context                   uint32
	Key, Slice                       uint64
	Name                             [16]byte
	Net                              uint64
	NetName                          [16]byte
	Tasks                            [8]rawRow
	Devs                             [4]rawRow
	Polling                          rawPolling
	Begun                            uint64
}

type rawRow struct {
	Key, Ns, Before uint64
	Name            [16]byte
}

// torn reports whether a program changed the record while it was copied. Where the CPUs do not keep
// the order of stores, the sum of all time tells more of such.
func (r *rawCPU) torn() bool {
	var sum uint64
	for _, n := range r.Ns {
		sum += n
	}
	return r.Done != r.Begun || sum != r.Last-r.First
}

// records are those of all CPUs, mapped (BPF_F_MMAPABLE): who reads them needs no system call.
type records struct {
	mem  []byte
	each int // bytes
}

func mapRecords(m *ebpf.Map) (*records, error) {
	r := &records{each: int(m.ValueSize())}
	if r.each < int(unsafe.Sizeof(rawCPU{})) {
		return nil, errors.New("the times of a CPU are not as the eBPF program has them")
	}
	var err error
	if r.mem, err = unix.Mmap(m.FD(), 0, int(m.MaxEntries())*r.each, unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, &fault.Error{Op: "map the times of CPUs into memory", Err: err,
			How: "this needs Linux 5.5 or later"}
	}
	return r, nil
}

// read copies the record of a CPU, at a time, or returns that it changed too fast.
func (r *records) read(cpu int, to *rawCPU) (now int64, ok bool) {
	if r == nil || r.mem == nil || cpu < 0 || (cpu+1)*r.each > len(r.mem) {
		return 0, false
	}
	from := (*rawCPU)(unsafe.Pointer(&r.mem[cpu*r.each]))
	for range mostCopies {
		done := atomic.LoadUint64(&from.Done)
		now = counter.Monotonic()
		*to = *from
		to.Done, to.Begun = done, atomic.LoadUint64(&from.Begun)
		if to.First == 0 || !to.torn() {
			return now, true
		}
	}
	return 0, false
}

// close may be called twice, and of none. Nobody may read then.
func (r *records) close() {
	if r == nil || r.mem == nil {
		return
	}
	_ = unix.Munmap(r.mem) // cannot fail: it was mapped
	r.mem = nil
}
