// SPDX-License-Identifier: MIT

package results

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
)

// Marks of runs. What each means, and what to do about it, is in [Marks], which also has those of
// [plan.Limits] and of package power.
const (
	FlagSharedMachine      = "shared-machine"
	FlagSharedCPU          = "shared-cpu"
	FlagSoftirqBy          = "softirq-by-" // and the means
	FlagCrowded            = "crowded-cpu"
	FlagSiblings           = "smt-siblings"
	FlagBusySibling        = "busy-sibling"
	FlagMixedClasses       = "mixed-cpu-classes"
	FlagOtherNode          = "other-node"
	FlagUpper              = "over-" // and the kind of interface
	FlagManaged            = "managed-link"
	FlagARPFlux            = "arp-flux"
	FlagPolled             = "threaded-napi"
	FlagOffPace            = "off-pace"
	FlagCalibration        = "calibration"
	FlagTrial              = "trial"
	FlagInert              = "inert-" // and the option
	FlagProfileDiffers     = "profile-differs"
	FlagDropsUnattributed  = "drops-unattributed"
	FlagPacketsUnaccounted = "packets-unaccounted"
	FlagSuperPackets       = "super-packets"
	FlagNotQuiet           = "not-quiet"
	FlagUnsaturated        = "unsaturated"
	FlagHelpers            = "cpumap-thread"
	FlagCPUMissing         = "cpu-missing"
	FlagForeignUnknown     = "foreign-unknown"
	FlagDisturbed          = "disturbed"
	FlagMixedScopes        = "power-mixed-scopes"
	FlagSharedPower        = "shared-power"
)

// Mark is what a flag of a run means. Runs with marks count, but for those that are
// [FlagDisturbed].
type Mark struct {
	Flag  string // what stands in capitals differs: inert-OPTION
	Means string
	Do    string // about it; "": nothing
	Page  string // of docs, with more about it
	// Common: a newcomer meets it. Alone: no warning comes with it, so reports say what it means.
	Common, Alone bool
}

// Marks are all flags that a run can have. The tables of docs, the cell of flags in
// docs/columns.md, the notes of reports and `zcbench explain` are made of them.
var Marks = []Mark{
	{Flag: "throughput_cv", Means: "the throughput of the cell's runs varies by more than 2 %",
		Do: "quiet hosts, longer runs", Page: "gates.md", Common: true},
	{Flag: "cpu_cv", Means: "the busy cores of the cell's runs vary by more than 3 %, at either end",
		Do: "quiet hosts, longer runs", Page: "gates.md", Common: true},
	{Flag: "drift", Means: "the later runs are faster or slower than the earlier ones",
		Do: "let the hosts warm up", Page: "gates.md", Common: true},
	{Flag: "temperature_c", Means: "the CPU temperature of the cell's runs differs by more than 10 K",
		Do: "warm-up runs, rests, enough cooling", Page: "gates.md"},
	{Flag: plan.FrequencyGate, Means: "the flow's CPUs ran at another frequency than in most of the cell's runs",
		Do: "governor performance, no turbo, enough cooling", Page: "comparable.md", Common: true},
	{Flag: "retrans_per_gb", Means: "packets were lost on the way: more than 10 segments per GB were sent again",
		Do: "buffers, rings, flow control", Page: "gates.md", Common: true},
	{Flag: "drops_per_gb", Means: "packets were lost on the way: the receiver dropped more than 10 per GB",
		Do: "buffers, rings, flow control", Page: "gates.md", Common: true},
	{Flag: "coverage", Means: "the columns of /proc/stat do not cover the time as `gates.coverage` asks",
		Do: "measure longer, or boot without nohz_full; busy cores do not depend on it", Page: "gates.md"},
	{Flag: "counters", Means: "reading the counters took more than 1 % of the CPU time", Do: "longer windows",
		Page: "gates.md", Common: true},
	{Flag: plan.FlagUnfair, Means: "the flows did not share alike: Jain's index is below the gate `fairness`",
		Do:   "see flows.csv: flows that share queues or CPUs, lost packets, or run on a distant NUMA node",
		Page: "gates.md"},
	{Flag: plan.FlagStarved, Means: "a flow had less than 10 % of its fair share",
		Do:   "see flows.csv: flows that share queues or CPUs, lost packets, or run on a distant NUMA node",
		Page: "gates.md"},
	{Flag: FlagInert + "OPTION", Means: "an option of the cell had no effect: a comparison says nothing of it",
		Do: "the warning says why and what it takes; `doctor` has what the driver can", Page: "gates.md"},

	{Flag: FlagCPUMissing, Means: "the CPU time of an end could not be read, or not surely",
		Do: "measure where /proc/stat can be read", Page: "sources.md"},
	{Flag: FlagForeignUnknown, Means: "the CPU time of an end could be read, but not how much of it was others'",
		Do: "measure where the times of threads can be read", Page: "sources.md"},
	{Flag: FlagSharedMachine, Means: "both ends ran on one machine; CPU figures are those of each end's own CPUs",
		Do: "two hosts", Page: "hosts-reference.md", Common: true, Alone: true},
	{Flag: FlagSharedCPU, Means: "both ends ran on one machine, and on one CPU or not pinned: their CPU figures " +
		"cannot be told apart and are left out", Do: "pin them to different CPUs (--cpus, --tg-cpus)",
		Page: "hosts-reference.md"},
	{Flag: FlagSoftirqBy + "irq", Means: "the layout was made by the affinity of interrupts",
		Page: "hosts-reference.md", Alone: true},
	{Flag: FlagSoftirqBy + "rps", Means: "the layout was made by RPS, because the interface has no interrupts: " +
		"the driver's own poll stays where it was", Do: "a NIC with interrupts, if that matters",
		Page: "hosts-reference.md"},
	{Flag: FlagSoftirqBy + "napi-thread", Means: "the layout was made by pinning the kernel threads that poll the " +
		"queues", Page: "hosts-reference.md"},
	{Flag: FlagCrowded, Means: "an end's softirq must share a CPU with the other end, which is then charged for it",
		Do: "name CPUs with --cpus or --tg-cpus, if the machine has any left; two hosts", Page: "hosts-reference.md"},
	{Flag: FlagSiblings, Means: "CPUs of the flow share a core, because there were no better ones",
		Do: "name the CPUs; a host with more cores, or without SMT", Page: "hosts-reference.md"},
	{Flag: FlagBusySibling, Means: "the other thread of the core of one of the flow's CPUs was busy",
		Do: "keep other work off it (cpusets, affinities of interrupts), or switch SMT off", Page: "hosts-reference.md",
		Common: true},
	{Flag: FlagMixedClasses, Means: "fast and small cores of a hybrid processor served one run",
		Do: "name the CPUs", Page: "hosts-reference.md", Common: true},
	{Flag: FlagOtherNode, Means: "CPUs of another NUMA node than the interface's had to do",
		Do: "fewer flows, or leave --node any out", Page: "hosts-reference.md"},
	{Flag: FlagUpper + "KIND", Means: "the flow's address is on an interface on top of the port: `over-vlan`, " +
		"`over-bond`, ...", Page: "hosts-reference.md"},
	{Flag: FlagManaged, Means: "a network manager manages the interface, of which the run set something",
		Do: "`zcbench doctor` says how to stop that", Page: "hosts-reference.md"},
	{Flag: FlagARPFlux, Means: "other ports answer for the addresses of the flow's, which may take one of them",
		Do: "a network of its own for each port, or arp_ignore 1 and arp_announce 2", Page: "hosts-reference.md"},
	{Flag: FlagPolled, Means: "kernel threads polled an interface of the flow, and their CPU time is in the flow's",
		Page: "power.md"},

	{Flag: FlagOffPace, Means: "the delivered rate is more than 1 % from pace_bits_ps",
		Do: "a pace that both ends can hold", Page: "matrix.md"},
	{Flag: FlagCalibration, Means: "not paced: paces in percent refer to it", Page: "matrix.md", Alone: true},
	{Flag: FlagTrial, Means: "of a search for the highest rate without loss", Page: "packets.md", Alone: true},
	{Flag: FlagProfileDiffers, Means: "its samples and the accounting of CPU time disagree on how busy the CPUs " +
		"were", Do: "do not read shares of that profile", Page: "profile.md"},
	{Flag: FlagDropsUnattributed, Means: "segments of the flow were lost, and nothing shows where",
		Do: "look between the hosts: the switch's counters", Page: "probes.md"},
	{Flag: FlagPacketsUnaccounted, Means: "datagrams or frames were lost, and no counter shows where",
		Do: "look between the hosts: the switch's counters", Page: "packets.md"},
	{Flag: FlagSuperPackets, Means: "a packet of the link carried several datagrams or frames, so none was a packet",
		Do: "over veth, --udp-segmentation off", Page: "packets.md"},
	{Flag: FlagNotQuiet, Means: "of packets: a hypervisor took 0.5 % or more of a measured CPU, or other work 1 %",
		Do: "end other work, or keep it off these CPUs; a machine without a hypervisor", Page: "xdp.md"},
	{Flag: FlagUnsaturated, Means: "1/packets_per_s is not what a packet costs: the receiver had time left, or " +
		"shared its CPU", Do: "a faster sender; read cpu_busy_cores", Page: "packets.md"},
	{Flag: FlagHelpers, Means: "cpu_poller_cores has the time of the thread behind a cpumap", Page: "xdp.md"},

	{Flag: power.FlagMissing, Means: "the first power source has no figure",
		Do: "the run's warnings say why", Page: "power.md", Alone: true},
	{Flag: power.FlagSlow, Means: "the first power source does not follow the load within the guard, and has no " +
		"figure", Do: "a longer --power-guard, or a faster meter", Page: "power.md", Alone: true},
	{Flag: power.FlagResponse, Means: "nothing tells how fast the first power source follows the load, so there " +
		"is no power above idle", Do: "say it: `averages=1s` of a fast meter", Page: "power.md", Alone: true},
	{Flag: power.FlagIdleDrift, Means: "idle power before and after differ by more than the gate allows",
		Do: "a longer --power-guard, warm-up runs, fans at a fixed speed", Page: "power.md", Alone: true},
	{Flag: power.FlagNoIdle, Means: "idle power was not measured both before and after",
		Do: "--power-idle of 2 readings and more", Page: "power.md", Alone: true},
	{Flag: power.FlagShortGuard, Means: "--power-guard was below 10 s, so readings may still have been settling",
		Do: "--power-guard 10s", Page: "power.md", Alone: true},
	{Flag: power.FlagSkew, Means: "the hosts' clocks agree to no better than 50 ms, so power and payload may be " +
		"of unlike times", Do: "NTP or PTP on the hosts", Page: "power.md", Alone: true},
	{Flag: FlagMixedScopes, Means: "the ends' power is of unlike scope, such as package and wall, so there is no " +
		"total", Do: "the same kind of source at both ends", Page: "power.md", Alone: true},
	{Flag: FlagSharedPower, Means: "one instrument saw both ends: each row has the power of both, and totals " +
		"count it once", Do: "an instrument for each end, if they are two machines", Page: "power.md", Alone: true},

	{Flag: FlagDisturbed, Means: "something else on the hosts spoilt it: it does not count, and may be made " +
		"again, with its block",
		Do: "the reason says what did", Page: "gates.md"},
}

// MarkOf finds what a flag means; nil: no version of this build's sets it.
func MarkOf(flag string) *Mark {
	i := slices.IndexFunc(Marks, func(m Mark) bool {
		form := strings.TrimRight(m.Flag, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		return m.Flag == flag || form != m.Flag && form != flag && strings.HasPrefix(flag, form)
	})
	if i < 0 {
		return nil
	}
	return &Marks[i]
}

// OfGate reports whether the mark is named after the gate whose limit the run exceeds.
func (m *Mark) OfGate() bool {
	return slices.ContainsFunc(plan.Limits, func(l plan.Limit) bool { return l.Key == m.Flag })
}

// markWords says of all marks what they mean, for the cell of the column flags.
func markWords() string {
	words, gates := "", []string{}
	for i := range Marks {
		m := &Marks[i]
		if m.OfGate() {
			gates = append(gates, "`"+m.Flag+"`")
			continue
		}
		words += "`" + m.Flag + "`: " + m.Means
		if i+1 == len(Marks) || Marks[i+1].Page != m.Page {
			words += " (docs/" + m.Page + ")"
		}
		words += "; "
	}
	return "short marks, by which `zcbench explain` says what to do: " + words + "of a run that counts, the gates " +
		"whose limits it exceeds: " + strings.Join(gates, ", ") + " (docs/gates.md)"
}
