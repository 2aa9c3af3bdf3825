// SPDX-License-Identifier: MIT

package measure

// What is told of kernel threads that poll the flow's interface (threaded NAPI).
const (
	MetricBusiestPoller = "poller_busiest_cores" // of the one that used most
	MetricBusyPolls     = "poller_busy_polls"    // 1: one of them never rests
)

// Metrics of what the network made of what a cell asked for.
const (
	MetricRXPacketBytes    = "ip_rx_packet_bytes"
	MetricRXPacketSegments = "ip_rx_packet_segments"
	MetricTXPacketBytes    = "ip_tx_packet_bytes"
	MetricHWGROPackets     = "nic_hw_gro_packets"
	MetricHWGROWire        = "nic_hw_gro_wire_packets"
	MetricInterrupts       = "nic_interrupts"
	MetricInterruptRate    = "interrupts_per_s"
	MetricBusiestIRQ       = "nic_busiest_interrupt_per_second"
	MetricSplitShare       = "nic_split_share"
	MetricFragsBytes       = "max_skb_frags_bytes"
	MetricRecycleRate      = "page_pool_recycle_rate"
	MetricCountersCut      = "counter_rows_cut"
)

// MetricUntold is payload of the whole flow of which the kernel does not tell whether it was copied
// (package uringzc).
const MetricUntold = "uring_zc_untold_bytes"

// MetricBusyPolled counts packets that a call which waited took of the NIC's queue itself, of
// sockets and of rings (LINUX_MIB_BUSYPOLLRXPACKETS: net/core/dev.c, __napi_busy_loop).
const MetricBusyPolled = "netstat_tcp_ext_busy_poll_rx_packets"

// Who polled the flow's interface: the packets that each brought, of all, %; of the polls of those
// that need no interrupt, those that brought none, %; the time that they spent on such; and how
// much of the time the flows' threads slept.
const (
	MetricPolledByApp     = "polled_by_app_pct"
	MetricPolledByThread  = "polled_by_thread_pct"
	MetricPolledBySoftirq = "polled_by_softirq_pct"
	MetricEmptyPolls      = "empty_polls_pct"
	MetricSpin            = "spin_cores"
	MetricAsleep          = "asleep_pct"
)

// What is told of the application's own polls of the flow's interface: how many, and the time that
// it spent on those that brought nothing.
const (
	MetricAppPolls = "napi_app_polls"
	MetricAppSpin  = "napi_app_spin_cores"
)

// MetricThenUnread is in which share of looks payload was there for a receiver that writes it to a
// file, and not read yet.
const MetricThenUnread = "then_unread_share"

// What the kernel counts of connections at the host that takes them: those that were opened with a
// request in the first packet (tcp_fastopen.c), those for which a queue had no room, those opened
// by a cookie for want of room (tcp_syncookies), and ends that nobody waited after
// (tcp_max_tw_buckets).
const (
	MetricFastOpens    = "netstat_tcp_ext_tcp_fast_open_active"
	MetricFastOpened   = "netstat_tcp_ext_tcp_fast_open_passive"
	MetricListenDrops  = "netstat_tcp_ext_listen_drops"
	MetricSYNDrops     = "netstat_tcp_ext_tcp_req_q_full_drop"
	MetricSYNCookies   = "netstat_tcp_ext_syncookies_sent"
	MetricTimeWaitFull = "netstat_tcp_ext_tcp_time_wait_overflow"
)

// MetricHelperCores is what kernel threads used that work for a path and are none of NAPI's: the
// one behind a cpumap. They are in CPUPollerCores.
const MetricHelperCores = "cpumap_thread_cores"

// MetricAreaDevice is how much memory for payload is on a device, a GPU. Its source begins with the
// device's PCI address.
const MetricAreaDevice = "area_device_bytes"

// MetricAreaBytes is how much memory for payload a NIC has, where that grows, and the series of
// when it grew.
const MetricAreaBytes = "area_bytes"

// What is told of several flows beside each other, by their throughput at the receiver.
const (
	MetricJain       = "flows_jain"
	MetricFlowMin    = "flows_min_gbps"
	MetricFlowMedian = "flows_median_gbps"
	MetricFlowMax    = "flows_max_gbps"
)
