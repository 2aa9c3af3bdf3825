// SPDX-License-Identifier: MIT

package counter

import "errors"

// Hardware is what processor and memory controllers count. What there is not is nil, or has nothing
// to read.
type Hardware struct {
	PMU  *PMU
	L3   *Uncore
	DRAM *Uncore
	MBM  *MBM
}

// OpenHardware begins to count on some CPUs, nil for all online ones. It never fails.
func OpenHardware(fs FS, cpus []int) *Hardware {
	h := &Hardware{PMU: OpenPMU(fs, cpus), DRAM: OpenDRAM(fs), MBM: OpenMBM(fs, cpus)}
	if h.PMU.Missing[pmuMisses] != "" {
		h.L3 = OpenL3(fs, cpus)
	}
	return h
}

// Read reads all that can be read. What belongs to the CPUs is read next to the window that the
// reading begins, or ends (end).
func (h *Hardware) Read(end bool) (EventCounts, error) {
	if h == nil {
		return nil, nil
	}
	reads := []func() (EventCounts, error){h.MBM.Read, h.DRAM.Read, h.L3.Read, h.PMU.Read}
	out, errs := EventCounts{}, []error(nil)
	for i := range reads {
		if end {
			i = len(reads) - 1 - i
		}
		counts, err := reads[i]()
		errs = append(errs, err)
		for name, c := range counts {
			out[name] = c
		}
	}
	return out, errors.Join(errs...)
}

// Close ends counting.
func (h *Hardware) Close() {
	if h == nil {
		return
	}
	h.PMU.Close()
	h.L3.Close()
	h.DRAM.Close()
	h.MBM.Close()
}

// hardware reports what was counted between two readings, and returns the CPUs' clocks.
func (r *rows) hardware(h *Hardware, b, a EventCounts, wall float64) []cpuClock {
	if h == nil || b == nil || a == nil {
		return nil
	}
	r.pmu(h.PMU.cpus, b, a, wall, h.PMU.llc)
	r.uncore(h.L3, b, a)
	r.uncore(h.DRAM, b, a)
	r.mbm(h.MBM, b, a)
	return clocksOf(h.PMU.cpus, b, a, wall)
}
