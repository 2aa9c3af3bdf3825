// SPDX-License-Identifier: MIT

package measure

// MetricSections are all metrics: docs/metrics.md is made of them, and tests hold the rows of
// real runs against them. Words in capitals stand for what differs: N is a number.
var MetricSections = []MetricSection{
	{"The flow", "", []MetricDoc{
		{Names: "flow_calls flow_calls_per_second flow_calls_per_mb",
			Units: "1 1/s 1/MB", Source: "data path",
			Meaning: "system calls of the data path; a MB is 1e6 bytes of payload"},
		{Names: "flow_waits",
			Units: "1", Source: "data path",
			Meaning: "of them, those that sleep where there is nothing to do. How often the thread " +
				"did sleep is `thread_data_path_voluntary_switches`"},
		{Names: "flows_jain flows_min_gbps flows_median_gbps flows_max_gbps",
			Units: "1 Gbit/s Gbit/s Gbit/s", Source: "data path",
			Meaning: "of several flows, at the receiver: Jain's fairness index of their " +
				"throughput, (sum x)² / (n × sum x²), 1 where all are equal and 1/n where one " +
				"has everything; least, median and most of a flow. flows.csv has each"},
		{Names: "pace_waits pace_pieces pace_late_mean_us",
			Units: "1 1 us", Source: "data path",
			Meaning: "of a paced sender: of the waits, those until more was due, each a wake-up " +
				"whose CPU time is in the sender's figures; pieces that were sent; by how long " +
				"these were later than due"},
		{Names: "pace_late_max_us pace_given_up_bytes",
			Units: "us bytes", Source: "data path, whole flow",
			Meaning: "by how long the latest piece was late; payload that was due for longer than " +
				"a second, and was not caught up with any more"},
		{Names: "packets_sent packets_received packets_lost packets_out_of_order packets_duplicated packets_corrupted",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "for modes that carry datagrams or frames, from the flow's first to its last " +
				"(docs/packets.md): received intact; sent but never received; of the received, " +
				"those that arrived after a later one, and duplicates; those that arrived " +
				"not as they were sent"},
		{Names: "packets_answers",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "of round trips by datagrams: answers that the receiver sent, or that came to the " +
				"sender, also late"},
		{Names: "packets_most_in_one",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "how many of them GSO or GRO may have merged into one packet, which counters count " +
				"once; missing where it is one"},
		{Names: "udp_batch",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "datagrams, of udp-gro pieces of them, that a call could move (`--udp-batch`)"},
		{Names: "packets_unaccounted",
			Units: "packets", Source: "data path and counters, whole flow",
			Meaning: "of the lost, those that no exact counter of either end shows; below 0: these " +
				"show more than were lost"},
		{Names: "packets_counted_NAME",
			Units: "packets", Source: "counters",
			Meaning: "what the kernel's exact counters of lost packets have counted from before the flow " +
				"until after it, at this end; docs/probes.md has the names"},
		{Names: "frames_of_others frames_not_redirected",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "frames that were not the generator's, and went on; of the generator's, those that " +
				"the program could not redirect, and dropped"},
		{Names: "redirect_dev_tx_packets",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "for xdp-redirect to dev:NAME: packets that the interface's tx_packets counted " +
				"meanwhile, those of others too"},
		{Names: "redirect_dev_others_packets",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "of these, where the driver does not tell redirected frames from others, as many as " +
				"are more than the frames: packets of others, at least; of as many frames it is not " +
				"known whether they left, so packets_unaccounted is empty. Missing where there are none"},
		{Names: "frames_behind_cpumap frames_lost_in_cpumap",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "for xdp-redirect: frames that arrived on the other CPU, and those that its queue " +
				"had no space for"},
		{Names: "cpumap_thread_cores",
			Units: "cores", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat",
			Meaning: "for xdp-redirect to a CPU: what the kernel thread behind the cpumap used, which " +
				"poller_cores includes, too"},
		{Names: "xsk_zero_copy xsk_queues xsk_frames xsk_frame_bytes",
			Units: "1 1 1 bytes", Source: "data path, whole flow",
			Meaning: "for AF_XDP sockets: 1 if the kernel says that the NIC writes into their " +
				"memory itself; RX queues with a socket; frames of all their memory, and the size of each"},
		{Names: "xsk_rx_ring_full xsk_fill_ring_empty xsk_rx_dropped",
			Units: "packets", Source: "data path, whole flow",
			Meaning: "frames for which the RX ring had no room; for which there was no memory (with zero " +
				"copy attempts of the driver's to get some); that were dropped for another reason"},
		{Names: "frames_refused frames_passed_on frames_returned frames_pace_given_up_us",
			Units: "packets packets packets us", Source: "data path, whole flow",
			Meaning: "of the generator: frames that the kernel refused to redirect; frames that its " +
				"interface counts as passed on (veth: `tx_queue_N_xdp_xmit`); frames returned " +
				"to it; how much of its pace it gave up because it was late"},
		{Names: "delivery_count delivery_early",
			Units: "1 1", Source: "due by the pace, to the data path",
			Meaning: "of a paced flow's receiver: pieces of the pace that were timed; of them, " +
				"those that arrived before they were due, by the clocks"},
		{Names: "delivery_mean_us delivery_p50_us delivery_p90_us delivery_p99_us " +
			"delivery_p999_us delivery_max_us",
			Units: "us us us us us us", Source: "due by the pace, to the data path",
			Meaning: "from when payload was due at the sender to when the receiver's path had " +
				"taken it, and looked at it where it does (docs/probes.md); right to 0.8 % and to " +
				"delivery_clock_us of runs.csv"},
		{Names: "transactions transactions_per_s cpu_us_per_transaction",
			Units: "1 1/s us", Source: "data path",
			Meaning: "of round trips (docs/packets.md): requests that were answered; " +
				"cpu_busy_cores over transactions_per_s"},
		{Names: "transactions_lost answers_late",
			Units: "1", Source: "data path",
			Meaning: "of the end that asks by datagrams: requests that were given up, because no " +
				"answer came within --rr-timeout; answers that came for such, or for the second time"},
		{Names: "rtt_count rtt_mean_us rtt_p50_us rtt_p90_us rtt_p99_us rtt_p999_us rtt_max_us",
			Units: "1 us us us us us us", Source: "request sent, or due by the rate, to its answer",
			Meaning: "of the end that asks: answers that were timed, and how long they took, right " +
				"to 0.8 %"},
		{Names: "rate_late_max_us",
			Units: "us", Source: "data path, whole flow",
			Meaning: "by how long the latest request was sent after it was due by --rr-rate, for " +
				"want of a CPU or of room in flight; pace_late_mean_us is the mean"},
		{Names: "zerocopy_completions zerocopy_completions_copied",
			Units: "1", Source: "data path",
			Meaning: "a sender's notifications, and those that reported a copy by the kernel"},
		{Names: "uring_rearms uring_overflows",
			Units: "1", Source: "data path",
			Meaning: "multishot requests issued again; those that ended because the completion " +
				"queue or the buffers were used up"},
		{Names: "uring_no_iowait uring_single_issuer uring_defer_taskrun",
			Units: "1", Source: "data path, whole flow",
			Meaning: "1: the ring was made so. Without the first, idle CPU time shows as iowait"},
		{Names: "uring_cq_lost uring_cq_backlogs",
			Units: "1", Source: "data path, whole flow",
			Meaning: "completions that the kernel lost; times that it deferred some for lack of " +
				"room"},
		{Names: "uring_zc_untold_bytes",
			Units: "bytes", Source: "data path, whole flow",
			Meaning: "payload sent by uring-zc of which the kernel does not tell whether it was " +
				"copied, because it joined a packet of the message before"},
		{Names: "uring_buffers uring_buffer_bytes",
			Units: "1 bytes", Source: "data path, whole flow",
			Meaning: "provided buffers of the mode uring, all together what it copies into, and the " +
				"size of each"},
		{Names: "gather_us gather_waits uring_gather_us",
			Units: "us 1 us", Source: "data path, whole flow",
			Meaning: "how long a receiver that has read everything waits for more (`--gather`), and " +
				"how often it did; the last name is the first's in older results"},
		{Names: "steered_queue flow_queue",
			Units: "1", Source: "data path, whole flow",
			Meaning: "the RX queue that the flow of a mode that takes none over was steered to " +
				"(`--queue`), and the one that it was last seen on"},
		{Names: "steered_share",
			Units: "1", Source: "SO_INCOMING_NAPI_ID",
			Meaning: "share of the looks at the flow's socket in the window, every 20 ms, of more than 256 " +
				"flows less often, that found it on that queue; below 1 the run is invalid"},
		{Names: "zcrx_queue zcrx_flow_queue",
			Units: "1", Source: "data path, whole flow",
			Meaning: "the RX queue with the application's memory, and the one that the flow was last seen on"},
		{Names: "zcrx_provider_bound",
			Units: "1", Source: "data path, whole flow",
			Meaning: "1: the queue still had the application's memory at the end of the flow"},
		{Names: "zcrx_buffers zcrx_buffer_bytes zcrx_refill_entries",
			Units: "1 bytes 1", Source: "data path, whole flow",
			Meaning: "buffers of the area, their size, entries of the refill ring"},
		{Names: "zcrx_pieces",
			Units: "1", Source: "data path, whole flow",
			Meaning: "completions with payload"},
		{Names: "zcrx_copies zcrx_copied_bytes",
			Units: "1 bytes", Source: "data path, whole flow",
			Meaning: "what the kernel counted as copied (7.2)"},
		{Names: "zcrx_pool_buffers",
			Units: "1", Source: "data path, whole flow",
			Meaning: "at most how many buffers the queue's page pools handed out, all together (docs/zcrx.md)"},
		{Names: "zcrx_uncounted_copied_bytes",
			Units: "bytes", Source: "data path, whole flow",
			Meaning: "at least how much more was copied than the kernel counted"},
		{Names: "zcrx_flushes",
			Units: "1", Source: "data path, whole flow",
			Meaning: "times that the kernel was told to take buffers from the refill ring"},
		{Names: "zcrx_no_memory",
			Units: "1", Source: "data path, whole flow",
			Meaning: "times that it found no buffer to copy to"},
		{Names: "zcrx_alloc_fail_events",
			Units: "1", Source: "data path, whole flow",
			Meaning: "times that it reported that the NIC found no buffer (7.2)"},
		{Names: "devmem_queue devmem_flow_queue devmem_provider_bound devmem_pool_bound",
			Units: "1", Source: "data path, whole flow",
			Meaning: "as for zcrx; the last is of the page pool"},
		{Names: "devmem_memory_bytes devmem_payload_bytes",
			Units: "bytes", Source: "data path, whole flow",
			Meaning: "size of the dmabuf; payload received in it"},
		{Names: "devmem_read_bytes devmem_buffer_bytes devmem_token_batch",
			Units: "bytes bytes 1", Source: "data path, whole flow",
			Meaning: "`--read-size`, `--rx-buf-len` and `--token-batch` as they were used"},
		{Names: "devmem_recvmsg_calls devmem_recvmsg_empty devmem_recvmsg_truncated",
			Units: "1", Source: "data path, whole flow",
			Meaning: "reads; that found nothing; whose control space was too small"},
		{Names: "devmem_frags devmem_frags_per_read_min devmem_frags_per_read_avg " +
			"devmem_frags_per_read_max",
			Units: "1", Source: "data path, whole flow",
			Meaning: "fragments, in all and of a read that brought some"},
		{Names: "devmem_reads_over_1024_frags devmem_reads_512_to_1024_frags " +
			"devmem_reads_under_512_frags",
			Units: "1", Source: "data path, whole flow",
			Meaning: "reads by fragments, in the classes of the reference experiment"},
		{Names: "devmem_reads_frags_N_to_N",
			Units: "1", Source: "data path, whole flow",
			Meaning: "the same by powers of two"},
		{Names: "devmem_gathered_over_1024 devmem_idle_releases devmem_setsockopt_calls " +
			"devmem_setsockopt_avoided devmem_token_ranges devmem_tokens_received " +
			"devmem_tokens_freed devmem_pool_inflight",
			Units: "1", Source: "data path, whole flow",
			Meaning: "docs/devmem.md"},
		{Names: "tcpmmap_calls tcpmmap_recv_calls tcpmmap_unmaps tcpmmap_mapped_bytes " +
			"tcpmmap_copied_bytes tcpmmap_window_bytes tcp_rcv_segment_bytes",
			Units: "1 1 1 bytes bytes bytes bytes", Source: "data path, whole flow",
			Meaning: "docs/tcp-mmap.md"},
		{Names: "tcp_info_NAME",
			Units: "*", Source: "TCP_INFO",
			Meaning: "TCP_INFO at the window's end, counters over the window " +
				"(include/uapi/linux/tcp.h)"},
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
	}},
	{"CPU", "", []MetricDoc{
		{Names: "cpu_app_cores cpu_sys_cores cpu_soft_cores cpu_busy_cores cpu_iowait_cores " +
			"cpu_steal_cores",
			Units: "cores", Source: "/proc/stat",
			Meaning: "/proc/stat over the measured CPUs, 1.00 = one CPU all the time; " +
				"docs/schema.md says how they are split"},
		{Names: "cpu_stat_coverage cpu_uncertainty_cores cpu_window_s",
			Units: "1 cores s", Source: "/proc/stat; CLOCK_MONOTONIC",
			Meaning: "share of the wall clock that /proc/stat's columns cover; what ticks of " +
				"1/100 s leave unknown; the window that they were read over"},
		{Names: "cpuN_app_cores cpuN_sys_cores cpuN_soft_cores cpuN_busy_cores cpuN_iowait_cores " +
			"cpuN_steal_cores cpuN_stat_coverage cpuN_uncertainty_cores",
			Units: "cores cores cores cores cores cores 1 cores", Source: "/proc/stat",
			Meaning: "the same by CPU"},
		{Names: "foreign_cpuN_low_cores foreign_cpuN_high_cores",
			Units: "cores", Source: "/proc/stat - CLOCK_THREAD_CPUTIME_ID",
			Meaning: "load of others on a measured CPU, as a range"},
		{Names: "cgroup_N_throttled_share cgroup_N_throttled_periods cgroup_N_periods cgroup_N_throttled_us",
			Units: "1 1 1 us", Source: "cgroup cpu.stat",
			Meaning: "of a CPU limit (cpu.max; version 1: cpu.cfs_quota_us): the share of its periods in " +
				"which it throttled, how many, of how many, and for how long, its CPUs added up. N is how " +
				"many levels the cgroup is above that of zcbench on this host, 0 its own; the quality " +
				"column names it. Missing where there is no limit"},
		{Names: "cgroup_unseen_held_share", Units: "1",
			Source: "/proc/PID/task/TID/schedstat; /proc/stat",
			Meaning: "in a container from which the cgroups above are not seen: the share of the window " +
				"in which a thread of zcbench could run and did not, while its CPU was idle, which is " +
				"what a CPU limit above does; missing below 0.05"},
		{Names: "cgroup_N_memory_high cgroup_N_memory_max",
			Units: "1", Source: "cgroup memory.events.local; cgroup memory.failcnt",
			Meaning: "times that memory.high, or memory.max (version 1: memory.limit_in_bytes), made " +
				"tasks reclaim memory, by level; missing where that did not happen"},
		{Names: "cgroup_memory_stall",
			Units: "1", Source: "cgroup cpu.pressure, memory.pressure",
			Meaning: "share of the window in which some task of zcbench's own cgroup waited for memory"},
		{Names: "cgroup_pressure_cpu_some_us cgroup_pressure_cpu_full_us cgroup_pressure_memory_some_us " +
			"cgroup_pressure_memory_full_us",
			Units: "us", Source: "cgroup cpu.pressure, memory.pressure",
			Meaning: "how long some tasks of zcbench's own cgroup, or all of them at once, waited for a " +
				"CPU or for memory (PSI); missing in the root cgroup, and where the kernel does not count it"},
		{Names: "sibling_cpuN_busy_cores sibling_cpuN_uncertainty_cores",
			Units: "cores", Source: "/proc/stat",
			Meaning: "load of a CPU that shares its core with one of the flow's, without being one, and " +
				"its uncertainty: what that CPU does takes longer for it"},
		{Names: "process_run_cores process_user_cores process_sys_cores",
			Units: "cores", Source: "CLOCK_PROCESS_CPUTIME_ID; getrusage",
			Meaning: "of the whole process"},
		{Names: "process_minor_faults process_major_faults process_voluntary_switches " +
			"process_involuntary_switches",
			Units: "1", Source: "getrusage",
			Meaning: "getrusage"},
		{Names: "thread_data_path_run_cores thread_data_path_user_cores " +
			"thread_data_path_sys_cores thread_data_path_wait_cores",
			Units: "cores", Source: "CLOCK_THREAD_CPUTIME_ID; /proc/PID/task/TID",
			Meaning: "of the thread that moves the payload, of several the first flow's; the last is time spent " +
				"runnable " +
				"without a CPU, absent where the kernel does not count it"},
		{Names: "thread_data_path_voluntary_switches thread_data_path_involuntary_switches",
			Units: "1", Source: "/proc/PID/task/TID/status",
			Meaning: "how often that thread gave its CPU up to wait (it slept), and how often " +
				"another took it"},
		{Names: "thread_cpuN_run_cores",
			Units: "cores", Source: "CLOCK_THREAD_CPUTIME_ID",
			Meaning: "the data path's time by CPU it ran on"},
		{Names: "cpu_idle_poller_cores cpu_idle_rests cpu_idle_s",
			Units: "cores 1 s", Source: "/proc/stat at rest",
			Meaning: "of the rests in which cpu_idle_cores was measured: what the interface's NAPI " +
				"threads used of the measured CPUs, which is not in it; how many rests; how long"},
		{Names: "poller_threads poller_cores poller_outside_cores poller_cpuN_cores",
			Units: "1 cores cores cores", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat",
			Meaning: "kernel threads that poll the interface (threaded NAPI): how many, their " +
				"CPU time, how much of it on other CPUs than the measured ones, and by CPU. All " +
				"of it is in the column cpu_busy_cores, and none is load of others"},
		{Names: "poller_busiest_cores poller_busy_polls",
			Units: "cores 1", Source: "perf_event task-clock; /proc/PID/task/TID/schedstat; netdev napi-get",
			Meaning: "of the thread that used most; 1: one of them busy-polls and never rests"},
		{Names: "placement_flow_share placement_host_share",
			Units: "1", Source: "SO_INCOMING_CPU; /proc/net/softnet_stat",
			Meaning: "share of the flow's packets, and of all, that were processed on the CPU " +
				"that the layout names"},
		{Names: "cpuidle_STATE_cores cpuidle_cpuN_STATE_cores",
			Units: "cores", Source: "/sys/devices/system/cpu/cpuN/cpuidle",
			Meaning: "time in an idle state, POLL, C1, C1E, C6 and so on, over the measured CPUs " +
				"and by CPU"},
		{Names: "cpuidle_cpuN_STATE_entries",
			Units: "1", Source: "/sys/devices/system/cpu/cpuN/cpuidle",
			Meaning: "times that it was entered"},
		{Names: "pmu_cycles pmu_cpuN_cycles_per_s cycles_per_byte",
			Units: "1 1/s 1/byte", Source: "perf_event cycles",
			Meaning: "where perf counts cycles"},
		{Names: "pmu_ghz pmu_cpuN_ghz",
			Units: "GHz", Source: "",
			Meaning: "by APERF and MPERF, while not idle"},
		{Names: "dram_read_bytes dram_write_bytes",
			Units: "bytes", Source: "perf_event uncore_imc; perf_event amd_umc",
			Meaning: "by the memory controllers' own counters (uncore_imc of Intel, amd_umc from " +
				"Zen 4), for all CPUs and devices of the machine, both ends' where they share it; " +
				"none in most virtual machines"},
		{Names: "memory_nodeN_share",
			Units: "1", Source: "move_pages",
			Meaning: "share of the pages that the payload is in, of a sample, on a NUMA node"},
		{Names: "throttle_core_events throttle_package_events throttle_core_ms " +
			"throttle_package_ms",
			Units: "1 1 ms ms", Source: "/sys/devices/system/cpu/cpuN/thermal_throttle",
			Meaning: "thermal throttling, each where the CPUs have its counter"},
		{Names: "counter_sampler_cores counter_sampler_samples counter_snapshot_cpu_ns " +
			"counter_snapshot_wall_ns",
			Units: "cores 1 ns ns", Source: "CLOCK_THREAD_CPUTIME_ID; sampler; CLOCK_MONOTONIC",
			Meaning: "what measuring itself took"},
		{Names: "counter_tally_cpu_ns counter_tally_wall_ns counter_rows_cut",
			Units: "ns ns 1", Source: "CLOCK_THREAD_CPUTIME_ID; CLOCK_MONOTONIC; tally",
			Meaning: "what reading the counters of docs/counters.md took, before and after the " +
				"window; of those that moved, how many have no row because there are too many"},
	}},
	{"Network", "", []MetricDoc{
		{Names: "softirq_cpuN_net_rx softirq_cpuN_net_tx",
			Units: "1", Source: "/proc/softirqs",
			Meaning: "runs of the softirq"},
		{Names: "softirq_cpuN_NAME",
			Units: "1", Source: "/proc/softirqs",
			Meaning: "of the other kinds (timer, sched, rcu, ...), of the measured CPUs and of those " +
				"that received or sent"},
		{Names: "softnet_cpuN_processed softnet_cpuN_dropped softnet_cpuN_time_squeeze " +
			"softnet_cpuN_received_rps softnet_cpuN_flow_limit softnet_cpuN_backlog",
			Units: "packets packets 1 1 1 packets", Source: "/proc/net/softnet_stat",
			Meaning: "/proc/net/softnet_stat; time_squeeze: the budget ended a run"},
		{Names: "netstat_NAME",
			Units: "*", Source: "/proc/net/netstat; /proc/net/snmp; /proc/net/snmp6",
			Meaning: "/proc/net/snmp, snmp6 and netstat of the end's network namespace"},
		{Names: "link_rx_bytes link_rx_packets link_rx_dropped link_rx_missed_errors " +
			"link_tx_bytes link_tx_packets link_tx_dropped",
			Units: "bytes packets packets packets bytes packets packets", Source: "rtnetlink",
			Meaning: "of the interface; a counter that was reset in the window is absent, and a " +
				"warning"},
		{Names: "link_NAME", Units: "packets", Source: "rtnetlink",
			Meaning: "errors and what else is rarely counted, where it moved"},
		{Names: "qdisc_NAME", Units: "*", Source: "rtnetlink",
			Meaning: "of each queueing discipline, by where it is and its kind: " +
				"`qdisc_root_mq_drops`, `qdisc_1_fq_overlimits`"},
		{Names: "qstats_NAME qstats_rxN_NAME qstats_txN_NAME", Units: "*", Source: "netdev qstats-get",
			Meaning: "the interface's and each queue's, as netlink calls them (6.9)"},
		{Names: "ethtool_NAME", Units: "*", Source: "ethtool -S",
			Meaning: "the driver's own, as it calls them"},
		{Names: "page_pool_NAME page_pool_rxN_NAME", Units: "*",
			Source: "netdev page-pool-stats-get; netdev page-pool-get",
			Meaning: "buffers that the interface's page pools, and those of an RX queue, handed " +
				"out and took back (6.8)"},
		{Names: "page_pool_recycle_rate", Units: "1",
			Source: "netdev page-pool-stats-get; ethtool -S",
			Meaning: "of the buffers that they handed out, how many they took back into cache and " +
				"ring: near 1, recycling works; above 1, more came back than went out"},
		{Names: "interrupts_rxN interrupts_irqN", Units: "1",
			Source: "/sys/kernel/irq/N/per_cpu_count",
			Meaning: "of an RX queue; of an interrupt, where it is not known of which queue it is, " +
				"or is of several"},
		{Names: "sockstat_NAME", Units: "*", Source: "/proc/net/sockstat",
			Meaning: "sockets of the namespace, and pages and bytes that those of the whole host " +
				"hold, at the window's end"},
		{Names: "tcp_mem_low tcp_mem_pressure tcp_mem_high", Units: "pages",
			Source: "/proc/sys/net/ipv4/tcp_mem",
			Meaning: "pages of all TCP sockets up to which the kernel does not intervene; from " +
				"which it is under memory pressure; and the maximum. Only the first network " +
				"namespace shows them"},
		{Names: "socket_rmem_alloc socket_rcvbuf socket_wmem_alloc socket_sndbuf " +
			"socket_fwd_alloc socket_wmem_queued socket_optmem socket_backlog",
			Units: "bytes", Source: "SO_MEMINFO",
			Meaning: "what the flows' sockets hold at the window's end, added up (skmem of ss -m)"},
		{Names: "socket_drops", Units: "packets", Source: "SO_MEMINFO",
			Meaning: "packets that they dropped"},
		{Names: "link_speed_bits_ps", Units: "bit/s", Source: "/sys/class/net/DEV/speed",
			Meaning: "what the driver reports; absent where there is no hardware"},
		{Names: "link_mtu link_gro_max_size link_gro_ipv4_max_size link_gso_max_size " +
			"link_gso_ipv4_max_size link_tso_max_size",
			Units: "bytes", Source: "rtnetlink",
			Meaning: "how it was set"},
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
		{Names: "nic_interrupts nic_busiest_interrupt_per_second", Units: "1 1/s",
			Source:  "/sys/kernel/irq/N/per_cpu_count",
			Meaning: "of all the interface's queues; and of the busiest one"},
		{Names: "nic_split_share", Units: "1", Source: "ethtool -S",
			Meaning: "share of packets whose headers the NIC split off, where `--set header-split=` " +
				"asked for it and the driver counts (mlx5)"},
	}},
	{"Power", "docs/power.md explains them.", []MetricDoc{
		{Names: "power_SOURCE_w power_SOURCE_min_w power_SOURCE_max_w power_SOURCE_uncertainty_w",
			Units: "W", Source: "",
			Meaning: "mean over the window, least and greatest reading, standard uncertainty of " +
				"the mean"},
		{Names: "power_SOURCE_shared_uncertainty_w power_SOURCE_scatter_w",
			Units: "W", Source: "",
			Meaning: "the uncertainty's part that all figures of the instrument have in common, " +
				"and the part that the scatter of its readings leaves"},
		{Names: "power_SOURCE_idle_w power_SOURCE_net_w power_SOURCE_net_uncertainty_w",
			Units: "W", Source: "",
			Meaning: "while nothing ran; what is left of the mean"},
		{Names: "power_SOURCE_response_limit_w",
			Units: "W", Source: "",
			Meaning: "the most that the windows may lack of the load's step, by how the instrument follows it"},
		{Names: "power_SOURCE_CHANNEL_w",
			Units: "W", Source: "",
			Meaning: "of each sensor, zone or outlet of a source with several"},
		{Names: "power_SOURCE_joule_per_gb power_SOURCE_joule_per_gb_uncertainty " +
			"power_SOURCE_net_joule_per_gb power_SOURCE_net_joule_per_gb_uncertainty",
			Units: "J/GB", Source: "",
			Meaning: "per 1e9 bytes, gross and net"},
		{Names: "power_SOURCE_readings power_SOURCE_effective_readings " +
			"power_SOURCE_failed_readings power_SOURCE_covered_s",
			Units: "1 1 1 s", Source: "",
			Meaning: "readings in the window, how many independent ones they are worth, those " +
				"that failed, the time that they cover"},
		{Names: "power_SOURCE_idle_drift",
			Units: "1", Source: "",
			Meaning: "how far idle before and after are apart, of their mean"},
		{Names: "power_SOURCE_sampler_cores power_sampler_cores power_controller_sampler_cores",
			Units: "cores", Source: "",
			Meaning: "what reading it took, all of a host's, and those of the controller"},
		{Names: "power_idle_before_from_s power_idle_before_to_s power_idle_after_from_s " +
			"power_idle_after_to_s power_guard_s power_window_late_s",
			Units: "s", Source: "CLOCK_MONOTONIC; CLOCK_REALTIME",
			Meaning: "rests of the method, from the start of the steady window on; guard; by how " +
				"much the window began late"},
	}},
	{"Probes", "docs/probes.md says where each is taken.", []MetricDoc{
		{Names: "latency_STAGE_count latency_STAGE_unstamped latency_STAGE_negative",
			Units: "packets", Source: "eBPF",
			Meaning: "packets timed, of those sampled (docs/probes.md); all without a stamp; " +
				"stamped later than seen, of those sampled"},
		{Names: "latency_STAGE_mean latency_STAGE_p50 latency_STAGE_p90 latency_STAGE_p99 " +
			"latency_STAGE_p999 latency_STAGE_max",
			Units: "ns", Source: "eBPF",
			Meaning: "from t0, which the source column names"},
		{Names: "latency_sample_packets",
			Units: "packets", Source: "eBPF",
			Meaning: "of how many packets the latency probe looked at one: counts are of the " +
				"sample"},
		{Names: "syscall_NAME_calls syscall_NAME_errors syscall_NAME_per_second " +
			"syscall_NAME_per_mb",
			Units: "1 1 1/s 1/MB", Source: "eBPF",
			Meaning: "of the end's process"},
		{Names: "syscall_NAME_total syscall_NAME_min syscall_NAME_avg syscall_NAME_max " +
			"syscall_NAME_stddev",
			Units: "ms ms ms ms %", Source: "eBPF",
			Meaning: "time in them; stddev is that of the mean, of more than one call"},
		{Names: "probe_NAME",
			Units: "*", Source: "eBPF",
			Meaning: "counters of the zero-copy path"},
		{Names: "drop_packets drop_flow_packets drop_unnamed_packets drop_not_lost_packets",
			Units: "packets", Source: "eBPF",
			Meaning: "that the kernel dropped in the end's network namespace, those that GSO or GRO " +
				"made one of counted one by one; of them to or from the data port; for which there " +
				"was no row; beside them, freed as dropped though they were delivered"},
		{Names: "drop_REASON_at_FUNCTION_packets",
			Units: "packets", Source: "eBPF",
			Meaning: "of them, by the kernel's reason and the function that dropped them; the source " +
				"has the place in full and the interfaces"},
		{Names: "drop_counted_NAME",
			Units: "packets", Source: "counters",
			Meaning: "packets lost in that time by the kernel's exact counters, each packet counted " +
				"once; super-packets are one"},
		{Names: "drop_unattributed_packets",
			Units: "packets", Source: "eBPF",
			Meaning: "of those, how many the probe has not seen to be dropped"},
		{Names: "drop_segments_sent drop_segments_retransmitted drop_segments_received drop_segments_lost",
			Units: "packets", Source: "TCP_INFO",
			Meaning: "of the flow's data, from its first segment to its last: sent, by its sender, and " +
				"of these sent again; come to its receiver's TCP; the difference, at the sender"},
		{Names: "drop_segments_named drop_segments_unattributed",
			Units: "packets", Source: "eBPF",
			Meaning: "of the lost ones, those that counters and the probe of both ends show to have " +
				"been dropped on their way; and the rest, below 0 where more were dropped than lost " +
				"(docs/probes.md)"},
		{Names: "tcp_sampler_cores tcp_sampler_samples",
			Units: "cores 1", Source: "CLOCK_THREAD_CPUTIME_ID; sampler",
			Meaning: "what the probe tcp took, and how often it asked"},
	}},
	{"Along the path", "Of the interfaces of the option path, by number from 1 on; at the receiver (docs/packets.md).",
		[]MetricDoc{
			{Names: "path_N_rx_packets path_N_tx_packets path_N_rx_bytes path_N_tx_bytes",
				Units: "packets packets bytes bytes", Source: "rtnetlink",
				Meaning: "what the interface received and sent, of whatever traffic"},
			{Names: "path_N_to_N_sent_packets path_N_to_N_arrived_packets path_N_to_N_lost_packets",
				Units: "packets", Source: "rtnetlink",
				Meaning: "what the one counted and the next one counted of the same packets, and the " +
					"difference"},
			{Names: "path_N_to_N_lost_least_packets path_N_to_N_lost_most_packets path_N_to_N_skew_packets",
				Units: "packets", Source: "rtnetlink",
				Meaning: "bounds of what was really lost between the two, by the packets that passed while " +
					"the counters were read (the last name), and by those that waited"},
			{Names: "path_N_to_N_untold_least_packets path_N_to_N_untold_most_packets",
				Units: "packets", Source: "rtnetlink",
				Meaning: "bounds of what was lost between the two and no counter tells"},
			{Names: "path_N_to_N_told_NAME_packets path_N_rx_told_NAME_packets path_N_tx_told_NAME_packets",
				Units: "packets", Source: "rtnetlink",
				Meaning: "what a counter tells of a loss between two, and at the two ends of the path"},
		}},
	{"Profile", "docs/profile.md explains classes and functions.", []MetricDoc{
		{Names: "profile_samples profile_lost_samples", Units: "1", Source: "perf",
			Meaning: "taken of the measured CPUs in the window, idle ones too; not kept"},
		{Names: "profile_sampled_busy_cores", Units: "cores", Source: "perf",
			Meaning: "how busy the CPUs were by the samples; by cycles where their speed is known"},
		{Names: "profile_reader_cores", Units: "cores", Source: "sampler",
			Meaning: "what emptying the samples' rings took, on whatever CPU; the samples themselves " +
				"are part of what they interrupt (docs/probes.md)"},
		{Names: "profile_wire_packets", Units: "packets",
			Source:  "TCP_INFO; /proc/net/netstat; /proc/net/snmp; /proc/net/snmp6",
			Meaning: "packets on the wire of the flow (docs/profile.md)"},
		{Names: "profile_busy_ns_per_kb profile_busy_ns_per_packet profile_busy_ns_per_wire_packet",
			Units: "ns/kB ns ns", Source: "perf",
			Meaning: "busy time of the measured CPUs, which the classes add up to; per kB of 1000 " +
				"bytes of payload, per packet that IP took or sent (after GRO), and per packet of " +
				"the wire"},
		{Names: "profile_class_NAME_ns_per_kb profile_class_NAME_ns_per_packet profile_class_NAME_ns_per_wire_packet",
			Units: "ns/kB ns ns", Source: "perf",
			Meaning: "its part in a class"},
		{Names: "profile_function_WHERE_NAME_self_ns_per_kb profile_function_WHERE_NAME_self_ns_per_packet " +
			"profile_function_WHERE_NAME_self_ns_per_wire_packet",
			Units: "ns/kB ns ns", Source: "perf",
			Meaning: "its part in a function alone, of the 60 with most; WHERE is thread, softirq " +
				"or interrupt; characters that metrics do not have are _"},
		{Names: "profile_function_WHERE_NAME_total_ns_per_kb profile_function_WHERE_NAME_total_ns_per_packet " +
			"profile_function_WHERE_NAME_total_ns_per_wire_packet",
			Units: "ns/kB ns ns", Source: "perf",
			Meaning: "its part in the same functions and what they called"},
	}},
	{"Over time", "The rows of samples.csv.", []MetricDoc{
		{Names: "flow_bytes throughput_gbps", Units: "bytes Gbit/s",
			Meaning: "payload of the flow so far; since the reading before"},
		{Names: "cpuN_busy_cores", Units: "cores", Meaning: "as above, since the reading before"},
		{Names: "tcp_cwnd_packets tcp_ssthresh_packets tcp_srtt_us tcp_min_rtt_us " +
			"tcp_pacing_rate_bytes_ps tcp_delivery_rate_bytes_ps tcp_rcv_window_bytes " +
			"tcp_snd_window_bytes tcp_in_flight_bytes tcp_retrans_packets tcp_app_limited tcp_rmem_alloc_bytes",
			Units: "packets packets us us bytes/s bytes/s bytes bytes bytes packets 1 bytes",
			Meaning: "of the probe tcp: the connection's TCP_INFO, and SO_MEMINFO's rmem_alloc " +
				"(docs/probes.md); of several flows each its own, flowN_"},
		{Names: "power_SOURCE_CHANNEL_w", Units: "W", Meaning: "each reading of each channel"},
	}},
}
