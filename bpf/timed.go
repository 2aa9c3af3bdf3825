// SPDX-License-Identifier: MIT

package bpf

import "github.com/cilium/ebpf"

// Timed is how often the kernel has timed each eBPF program of the machine, by
// the program's id. It does so only while somebody has bpf_stats on.
type Timed map[ebpf.ProgramID]uint64

// ReadTimed asks the kernel. Without CAP_SYS_ADMIN it tells nothing: nil.
func ReadTimed() Timed {
	t := Timed{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			break // ENOENT: that was the last
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // it has gone meanwhile
		}
		if st, err := p.Stats(); err == nil {
			t[id] = st.RunCount
		}
		p.Close()
	}
	return t
}

// Since reports whether the kernel timed any run between two readings: then bpf_stats was on, and
// slowed what runs eBPF programs.
func (t Timed) Since(earlier Timed) bool {
	for id, n := range t {
		if n > earlier[id] {
			return true
		}
	}
	return false
}
