// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

func (r *run) startSampler() {
	if r.end.spec.SampleMs == 0 {
		return
	}
	cpus := len(r.end.spec.MeasureCPUs)
	if cpus == 0 {
		online, _ := counter.OnlineCPUs(counter.FS{}) // the sampler says what is wrong
		cpus = len(online)
	}
	length := duration(r.stopNs()-r.startNs) + time.Second
	wish := time.Duration(r.end.spec.SampleMs) * time.Millisecond
	interval := sampleInterval(wish, length, cpus)
	if interval != wish {
		r.warnings = append(r.warnings, fmt.Sprintf(
			"sampling every %v instead of %v: samples of %d CPUs over %v would not fit",
			interval, wish, cpus, length))
	}
	s, err := counter.StartSampler(counter.SamplerConfig{CPUs: r.end.spec.MeasureCPUs,
		Interval: interval, Bytes: r.end.Progress, Expect: length})
	if err != nil {
		r.warnings = append(r.warnings, "no time series: "+err.Error())
		return
	}
	r.sampler = s
}

// mostPoints of all series together are what an answer has room for (wire.MaxLine),
// if each has 40 bytes and the run takes a quarter longer.
const mostPoints = 300_000

// sampleInterval returns the interval that was wished for, or a longer one where the series of that
// many CPUs, and two of the flow, would be too long.
func sampleInterval(wish, length time.Duration, cpus int) time.Duration {
	least := length / mostPoints * time.Duration(cpus+2)
	if least <= wish {
		return wish
	}
	return least.Truncate(time.Millisecond) + time.Millisecond
}
