// SPDX-License-Identifier: MIT

package counter

import "fmt"

// Softirqs holds the NET_RX and NET_TX columns of /proc/softirqs since boot, by
// position among the possible CPUs, which is the CPU's number on every machine
// whose CPUs are numbered without gaps. NET_RX counts softirq runs, not packets,
// and misses threaded NAPI and busy polling.
type Softirqs struct {
	NetRX, NetTX []uint64
}

// ReadSoftirqs reads /proc/softirqs (fs/proc/softirqs.c).
func ReadSoftirqs(fs FS) (Softirqs, error) {
	p, err := fs.procfs()
	if err != nil {
		return Softirqs{}, fmt.Errorf("read softirqs: %w: mount /proc", err)
	}
	s, err := p.Softirqs()
	if err != nil {
		return Softirqs{}, fmt.Errorf("read softirqs: %w", err)
	}
	if len(s.NetRx) == 0 {
		return Softirqs{}, fmt.Errorf("read softirqs: no NET_RX line: the kernel has no network")
	}
	return Softirqs{NetRX: s.NetRx, NetTX: s.NetTx}, nil
}

// SoftirqDelta is one CPU's softirq runs between two readings.
type SoftirqDelta struct {
	CPU          int
	NetRX, NetTX uint64
}

// SoftirqsBetween compares two readings. The kernel's counters are 32 bits wide
// and may wrap once.
func SoftirqsBetween(before, after Softirqs) []SoftirqDelta {
	var out []SoftirqDelta
	for c := range min(len(before.NetRX), len(after.NetRX)) {
		d := SoftirqDelta{CPU: c, NetRX: wrap32(before.NetRX[c], after.NetRX[c])}
		if c < len(before.NetTX) && c < len(after.NetTX) {
			d.NetTX = wrap32(before.NetTX[c], after.NetTX[c])
		}
		out = append(out, d)
	}
	return out
}

// wrap32 is the growth of a counter that the kernel keeps in 32 bits.
func wrap32(before, after uint64) uint64 { return uint64(uint32(after) - uint32(before)) }
