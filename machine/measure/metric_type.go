// SPDX-License-Identifier: MIT

package measure

import (
	"slices"
	"strings"
)

// Metric is one named figure of one host in one run: a row of metrics.csv. Where reports
// ask whose figure it is, Name has words in capitals, "cpuidle_cpuN_STATE_cores", and Of
// what stands for them, "3" and "c6"; in the row is the one with the other filled in.
type Metric struct {
	Name    string   `json:"metric"`
	Of      []string `json:"of,omitempty"`
	Unit    string   `json:"unit"` // "bytes", "packets", "s", "1" for a plain number...
	Value   float64  `json:"value"`
	Source  string   `json:"source"`            // where it was read: "TCP_INFO", "/proc/net/snmp"
	Quality string   `json:"quality,omitempty"` // empty is good; else why to doubt it

	// Of a counter, which Value is the growth of: the rate over the time that it was watched, and
	// that over the packets that the end's interface received in it, at a sender sent. Nil: no
	// counter, or not known.
	PerSecond *float64 `json:"per_second,omitempty"`
	PerPacket *float64 `json:"per_packet,omitempty"`
}

// Series is one figure over time: rows of samples.csv. T and V have the same
// length.
type Series struct {
	Name string    `json:"metric"`
	Unit string    `json:"unit"`
	T    []int64   `json:"t_ns"` // since the start of the steady window, nanoseconds; negative before it
	V    []float64 `json:"v"`
}

// Joined words what several interfaces have: once, where it is the same, else joined by "+".
func Joined(all []string) string {
	var out []string
	for _, x := range all {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return strings.Join(out, "+")
}

// Env is what a number depends on besides the cell. Empty means unknown.
type Env struct {
	Hostname    string `json:"hostname,omitempty"`
	BootID      string `json:"boot_id,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	Driver      string `json:"driver,omitempty"`
	Firmware    string `json:"firmware,omitempty"`
	Dev         string `json:"dev,omitempty"`
	Upper       string `json:"upper,omitempty"` // the interface with the flow's address, where that stands on a port
	CPUModel    string `json:"cpu_model,omitempty"`
	CPUs        int    `json:"cpus,omitempty"` // online
	Governor    string `json:"governor,omitempty"`
	Mitigations string `json:"mitigations,omitempty"`
	Congestion  string `json:"congestion,omitempty"` // of the flow's socket, as the kernel reports it
	IRQCPU      string `json:"irq_cpu,omitempty"`    // CPU list that ran NET_RX softirq during the run
	AppCPU      string `json:"app_cpu,omitempty"`    // CPU list of the data-path thread
	// how the receive softirq was put where it ran; empty: left as found
	Placement    string `json:"placement,omitempty"`
	CPUsMeasured string `json:"cpus_measured,omitempty"`
	// of a hybrid processor, that of the flow's CPUs, or all of theirs joined by "+"; empty: all
	// CPUs are alike
	CPUClass    string `json:"cpu_class,omitempty"`
	ToolVersion string `json:"tool_version,omitempty"`
	GoVersion   string `json:"go_version,omitempty"`
	UringEngine string `json:"uring_engine,omitempty"` // that the data path used; empty: none
	// hash of the host's snapshot in the results folder (package environment)
	Environment string `json:"environment,omitempty"`
}
