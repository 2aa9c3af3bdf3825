// SPDX-License-Identifier: MIT

package metrics

import "github.com/zcbench/zcbench/machine/measure"

// run describe what a run tells of its NICs, its data port and its clocks.
var run = []measure.MetricDoc{
	{Names: "nic_provider_bytes nic_kernel_bytes nic_netmem_bytes",
		Units: "bytes", Source: "ethtool -S",
		Meaning: "of `lab demo`, by the NICs' own counters over the whole run: payload that " +
			"the receiver's wrote into memory of a mode and into pages of the kernel; what " +
			"the sender's read from memory that the kernel cannot read"},
	{Names: "strangers",
		Units: "1", Source: "data port",
		Meaning: "connections to the data port that were not the flow"},
	{Names: "clock_offset_uncertainty_ns",
		Units: "ns", Source: "agent round trip",
		Meaning: "of the clock difference between the controller and the agent, before the run"},
}

// siblings describe load beside the CPUs of the flow.
var siblings = []measure.MetricDoc{
	{Names: "sibling_cpuN_busy_cores sibling_cpuN_uncertainty_cores",
		Units: "cores", Source: "/proc/stat",
		Meaning: "load of a CPU that shares its core with one of the flow's, without being one, and " +
			"its uncertainty: what that CPU does takes longer for it"},
}

// rests describe what was measured while nothing ran.
var rests = []measure.MetricDoc{
	{Names: "cpu_idle_poller_cores cpu_idle_rests cpu_idle_s",
		Units: "cores 1 s", Source: "/proc/stat at rest",
		Meaning: "of the rests in which cpu_idle_cores was measured: what the interface's NAPI " +
			"threads used of the measured CPUs, which is not in it; how many rests; how long"},
}

// asleep describes how long threads slept.
var asleep = []measure.MetricDoc{
	{Names: measure.MetricAsleep, Units: "%", Source: "CLOCK_THREAD_CPUTIME_ID; /proc/PID/task/TID/schedstat",
		Meaning: "of the window, in which the threads that move the flows neither ran nor waited for a CPU; mean"},
}

// placed describe where packets were processed, of where they should be.
var placed = []measure.MetricDoc{
	{Names: "placement_flow_share placement_host_share",
		Units: "1", Source: "SO_INCOMING_CPU; /proc/net/softnet_stat",
		Meaning: "share of the flow's packets, and of all, that were processed on the CPU " +
			"that the layout names"},
}

// nodes describe where the memory of the payload is.
var nodes = []measure.MetricDoc{
	{Names: "memory_nodeN_share",
		Units: "1", Source: "move_pages",
		Meaning: "share of the pages that the payload is in, of a sample, on a NUMA node"},
}

// speed describe how fast the link is.
var speed = []measure.MetricDoc{
	{Names: "link_speed_bits_ps", Units: "bit/s", Source: "/sys/class/net/DEV/speed",
		Meaning: "what the driver reports; absent where there is no hardware"},
}

// network describe what the network made of what a cell asked for.
var network = []measure.MetricDoc{
	{Names: "ip_rx_packet_bytes ip_rx_packet_segments ip_tx_packet_bytes",
		Units:  "bytes packets bytes",
		Source: "/proc/net/snmp; /proc/net/netstat; /proc/net/snmp6",
		Meaning: "mean packet size as IP sees it: received, as GRO built them, in bytes and " +
			"in segments of the wire; sent, as TCP made them. Of the namespace, where " +
			"nearly all of its traffic goes one way"},
	{Names: "max_skb_frags_bytes", Units: "bytes", Source: "/proc/sys/net/core/max_skb_frags",
		Meaning: "how much fits into a packet in fragments of a page"},
	{Names: "nic_hw_gro_packets nic_hw_gro_wire_packets", Units: "packets",
		Source:  "netdev qstats-get",
		Meaning: "packets that the NIC merged, and how many on the wire they were (6.9, bnxt, mlx5)"},
	{Names: "nic_interrupts interrupts_per_s nic_busiest_interrupt_per_second", Units: "1 1/s 1/s",
		Source:  "/sys/kernel/irq/N/per_cpu_count; ethtool -S",
		Meaning: "of all the interface's queues, how many and of each second; and of the busiest one"},
	{Names: "nic_split_share", Units: "1", Source: "ethtool -S",
		Meaning: "share of packets whose headers the NIC split off, where `--set header-split=` " +
			"asked for it and the driver counts (mlx5)"},
}
