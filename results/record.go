// SPDX-License-Identifier: MIT

package results

import (
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// SchemaVersion is the version of the journal and CSV layout written by this
// build. Readers accept every version up to it.
const SchemaVersion = 3

// Verdict says what a run's numbers are worth.
type Verdict string

// The four verdicts. Only OK runs enter statistics.
const (
	OK          Verdict = "ok"
	Unsupported Verdict = "unsupported" // could not run here: Reason says which call refused, Fix what to do
	Invalid     Verdict = "invalid"     // ran, but a gate failed: Reason says which
	Failed      Verdict = "failed"      // an error ended it: Reason is that error
)

// Record is one run of one cell: a line of the journal, behind one with its hosts' metrics
// and series.
type Record struct {
	Schema    int       `json:"schema"`
	RunID     string    `json:"run_id"`     // unique in the journal
	SessionID string    `json:"session_id"` // one invocation of the tool
	Cell      plan.Cell `json:"cell"`
	Block     int       `json:"block"` // interleaving block, from 0
	Seq       int       `json:"seq"`   // position in the session, from 0
	Rep       int       `json:"rep"`   // repetition of the cell, from 0; a warm-up counts apart
	Warmup    bool      `json:"warmup"`
	// Try is which try of its block the run is of, from 1: where something else on the hosts spoilt
	// a run, the whole block is made again. 0: it is of no block, or of an older journal, in which
	// a run was made again alone.
	Try int `json:"try,omitempty"`
	// Start is which start the run was made in, from 1: of the agents, where a session started them
	// several times, or of cells that take turns, for which all is opened anew; 0: there was one.
	Start int `json:"start,omitempty"`

	StartUTCNs int64 `json:"start_utc_ns,omitempty"` // beginning of the steady window, wall clock of the controller

	SUT Host `json:"sut"` // the receiver's host
	TG  Host `json:"tg"`  // the sender's host

	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Fix     string  `json:"fix,omitempty"`
	// Blocked: unsupported, but no feature is missing: what was asked for, or the state of the
	// hosts, is in the way, and the fix is all that it takes.
	Blocked bool `json:"blocked,omitempty"`
	// Expected: invalid, as a run of such modes must be where it was made: the mode says
	// that loopback and veth copy what it sends.
	Expected bool           `json:"expected,omitempty"`
	Gate     plan.GateClass `json:"gate,omitempty"`  // invalid: the kind of gate that it did not pass
	Limit    plan.LimitedBy `json:"limit,omitempty"` // what kept it from being faster; empty: not known
	Warnings []string       `json:"warnings,omitempty"`

	Turns    *Turns    `json:"turns,omitempty"`     // nil: the run was made by itself
	LossFree *LossFree `json:"loss_free,omitempty"` // where the cell looks for a rate; of the run that ended the search

	Source string   `json:"source,omitempty"` // where a published figure was published; empty for runs of our own
	Flags  []string `json:"flags,omitempty"`  // short machine-readable marks, such as "shared-machine"

	Attached Attached `json:"-"` // what lies beside the journal, see [Writer.Attach]
}

// Host is one end's half of a run. Nil figures were not measured.
type Host struct {
	Name string      `json:"name,omitempty"`
	Env  measure.Env `json:"env"`

	// length of the steady window on this host's clock, seconds
	DurationS      *float64 `json:"duration_s,omitempty"`
	Bytes          *uint64  `json:"bytes,omitempty"`           // payload bytes in the steady window
	TotalBytes     *uint64  `json:"total_bytes,omitempty"`     // payload bytes of the whole flow
	ThroughputGbps *float64 `json:"throughput_gbps,omitempty"` // 1e9 bits of payload per second

	CPUAppCores  *float64 `json:"cpu_app_cores,omitempty"`  // user and nice; 1.0 = one CPU fully busy
	CPUSysCores  *float64 `json:"cpu_sys_cores,omitempty"`  // system
	CPUSoftCores *float64 `json:"cpu_soft_cores,omitempty"` // softirq and irq
	CPUBusyCores *float64 `json:"cpu_busy_cores,omitempty"` // wall - d(idle) - d(iowait)
	IOWaitCores  *float64 `json:"iowait_cores,omitempty"`
	// CPUBusyU is the standard uncertainty of CPUBusyCores, cores. CPUIdleCores is what the
	// measured CPUs were busy with in the rests before and after, without the flow's
	// pollers. CPUPollerCores is what kernel threads that poll for the flow (threaded
	// NAPI) used, on whatever CPU: all of it is in CPUBusyCores.
	CPUBusyU       *float64 `json:"cpu_busy_uncertainty_cores,omitempty"`
	CPUIdleCores   *float64 `json:"cpu_idle_cores,omitempty"`
	CPUIdleU       *float64 `json:"cpu_idle_uncertainty_cores,omitempty"`
	CPUPollerCores *float64 `json:"cpu_poller_cores,omitempty"`
	StatCoverage   *float64 `json:"stat_coverage,omitempty"` // sum of the /proc/stat columns / wall; 1.0 is right

	// of the measured CPUs that were busy, at the end of the window, mean
	CPUMHz   *float64 `json:"cpu_mhz,omitempty"`
	CPUTempC *float64 `json:"cpu_temp_c,omitempty"` // of the hottest CPU package, then

	FlowMHz       *float64 `json:"flow_mhz,omitempty"`        // of the flow's CPUs over the window, while not idle
	CyclesPerByte *float64 `json:"cycles_per_byte,omitempty"` // of the measured CPUs, per byte of payload
	// Of the measured CPUs, too: instructions and misses of the last-level cache per kB of 1000
	// bytes of payload, and instructions per cycle.
	InstructionsPerKB *float64 `json:"instructions_per_kb,omitempty"`
	IPC               *float64 `json:"ipc,omitempty"`
	LLCMissesPerKB    *float64 `json:"llc_misses_per_kb,omitempty"`
	// Bytes per byte of payload: that the machine's memory controllers read and wrote, and that
	// CPUs moved between caches and memory (resctrl). In turns both are off by at most
	// CarriedPerByte, either way: lines that caches kept from one cell's turn to another's.
	DRAMPerByte    *float64 `json:"dram_bytes_per_byte,omitempty"`
	MBMPerByte     *float64 `json:"mbm_bytes_per_byte,omitempty"`
	CarriedPerByte *float64 `json:"carried_bytes_per_byte,omitempty"`

	PowerW      *float64 `json:"power_w,omitempty"`
	PowerIdleW  *float64 `json:"power_idle_w,omitempty"`
	PowerSource string   `json:"power_source,omitempty"`
	// how much of the machine the source sees: "package", "board", "wall"...
	PowerScope string `json:"power_scope,omitempty"`
	// Standard uncertainties, watts: of PowerW; of PowerW - PowerIdleW; and the part of
	// the first that all figures of the instrument have in common.
	PowerU       *float64 `json:"power_uncertainty_w,omitempty"`
	PowerNetU    *float64 `json:"power_net_uncertainty_w,omitempty"`
	PowerSharedU *float64 `json:"power_shared_uncertainty_w,omitempty"`
	// PowerIdleDrift is difference of idle power before and after, relative to their mean.
	PowerIdleDrift *float64 `json:"power_idle_drift,omitempty"`

	ZeroCopyBytes *uint64 `json:"zero_copy_bytes,omitempty"`
	CopiedBytes   *uint64 `json:"copied_bytes,omitempty"`
	LinearBytes   *uint64 `json:"linear_bytes,omitempty"`
	Mismatches    *uint64 `json:"mismatches,omitempty"` // payload bytes that differ; nil unless touch is verify
	Retrans       *uint64 `json:"retrans,omitempty"`    // segments, from TCP_INFO
	RXDrops       *uint64 `json:"rx_drops,omitempty"`   // packets, interface and softnet

	// PacketsPerS is how many packets, datagrams or frames, there were of each second of the steady
	// window, of modes that move such; Packets is what became of all of them.
	PacketsPerS *float64 `json:"packets_per_s,omitempty"`
	Packets     *Packets `json:"packets,omitempty"`

	Path *AlongPath `json:"along_path,omitempty"` // at the receiver's, where the cell names a path

	Delivery *Delivery `json:"delivery,omitempty"` // of a paced flow's receiver
	Wants    *Wants    `json:"wants,omitempty"`    // of a receiver that takes queues over

	// Back is the other way of a host that sends and receives at once (both): what the SUT sent and
	// the TG received.
	Back *Way `json:"back,omitempty"`

	// Then is what the SUT passed on, and what of it came back to the TG (then).
	Then *Way `json:"then,omitempty"`

	// Of objects (docs/packets.md): those that became whole in the window, and of them those that
	// were not when the next of their flow was due. Delivery has their times.
	Objects     *uint64 `json:"objects,omitempty"`
	ObjectsLate *uint64 `json:"objects_late,omitempty"`

	Transactions *uint64 `json:"transactions,omitempty"` // requests that were answered, of round trips
	// Of the end that asks by packets: requests that were given up for want of an answer, and
	// answers that came for such, or came again.
	TransactionsLost *uint64 `json:"transactions_lost,omitempty"`
	AnswersLate      *uint64 `json:"answers_late,omitempty"`
	RoundTrip        *Times  `json:"round_trip,omitempty"` // of the end that asks: from a request to its answer

	Steps *Steps `json:"steps,omitempty"` // of it, where each request has a connection

	Flows   []Flow  `json:"flows,omitempty"`   // in the order of their numbers
	Threads int     `json:"threads,omitempty"` // that moved them; 0: not known
	Probes  *Probes `json:"probes,omitempty"`  // what probes saw; nil: none ran

	Metrics []measure.Metric `json:"metrics,omitempty"`
	Series  []measure.Series `json:"series,omitempty"`
	// Idle are the names of metrics that would be 0: counters that were read at both edges of the
	// window and did not move, and levels of nothing; folded ([Fold]).
	Idle []string `json:"idle,omitempty"`
}

// Flow is one flow's part of a host's figures, in the steady window. Nil figures were not
// measured.
type Flow struct {
	CPU            *int     `json:"cpu,omitempty"`         // of the thread that moved it; nil: not pinned
	SoftirqCPU     *int     `json:"softirq_cpu,omitempty"` // that the flow's softirq ran on; nil: not known
	Queue          *int     `json:"queue,omitempty"`       // RX queue that it was to come by
	Dev            string   `json:"dev,omitempty"`         // interface, where the end has several
	Landed         *int     `json:"landed,omitempty"`      // RX queue that it came by, where the driver reports it
	Bytes          *uint64  `json:"bytes,omitempty"`
	ThroughputGbps *float64 `json:"throughput_gbps,omitempty"`
	CPUS           *float64 `json:"cpu_s,omitempty"` // CPU time of its thread, user and system, seconds
	ZeroCopyBytes  *uint64  `json:"zero_copy_bytes,omitempty"`
	CopiedBytes    *uint64  `json:"copied_bytes,omitempty"`
	Retrans        *uint64  `json:"retrans,omitempty"` // segments, from TCP_INFO
	Verdict        Verdict  `json:"verdict,omitempty"` // of this flow at this end
	Reason         string   `json:"reason,omitempty"`
	// what kept this flow from being faster, see [Record].Limit; of the SUT's half
	Limit plan.LimitedBy `json:"limit,omitempty"`

	// What the limit is found by: how much of the window its thread ran or wanted to, of one
	// CPU; and of a sender, the shares in which the receiver's window and its own buffer held
	// it up, that in which it had data under way, and whether the application had given it too
	// little to send when the window ended.
	ThreadCores *float64 `json:"thread_cores,omitempty"`
	// of the NAPI thread of its queue; nil: none, or one that busy-polls
	PollerCores   *float64 `json:"poller_cores,omitempty"`
	RwndLimited   *float64 `json:"rwnd_limited,omitempty"`
	SndbufLimited *float64 `json:"sndbuf_limited,omitempty"`
	TCPBusy       *float64 `json:"tcp_busy,omitempty"`
	AppLimited    *bool    `json:"app_limited,omitempty"`
	// on which at least a tenth of the looks found the flow's softirq, in order; nil: not known
	SoftirqCPUs []int `json:"softirq_cpus,omitempty"`
}
