// SPDX-License-Identifier: MIT

package perf

import (
	"testing"

	"github.com/zcbench/zcbench/machine/counter"
)

// The CPU whose events had least of the counters' time tells for how much of it samples came; of
// threads the events on all CPUs together tell how long they ran.
func TestCounted(t *testing.T) {
	counts := []counter.EventCount{{Value: 5, EnabledNs: 1000, RunningNs: 1000}, {Value: 5, EnabledNs: 1000, RunningNs: 250}, {}}
	var all, threads, none Recording
	all.counted(counts, false)
	threads.counted(counts, true)
	none.counted(nil, false)
	if all.Share != .25 || all.RanNs != 0 || threads.Share != 0 || threads.RanNs != 1250 || none.Share != 1 {
		t.Errorf("%+v; %+v; %+v", all, threads, none)
	}
}

// The kernel says for how long it sampled: CPUs all the time, where nothing else wants their
// counters, and a thread for as long as it ran.
func TestIntegrationCounted(t *testing.T) {
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		t.Fatal(err)
	}
	s := opened(t, Options{CPUs: cpus[:1], Clock: true, Bytes: 1 << 20})
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	burn(1_000_000)
	r, err := s.Stop()
	if err != nil || r.Share < .99 || r.Share > 1 || r.RanNs != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
