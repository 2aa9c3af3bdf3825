// SPDX-License-Identifier: MIT

// Package plantest makes the journals of plans up, for tests of what is said of them.
package plantest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Cell is a cell of a plan that was never run: what its runs shall have measured.
type Cell struct {
	plan.Cell // its id follows from its modes where it has none

	Gbps           float64 // 0: its runs gave no number
	Cores, TGCores float64 // busy; 0: not measured
	Watts          float64 // of each host; 0: not measured
	DRAM           float64 // bytes per byte of payload at the receiver; 0: not measured
	Carried        float64 // of them may be of other turns, or in these; 0: there were no turns
	CV             float64 // by which all vary from run to run

	Most int // runs that there are of it; 0: as many as of all

	Verdict     results.Verdict // of runs without a number; "" is unsupported
	Reason, Fix string
	Blocked     bool
	Limit       plan.LimitedBy
	// RXCopied and TXCopied are the percent of the payload that an end copied by its own count;
	// nil: nobody counted.
	RXCopied, TXCopied *float64
	// TXUntold is of how many percent of its payload the sender was not told.
	TXUntold float64
}

// Journal plays cells in blocks of one session on one boot, the first of them the baseline. Equal
// seeds give equal journals.
func Journal(seed uint64, reps int, cells ...Cell) results.Journal {
	rng := rand.New(rand.NewPCG(seed, 22))
	plan := &plan.Origin{Name: "made", Hash: "0", Repetitions: reps}
	j := results.Journal{Header: results.Header{Kind: "zcbench-journal", Schema: results.SchemaVersion,
		ToolVersion: "v0.0.0-made",
		SessionID:   "s", CreatedUTCNs: 1_790_000_000_000_000_000, Plan: plan}}
	for i := range cells {
		if cells[i].ID == "" {
			cells[i].ID = cells[i].RX + "/" + cells[i].TX
		}
		j.Header.Cells = append(j.Header.Cells, cells[i].Cell)
	}
	if len(cells) > 0 {
		plan.Baseline = &j.Header.Cells[0]
	}
	for rep := range reps {
		for i := range cells {
			if cells[i].Most > 0 && rep >= cells[i].Most {
				continue
			}
			r := cells[i].run(rng)
			r.RunID, r.Seq, r.Rep, r.Block = fmt.Sprintf("s-%05d", len(j.Records)), len(j.Records), rep, rep
			j.Records = append(j.Records, r)
		}
	}
	return j
}

func (c *Cell) run(rng *rand.Rand) results.Record {
	r := results.Record{Schema: results.SchemaVersion, SessionID: "s", Cell: c.Cell, Verdict: results.OK,
		Limit: c.Limit}
	r.SUT.Name, r.TG.Name = "netns:a", "netns:b"
	if c.Gbps == 0 {
		r.Verdict, r.Reason, r.Fix, r.Blocked, r.Limit = c.Verdict, c.Reason, c.Fix, c.Blocked, ""
		if r.Verdict == "" {
			r.Verdict = results.Unsupported
		}
		return r
	}
	vary := func(v float64) *float64 {
		if v == 0 {
			return nil
		}
		return new(v * math.Exp(c.CV*rng.NormFloat64()))
	}
	gbps := *vary(c.Gbps)
	if c.PaceRate() > 0 { // it keeps to it, whatever that costs
		gbps = c.Gbps * math.Exp(.1*c.CV*rng.NormFloat64())
	}
	for i, h := range []*results.Host{&r.SUT, &r.TG} {
		h.Env = measure.Env{Hostname: "made", Kernel: "6.18.5", CPUModel: "Example CPU", CPUs: 16, BootID: "boot",
			ToolVersion: "v0.0.0-made"}
		h.ThroughputGbps, h.DurationS, h.Bytes = new(gbps), new(1.0), new(uint64(gbps*1e9/8))
		h.CPUBusyCores, h.PowerW = vary([]float64{c.Cores, c.TGCores}[i]), vary(c.Watts)
		if h.PowerW != nil {
			h.PowerSource, h.PowerScope = "rapl", "package"
		}
		if b := h.CPUBusyCores; b != nil {
			h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores = new(*b*.1), new(*b*.6), new(*b*.3)
		}
		if i == 0 {
			h.DRAMPerByte = vary(c.DRAM)
			if c.Carried > 0 {
				h.CarriedPerByte = new(c.Carried)
			}
		}
		if p := []*float64{c.RXCopied, c.TXCopied}[i]; p != nil {
			copied := uint64(float64(*h.Bytes) * *p / 100)
			h.CopiedBytes, h.ZeroCopyBytes = new(copied), new(*h.Bytes-copied)
		}
		if i == 1 && c.TXUntold > 0 {
			h.TotalBytes = h.Bytes
			h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricUntold, Unit: "bytes",
				Value: float64(*h.Bytes) * c.TXUntold / 100})
		}
	}
	return r
}

// Modes makes a cell of the ends' modes.
func Modes(rx, tx string) plan.Cell { return plan.Cell{RX: rx, TX: tx, Touch: "read"} }
