// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
)

// countersOutput is what `zcbench counters --json` prints after each interval.
type countersOutput struct {
	At       string          `json:"at"`        // the end of the interval, RFC 3339
	Seconds  float64         `json:"seconds"`   // its length
	Dev      string          `json:"dev"`       // empty: none
	Packets  *packetsOutput  `json:"packets"`   // of the interface in the interval; null: none
	Took     readingCost     `json:"reading"`   // what it took to read them
	New      int             `json:"came"`      // counters that were not there before
	Gone     int             `json:"went"`      // and that are not there any more
	Counters []counterOutput `json:"counters"`  // that moved, or all
	Missing  []missingOutput `json:"uncounted"` // what this kernel, driver or namespace does not count
}

type packetsOutput struct {
	RX float64 `json:"rx"`
	TX float64 `json:"tx"`
}

type readingCost struct {
	WallNs int64 `json:"wall_ns"`
	CPUNs  int64 `json:"cpu_ns"`
}

type counterOutput struct {
	Area      string   `json:"area"`
	Counter   string   `json:"counter"` // as it is called where it is kept
	Metric    string   `json:"metric"`  // its row in metrics.csv
	Unit      string   `json:"unit"`
	Delta     int64    `json:"delta"`
	PerSecond *float64 `json:"per_second,omitempty"` // not of levels, nor of what fell
	Level     bool     `json:"level,omitempty"`      // it rises and falls
	Value     uint64   `json:"value"`
	Doubt     string   `json:"doubt,omitempty"` // why not to trust the delta
}

type missingOutput struct {
	Area string `json:"area"`
	Why  string `json:"why"`
}

func countersReport(f *countersFlags, d *tally.Diff, now *tally.Reading, shown []tally.Change) countersOutput {
	o := countersOutput{At: time.Now().UTC().Format(time.RFC3339Nano), Seconds: d.Seconds, Dev: f.dev, New: d.New,
		Gone: d.Gone,
		Took: readingCost{now.TookNs, now.CostNs}, Counters: []counterOutput{}, Missing: []missingOutput{}}
	if rx, tx, ok := d.Packets(); ok {
		o.Packets = &packetsOutput{rx, tx}
	}
	for _, x := range shown {
		c := counterOutput{Area: x.Area, Counter: plaintext.Line(x.Name), Metric: x.Metric, Unit: x.Unit,
			Delta: x.Delta,
			Level: x.Kind == measure.Gauge, Value: x.Value, Doubt: x.Flag}
		if !c.Level && c.Doubt == "" && d.Seconds > 0 {
			c.PerSecond = new(float64(x.Delta) / d.Seconds)
		}
		o.Counters = append(o.Counters, c)
	}
	for _, g := range now.Gaps {
		o.Missing = append(o.Missing, missingOutput{g.Area, g.Err.Error()})
	}
	return o
}
