// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// The reading of the GPU that has the payload is named, and no other's.
func TestAreaPower(t *testing.T) {
	for area, want := range map[string]float64{"cuda:0000:C1:00.0": 70, "cuda:0000:41:00.0": 30, "cuda": 0, "udmabuf": 0, "": 0,
		"cuda:0000:99:00.0": 0, "fd:echo 0000:41:00.0": 0} {
		h := &results.Host{Metrics: []measure.Metric{{Name: "power_nvml_w", Unit: "W", Value: 100, Source: "nvml"},
			{Name: "power_nvml_gpu0_w", Unit: "W", Value: 30, Source: "nvml 0000:41:00.0"},
			{Name: "power_nvml_gpu1_w", Unit: "W", Value: 70, Source: "nvml 0000:c1:00.0"}}}
		areaPower(h, areaOf(plan.Cell{Area: "udmabuf", TXArea: area}, ends.TG))
		var got float64
		for _, m := range h.Metrics {
			if m.Name == "power_area_gpu_w" {
				got += m.Value
			}
		}
		if got != want {
			t.Errorf("%s: %v W, want %v", area, got, want)
		}
	}
	if a := areaOf(plan.Cell{Area: "cuda", TXArea: "heap"}, ends.SUT); a != "cuda" {
		t.Errorf("the receiver's is %q", a)
	}
}
