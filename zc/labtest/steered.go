// SPDX-License-Identifier: MIT

package labtest

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// Steered runs zcbench with a receive mode that takes no queue over, to a queue that is named,
// with header split on, and off if much is asked for, and gathering: the flow comes by that queue,
// every byte of it arrives, the receiver has gathered, and the device is as it was afterwards.
func Steered(t *testing.T, rx string) {
	Need(t)
	for _, split := range []string{"on", "off"}[:long.Rounds(1, 2)] {
		t.Run("split "+split, func(t *testing.T) {
			h := measured(t, rx, "--queue", "2", "--header-split", split, "--gather", "100us", "--rx-buffer", "hot").SUT
			if h.Mismatches == nil || *h.Mismatches != 0 || h.Bytes == nil || *h.Bytes == 0 {
				t.Errorf("%v bytes, mismatches %v", h.Bytes, h.Mismatches)
			}
			for name, want := range map[string]float64{"steered_queue": 2, "flow_queue": 2, "gather_us": 100} {
				if got := metric(h, name); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			if n := metric(h, "gather_waits"); n < 1 {
				t.Errorf("it gathered %v times", n)
			}
			if metric(h, "memory_nodeN_share") < 0 && holds(rx) {
				t.Error("it is not known on which NUMA nodes the payload's memory is")
			}
		})
	}
}

// holds reports whether a receive mode has memory for the payload that this process has mapped.
func holds(rx string) bool { return rx == "tcp" || rx == "uring" }

// metric looks up a host's metric; -1: there is none.
func metric(h results.Host, name string) float64 {
	if i := slices.IndexFunc(h.Metrics, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
		return h.Metrics[i].Value
	}
	return -1
}

// Gathers runs zcbench with a receive mode that gathers: it does, and all arrives without a copy.
func Gathers(t *testing.T, rx string) {
	Need(t)
	h := measured(t, rx, "--gather", "100us").SUT
	if h.Bytes == nil || *h.Bytes == 0 || h.CopiedBytes == nil || *h.CopiedBytes != 0 || h.Mismatches == nil ||
		*h.Mismatches != 0 {
		t.Errorf("%v bytes, %v copied, mismatches %v", h.Bytes, h.CopiedBytes, h.Mismatches)
	}
	if us, n := metric(h, "gather_us"), metric(h, "gather_waits"); us != 100 || n < 1 {
		t.Errorf("it gathered for %v us, %v times", us, n)
	}
}
