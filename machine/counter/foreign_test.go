// SPDX-License-Identifier: MIT

package counter

import "testing"

func TestForeign(t *testing.T) {
	one := func(busy, soft, steal float64) OneCPUUsage {
		return OneCPUUsage{CPU: 1, CPUFigures: CPUFigures{BusyCores: &busy, SoftCores: &soft, StealCores: &steal,
			UncertaintyCores: 0.005}}
	}
	unsplit := one(0.5, 0, 0)
	unsplit.SoftCores = nil
	tests := []struct {
		name         string
		cpu          OneCPUUsage
		pinned, roam float64
		low, high    float64
		quality      string
	}{
		{"own thread alone", one(0.90, 0, 0), 0.90, 0, 0, 0, ""},
		{"intruder", one(0.93, 0, 0), 0.70, 0, 0.23, 0.23, "foreign load 0.23 cores on CPU 1"},
		{"softirq within the thread", one(0.90, 0.30, 0), 0.90, 0, 0, 0, ""},
		{"softirq from idle", one(0.90, 0.30, 0), 0.60, 0, 0, 0.30,
			"possible foreign load 0.00 to 0.30 cores on CPU 1"},
		{"softirq and intruder", one(0.90, 0.30, 0), 0.40, 0, 0.20, 0.50, "foreign load 0.20 cores on CPU 1"},
		{"stolen is not foreign for sure", one(0.90, 0, 0.2), 0.70, 0, 0, 0.20,
			"possible foreign load 0.00 to 0.20 cores on CPU 1"},
		{"roaming own thread", one(0.20, 0, 0), 0, 0.20, 0, 0.20, "possible foreign load 0.00 to 0.20 cores on CPU 1"},
		{"below the threshold", one(0.024, 0, 0), 0, 0, 0.024, 0.024, ""},
		{"split unknown", unsplit, 0.1, 0, 0, 0.4, "possible foreign load 0.00 to 0.40 cores on CPU 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			threads := []ThreadDelta{{CPU: 1, RunNs: int64(tt.pinned * 2e9)}, {CPU: -1, RunNs: int64(tt.roam * 2e9)},
				{CPU: 0, RunNs: 1e9}}
			got := foreign(CPUUsage{WallS: 2, PerCPU: []OneCPUUsage{tt.cpu}}, threads, 0)[0]
			value(t, "low", got.LowCores, tt.low)
			value(t, "high", got.HighCores, tt.high)
			if got.Quality != tt.quality {
				t.Errorf("quality %q, want %q", got.Quality, tt.quality)
			}
		})
	}
	// A thread that waits 20000 times a second makes the idle task work.
	waiting := []ThreadDelta{{CPU: 1, RunNs: 1e9, Voluntary: 40000}}
	if f := foreign(CPUUsage{WallS: 2, PerCPU: []OneCPUUsage{one(0.56, 0, 0)}}, waiting, 0)[0]; *f.LowCores != 0 ||
		f.Quality != "possible foreign load 0.00 to 0.06 cores on CPU 1" {
		t.Errorf("waiting thread: low %v, %q", *f.LowCores, f.Quality)
	}
	off := foreign(CPUUsage{WallS: 2, PerCPU: []OneCPUUsage{{CPU: 3, Flags: []string{"CPU 3 is not online"}}}}, nil,
		0.5)[0]
	if off.LowCores != nil || off.Quality != "foreign load on CPU 3 not measured: CPU 3 is not online" {
		t.Errorf("offline: %+v", off)
	}
}
