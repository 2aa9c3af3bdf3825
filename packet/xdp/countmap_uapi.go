// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"structs"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
)

// slot is a cache line of the map of counts: those of a CPU at a place. It is struct counts of
// frames.bpf.c.
type slot struct {
	_ structs.HostLayout
	Counts
	_ [4]uint64
}

// countMap is the map of counts, mapped (BPF_F_MMAPABLE, 5.5): who reads it needs no system call,
// and does not disturb the CPU that counts.
type countMap struct {
	mem   []byte
	slots []slot // places of each CPU
}

// sizeCounts makes room for the places of all CPUs that there may be.
func sizeCounts(m *ebpf.MapSpec) error {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return fmt.Errorf("make room for the counts of each CPU: %w", err)
	}
	m.MaxEntries = uint32(cpus * places)
	return nil
}

// mapCounts maps the counts. It is closed before the map is of no more use.
func mapCounts(m *ebpf.Map) (*countMap, error) {
	n := int(m.MaxEntries())
	mem, err := unix.Mmap(m.FD(), 0, n*int(unsafe.Sizeof(slot{})), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, &fault.Error{Op: "map the counts of an eBPF program into memory", Err: err,
			How: "this needs Linux 5.5 or later"}
	}
	return &countMap{mem, unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(mem))), n)}, nil
}

// read reads what each CPU has counted at a place, by its number. Counters of one CPU are read one
// after another, so two of them may lie some frames apart.
func (m *countMap) read(place int) []Counts {
	all := make([]Counts, len(m.slots)/places)
	for cpu := range all {
		all[cpu] = m.slots[cpu*places+place].load()
	}
	return all
}

// load reads the missed ones first, so they are no more than the frames, of which they are some,
// where what a CPU has stored is seen in that order; see [Counts.Redirected].
func (s *slot) load() (c Counts) {
	c.Missed = atomic.LoadUint64(&s.Missed)
	c.Frames, c.Bytes, c.Others = atomic.LoadUint64(&s.Frames), atomic.LoadUint64(&s.Bytes),
		atomic.LoadUint64(&s.Others)
	return c
}

// close may be called twice, and of none. Nobody may read then.
func (m *countMap) close() {
	if m == nil || m.mem == nil {
		return
	}
	_ = unix.Munmap(m.mem) // cannot fail: it was mapped
	m.mem, m.slots = nil, nil
}
