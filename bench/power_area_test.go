// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// The reading of the GPU that has the payload is named, and no other's: also where nobody named the
// GPU, and zcbench took the nearest.
func TestAreaPower(t *testing.T) {
	for where, want := range map[string]float64{"0000:c1:00.0 behind one PCIe switch (0000:c0:00.0): T1000": 70,
		"0000:41:00.0: T1000": 30, "0000:41:00.0": 30, "0000:99:00.0": 0, "npu0": 0, "": 0} {
		h := &results.Host{Metrics: []measure.Metric{{Name: "power_nvml_w", Unit: "W", Value: 100, Source: "nvml"},
			{Name: "power_nvml_gpu0_w", Unit: "W", Value: 30, Source: "nvml 0000:41:00.0"},
			{Name: "power_nvml_gpu1_w", Unit: "W", Value: 70, Source: "nvml 0000:c1:00.0"}}}
		if where != "" {
			h.Metrics = append(h.Metrics, measure.Metric{Name: "area_device_bytes", Unit: "bytes",
				Value: 1 << 26, Source: where})
		}
		areaPower(h)
		var got float64
		for _, m := range h.Metrics {
			if m.Name == "power_area_gpu_w" {
				got += m.Value
			}
		}
		if got != want {
			t.Errorf("%s: %v W, want %v", where, got, want)
		}
	}
}
