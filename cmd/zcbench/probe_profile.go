// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/profile/perf"
)

// sampleCosts measures what a sample of the probe profile costs the CPU that it interrupts, on all
// CPUs at the rate of runs; and by a clock, where the kernel tells, what the timer interrupt that
// brings it costs. It writes to said what it cannot tell.
func sampleCosts(ctx context.Context, d time.Duration, said io.Writer) (costs []bpf.Cost, err error) {
	cpus, err := counter.OnlineCPUs(counter.FS{})
	if err != nil {
		return nil, err
	}
	s, err := perf.Open(perf.Options{CPUs: cpus})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Start(); err != nil {
		return nil, err
	}
	measure := func(w *bpf.Sampled) error {
		c, err := w.Measure(ctx, d/2, len(cpus))
		if err == nil {
			costs = append(costs, c)
		}
		return errors.Join(err, w.Close())
	}
	w, err := bpf.OpenSampled(s.Event.Nanoseconds)
	if err != nil {
		return nil, err
	}
	if err := measure(w); err != nil || !s.Event.Nanoseconds {
		return costs, err
	}
	if w, err = bpf.OpenSampledInterrupt(); err != nil {
		fmt.Fprintf(said, "zcbench: %v\n", err)
		return costs, nil
	}
	return costs, measure(w)
}
