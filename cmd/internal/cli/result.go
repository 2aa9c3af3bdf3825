// SPDX-License-Identifier: MIT

package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// EndReport is what zcrecv and zcsend print with --json. Absent fields, and those
// that are null, were not measured: an end that never had a flow has no duration.
type EndReport struct {
	Tool         string          `json:"tool"`
	Version      string          `json:"tool_version"`
	Role         stream.Role     `json:"role"`
	Mode         string          `json:"mode"`
	Verdict      results.Verdict `json:"verdict"`
	Reason       string          `json:"reason,omitempty"`
	Fix          string          `json:"fix,omitempty"`
	MessageBytes int             `json:"message_bytes"` // that the sender hands over in one call
	// of a receiver that the kernel copies to, for each flow
	RXBufferBytes  int              `json:"rx_buffer_bytes,omitempty"`
	Bytes          uint64           `json:"bytes"`
	PeerBytes      *uint64          `json:"peer_bytes,omitempty"`
	DurationS      *float64         `json:"duration_s"`
	ThroughputGbps *float64         `json:"throughput_gbps"`
	BackBytes      *uint64          `json:"back_bytes,omitempty"` // the other way, with --both
	BackGbps       *float64         `json:"back_throughput_gbps,omitempty"`
	Then           *results.Way     `json:"then,omitempty"` // what was passed on, came back, or was written
	CPUUserS       *float64         `json:"cpu_user_s"`     // of the process, over the flow
	CPUSysS        *float64         `json:"cpu_sys_s"`
	CPUSPerGB      *float64         `json:"cpu_s_per_gb,omitempty"` // 1e9 bytes
	ZeroCopyBytes  *uint64          `json:"zero_copy_bytes,omitempty"`
	CopiedBytes    *uint64          `json:"copied_bytes,omitempty"`
	LinearBytes    *uint64          `json:"linear_bytes,omitempty"`
	Mismatches     *uint64          `json:"mismatches,omitempty"`
	Retrans        *uint64          `json:"retrans,omitempty"`
	Transactions   *uint64          `json:"transactions,omitempty"` // requests that were answered
	PerSecond      *float64         `json:"transactions_per_s,omitempty"`
	CPUUsPerTrip   *float64         `json:"cpu_us_per_transaction,omitempty"` // of the process
	RoundTrip      *results.Times   `json:"round_trip,omitempty"`             // of the end that asks
	Calls          uint64           `json:"calls"`
	Congestion     string           `json:"congestion,omitempty"`
	UringEngine    string           `json:"uring_engine,omitempty"`
	Strangers      uint64           `json:"strangers"`
	Warnings       []string         `json:"warnings,omitempty"`
	Threads        int              `json:"threads,omitempty"` // that moved the flows
	Flows          []endFlow        `json:"flows,omitempty"`
	Metrics        []measure.Metric `json:"metrics,omitempty"`

	onward string // what was done with payload, for people
}

// endFlow is one flow of an end that ran on its own.
type endFlow struct {
	N int `json:"flow"` // its number
	results.Flow
}

// newEndReport makes the report of one end that ran on its own; sorted: its bytes are
// sorted into copied and not copied.
func newEndReport(tool string, s wire.EndSpec, r wire.EndResult, sorted bool) EndReport {
	rep := EndReport{Tool: tool, Version: version.Tool(), Role: s.Role, Mode: s.Mode(), Verdict: r.Verdict,
		Reason: r.Reason, Fix: r.Fix,
		MessageBytes: s.Cell.MessageBytes, Bytes: r.Total.Bytes, PeerBytes: r.PeerBytes,
		Calls: r.Total.Calls, Congestion: r.Host.Env.Congestion, UringEngine: r.Host.Env.UringEngine,
		Strangers: r.Strangers, Warnings: r.Warnings,
		Retrans: r.Host.Retrans, Threads: r.Host.Threads, Metrics: r.Host.Rows()}
	if m, err := modes.Find(s.Role, s.Mode()); err == nil && m.Has(stream.Buffered) {
		rep.RXBufferBytes = cmp.Or(provided(rep.Metrics), s.Cell.RXBuffer, s.Cell.MessageBytes)
	}
	for n, f := range r.Host.Flows {
		rep.Flows = append(rep.Flows, endFlow{n, f})
	}
	if r.FlowNs == 0 {
		return rep // there was no flow
	}
	seconds, gbps := float64(r.FlowNs)/1e9, float64(rep.Bytes)*8/float64(r.FlowNs)
	rep.DurationS, rep.ThroughputGbps, rep.CPUUserS, rep.CPUSysS = &seconds, &gbps, &r.ProcUserS, &r.ProcSysS
	if rep.Bytes > 0 {
		c := (r.ProcUserS + r.ProcSysS) / (float64(rep.Bytes) / 1e9)
		rep.CPUSPerGB = &c
	}
	if r.BackNs > 0 {
		rep.BackBytes, rep.BackGbps = &r.BackBytes, new(float64(r.BackBytes)*8/float64(r.BackNs))
	}
	if rep.onward = "passed on"; s.Cell.WritesTo() != "" {
		rep.onward = "written"
	}
	if t := r.Host.Then; t != nil { // the host's window ends later than the flow, whose rate stands beside it
		way := *t
		way.ThroughputGbps = float64(way.Bytes) * 8 / float64(r.FlowNs)
		rep.Then = &way
	}
	if n := r.Host.Transactions; n != nil {
		rep.Transactions, rep.PerSecond, rep.RoundTrip = &r.Total.Transactions,
			new(float64(r.Total.Transactions)/seconds), r.Host.RoundTrip
		if *n > 0 {
			rep.CPUUsPerTrip = new((r.ProcUserS + r.ProcSysS) * 1e6 / float64(r.Total.Transactions))
		}
	}
	if sorted {
		rep.ZeroCopyBytes, rep.CopiedBytes = &r.Total.ZeroCopyBytes, &r.Total.CopiedBytes
		if r.Linear {
			rep.LinearBytes = &r.Total.LinearBytes
		}
	}
	if s.Cell.Touch == string(stream.TouchVerify) {
		rep.Mismatches = &r.Total.Mismatches
	}
	return rep
}

// provided computes what the buffers of the mode uring hold together, of one flow; 0: it was
// another mode.
func provided(ms []measure.Metric) int {
	buffers, each := 0.0, 0.0
	for _, m := range ms {
		switch name := m.Named(); {
		case name == "uring_buffers", name == measure.FlowMetric(0, "uring_buffers"):
			buffers = m.Value
		case name == "uring_buffer_bytes", name == measure.FlowMetric(0, "uring_buffer_bytes"):
			each = m.Value
		}
	}
	return int(buffers * each)
}

// Print writes the report for people, or as JSON, and returns the exit status
// that belongs to it.
func (r EndReport) Print(out, stderr io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	} else {
		r.text(out)
	}
	if r.Verdict == results.OK {
		return nil
	}
	fmt.Fprintf(stderr, "%s: %s: %s\n", r.Tool, r.Verdict, r.Reason)
	if r.Fix != "" {
		fmt.Fprintf(stderr, "  fix: %s\n", r.Fix)
	}
	return Quiet(Failed)
}

func (r EndReport) text(out io.Writer) {
	fmt.Fprintf(out, "%-12s ", r.Mode)
	if r.Transactions != nil {
		r.trips(out)
	} else {
		r.speed(out)
	}
	if r.CPUSPerGB != nil && r.Transactions == nil {
		fmt.Fprintf(out, "  cpu %.3f s/GB (user %.2f s, sys %.2f s)", *r.CPUSPerGB, *r.CPUUserS, *r.CPUSysS)
	}
	if r.Retrans != nil && *r.Retrans > 0 {
		fmt.Fprintf(out, "  retransmits %d", *r.Retrans)
	}
	if r.CopiedBytes != nil {
		copied := *r.CopiedBytes
		if r.LinearBytes != nil {
			copied += *r.LinearBytes
		}
		fmt.Fprintf(out, "  zero copy %.2f GB, copied %.2f GB", float64(*r.ZeroCopyBytes)/1e9, float64(copied)/1e9)
	}
	if r.Mismatches != nil {
		fmt.Fprintf(out, "  verified, %d bytes wrong", *r.Mismatches)
	}
	if r.UringEngine != "" && r.UringEngine != string(uring.Native) {
		fmt.Fprintf(out, "  io_uring engine %s", r.UringEngine)
	}
	fmt.Fprintf(out, "  %s\n", r.Verdict)
	if len(r.Flows) > 1 {
		fmt.Fprintf(out, "  %d flows, moved by %d thread%s\n", len(r.Flows), r.Threads,
			map[bool]string{false: "s"}[r.Threads == 1])
		for _, f := range r.Flows {
			f.text(out)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "  note: %s\n", w)
	}
}

func (f endFlow) text(out io.Writer) {
	fmt.Fprintf(out, "  flow %-5d ", f.N)
	if f.ThroughputGbps != nil {
		fmt.Fprintf(out, "%8.2f Gbit/s", *f.ThroughputGbps)
	}
	if f.CPU != nil {
		fmt.Fprintf(out, "  CPU %d", *f.CPU)
	}
	if f.Queue != nil {
		fmt.Fprintf(out, "  RX queue %d", *f.Queue)
	}
	if f.CPUS != nil {
		fmt.Fprintf(out, "  thread %.2f s", *f.CPUS)
	}
	if f.Retrans != nil && *f.Retrans > 0 {
		fmt.Fprintf(out, "  retransmits %d", *f.Retrans)
	}
	fmt.Fprintf(out, "  %s\n", f.Verdict)
}

// trips prints how many round trips there were, what they cost, and for the end that asks how long
// they took.
func (r EndReport) trips(out io.Writer) {
	fmt.Fprintf(out, "%8.0f transactions/s  %d in %v", *r.PerSecond, *r.Transactions,
		time.Duration(*r.DurationS*1e9).Round(time.Millisecond))
	if t := r.RoundTrip; t != nil && t.MaxUs != nil {
		fmt.Fprintf(out, "  p50 %.1f us, p90 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us", *t.P50Us, *t.P90Us,
			*t.P99Us, *t.P999Us, *t.MaxUs)
	}
	if r.CPUUsPerTrip != nil {
		fmt.Fprintf(out, "  cpu %.2f us each", *r.CPUUsPerTrip)
	}
}

func (r EndReport) speed(out io.Writer) {
	if r.ThroughputGbps == nil {
		fmt.Fprintf(out, "%8s Gbit/s  no flow", "-")
		return
	}
	digits := 2
	if r.Bytes > 0 && *r.ThroughputGbps < 0.1 {
		digits = 6 // a paced flow
	}
	fmt.Fprintf(out, "%8.*f Gbit/s  %.*f GB in %v", digits, *r.ThroughputGbps, digits, float64(r.Bytes)/1e9,
		time.Duration(*r.DurationS*1e9).Round(time.Millisecond))
	if r.BackGbps != nil {
		fmt.Fprintf(out, "  the other way %.*f Gbit/s", digits, *r.BackGbps)
	}
	if r.Then != nil {
		fmt.Fprintf(out, "  %s %.*f Gbit/s", r.onward, digits, r.Then.ThroughputGbps)
	}
}
