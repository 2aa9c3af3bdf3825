// SPDX-License-Identifier: MIT

package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
)

// columnDoc describes columns of runs.csv that belong together.
type columnDoc struct{ Names, Unit, Meaning string } // names apart by blanks

// ColumnDocs are all columns in their order: the table in docs/columns.md is made of them. A
// new column has its line here.
var ColumnDocs = withOptionDocs([]columnDoc{
	{"schema_version", "", "of the build that made the run: 3"},
	{"run_id", "", "one run; unique in the folder"},
	{"cell_id", "", "the combination of factors, such as `tcp/sendfile` (rx/tx)"},
	{"session_id", "", "one invocation of the tool; of a replay its own"},
	{"block", "", "interleaving block, from 0"},
	{"seq", "", "position in the session, from 0; grows"},
	{"rep", "", "repetition of the cell, from 0; warm-ups count apart"},
	{"warmup", "bool", "`true`: left out of statistics"},
	{"host", "", "where the end lived: `local`, `netns:NAME`, `ssh:USER@HOST`, `exec:COMMAND`"},
	{"role", "", "`sut` = receiver, system under test; `tg` = sender, traffic generator"},
	{"rx_mode tx_mode", "", "the data paths"},
	{"gro hw_gro", "bool", "requested; empty = left as found"},
	{"big_tcp_bytes", "bytes", "requested largest GSO and GRO packet; empty = left as found"},
	{"cpu_layout", "",
		"`1cpu`: softirq and application on one CPU; `2cpu`: on two; empty = left as found"},
	{"rx_buf_len", "bytes", "size of one receive buffer of the NIC, for zcrx and devmem; empty = the default"},
	{"mtu", "bytes", "empty = left as found"},
	{"message_bytes", "bytes", "bytes that the sender passes in one call"},
	{"start_utc_ns", "ns since 1970", "start of the steady window, controller's clock"},
	{"duration_s", "s", "steady window on this host's clock, without ramps"},
	{"bytes", "bytes", "payload in the steady window"},
	{"throughput_gbps", "1e9 bit/s", "payload, steady window"},
	{"cpu_app_cores", "cores", "user and nice; 1.0 = one CPU fully busy"},
	{"cpu_sys_cores", "cores", "system"},
	{"cpu_soft_cores", "cores", "softirq and irq"},
	{"cpu_busy_cores", "cores", "wall - d(idle) - d(iowait) over the measured CPUs, less what others did on those " +
		"that were not the flow's (`background_cores`)"},
	{"iowait_cores", "cores", "counted as idle in the figure above"},
	{"stat_coverage", "1",
		"sum of the /proc/stat columns / wall; far from 1, the split above is doubtful, busy is " +
			"not"},
	{"power_w", "W", "gross, mean of the steady window"},
	{"power_idle_w", "W", "idle, before and after"},
	{"power_source", "", "the instrument"},
	{"roi_cpu", "(Gbit/s)²/core", "throughput_gbps² / cpu_busy_cores"},
	{"roi_power", "(Gbit/s)²/W", "throughput_gbps² / power_w"},
	{"ns_per_kb", "ns/kB", "cpu_busy_cores × duration_s / bytes, per **1000** bytes"},
	{"joule_per_gb", "J/GB", "power_w × duration_s / bytes, gross, per 1e9 bytes"},
	{"zero_copy_bytes", "bytes",
		"payload delivered or sent without a copy, as the kernel reported it"},
	{"copied_bytes", "bytes",
		"payload that a zero-copy path copied after all; zcrx-nodev copies everything"},
	{"linear_bytes", "bytes",
		"payload that came in the packet's linear part, also a copy; empty where the kernel does " +
			"not count it separately, as it does for receive mode devmem, and for zcrx-nodev from " +
			"Linux 7.2 on (of zcrx see docs/zcrx.md)"},
	{"mismatches", "bytes", "payload that differs from the pattern; empty unless touch = verify"},
	{"retrans", "segments", "of the flow, TCP_INFO"},
	{"rx_drops", "packets", "interface and softnet; in turns (docs/turns.md) empty where it is not known in whose"},
	{"verdict", "",
		"`ok`; `unsupported`: could not run here; `invalid`: a gate failed; `failed`: an error"},
	{"reason", "", "why the verdict is not ok"},
	{"flags", "list", markWords()},
	{"kernel driver firmware", "", "of this host and its interface"},
	{"cpu_model governor mitigations", "", "of this host"},
	{"irq_cpu", "CPU list", "CPUs of the whole host that ran NET_RX softirq during the run"},
	{"app_cpu", "CPU list", "of the data-path thread"},
	{"tool_version", "", "of zcbench on this host"},
	{"hostname boot_id dev", "", "of this host; dev is the interface"},
	{"cpus", "CPUs", "online"},
	{"cpus_measured", "CPU list", "CPUs that the cpu columns sum over"},
	{"congestion", "", "of the flow's socket, as the kernel reports it"},
	{"go_version", "", "Go release that built zcbench"},
	{"congestion_asked", "", "empty = left as found"},
	{"read_bytes", "bytes", "bytes that the receiver requests in one call"},
	{"touch", "", "what the receiver does with the payload: `none`, `read`, `verify`"},
	{"total_bytes", "bytes", "payload of the whole flow, including ramps"},
	{"fix", "", "what to do about the reason"},
	{"warnings", "list", "in words"},
	{"uring_engine", "",
		"the io_uring engine of this end's data path: `native`, `giouring`; empty where it used " +
			"none"},
	{"tg_big_tcp_bytes", "bytes", "like big_tcp_bytes, for the TG's interface"},
	{"token_batch", "fragments", "devmem: fragments kept until they are returned in one call"},
	{"cpu_mhz", "MHz", "of the measured CPUs that were busy for half of the window or more, at its end, mean of " +
		"scaling_cur_freq; empty where none was"},
	{"cpu_temp_c", "degrees Celsius", "of the hottest CPU package, then"},
	{"source", "", "where a published figure comes from; empty for your own runs"},
	{"roi_cpu_total roi_power_total", "(Gbit/s)²/core, /W",
		"receiver's throughput_gbps² / the sum of both hosts' cost; the same in both rows. " +
			"Power is summed only within one scope"},
	{"probe", "", "probes that ran with the flow, joined by + (docs/probes.md, docs/profile.md); empty = none"},
	{"power_scope", "",
		"how much of the machine power_source sees: `device`, `gpu`, `package`, " +
			"`package-dram`, `board`, `outlet`, `wall`; empty in files of older versions"},
	{"control", "",
		"negative control, `wrong-queue`: such a run must be reported as copied; empty = none"},
	{"expected", "bool", "`true`: invalid, as runs of such modes must be in this environment; else empty"},
},
	columnDoc{"limit", "", "what limited the run, by its evidence (docs/comparable.md): `receiver`, `sender`, " +
		"`one-cpu`, `window`, `disk`, `path`, `link`, `pace`, `cgroup`; empty = not known"},
	columnDoc{"gate", "", "the kind of gate that an invalid run failed (docs/gates.md): `proof`, `environment`, " +
		"`outcome`; else empty"},
	columnDoc{"tg_cpu_layout", "", "of the sender's host; empty = like cpu_layout"},
	columnDoc{"rx_buffer_bytes", "bytes",
		"size of the receiving application's buffer, for tcp and uring; empty = like message_bytes"},
	columnDoc{"environment", "", "the host's snapshot for this cell, a file of the folder environment " +
		"(docs/environment.md), by its SHA-256; empty in files of older versions"},
	columnDoc{"cpu_busy_uncertainty_cores", "cores",
		"standard uncertainty of cpu_busy_cores: ticks, the edges of the window"},
	columnDoc{"cpu_idle_cores cpu_idle_uncertainty_cores", "cores", "load of the measured CPUs in the rests " +
		"before and after the run, without pollers of the flow; its standard uncertainty"},
	columnDoc{"cpu_net_cores", "cores", "cpu_busy_cores - cpu_idle_cores"},
	columnDoc{"cpu_poller_cores", "cores", "kernel threads that poll for the flow (threaded NAPI), on any CPU; " +
		"included in cpu_busy_cores; empty = none"},
	columnDoc{"power_uncertainty_w power_shared_uncertainty_w", "W", "standard uncertainty of power_w, and the " +
		"part of it that all figures of the instrument share (docs/power.md)"},
	columnDoc{"power_net_uncertainty_w", "W", "standard uncertainty of power_w - power_idle_w"},
	columnDoc{"power_idle_drift", "1", "difference of idle power before and after, relative to their mean"},
	columnDoc{"joule_per_gb_uncertainty net_joule_per_gb net_joule_per_gb_uncertainty", "J/GB",
		"standard uncertainty of joule_per_gb; energy above idle, and its standard uncertainty"},
	columnDoc{"roi_cpu_uncertainty roi_power_uncertainty roi_cpu_total_uncertainty roi_power_total_uncertainty",
		"as those", "standard uncertainty of roi_cpu, roi_power and the totals from that of the cost, each of one run"},
	columnDoc{"pace", "", "as requested, a rate, a percentage such as `50%`, or `loss-free`; pace_bits_ps is the " +
		"resulting rate"},
	columnDoc{"header_split", "bool",
		"requested, for modes that do not split headers themselves; empty = left as found"},
	columnDoc{"flow_mhz", "MHz", "of the CPUs of the flow's threads and softirq over the window, while not idle, " +
		"by APERF and MPERF; empty where there are none, as in most virtual machines"},
	columnDoc{"cycles_per_byte", "1/byte", "cycles of the measured CPUs per byte of payload, independent of " +
		"their frequency; empty where they cannot be counted"},
	columnDoc{"delivery_p50_us delivery_p99_us delivery_p999_us", "us",
		"of a paced flow's receiver: from when payload was due to when the path had " +
			"taken it, the same for all modes (docs/metrics.md); with object of whole objects"},
	columnDoc{"flows", "", "requested: flows at the same time; the figures are their sum (flows.csv has each); " +
		"empty = 1"},
	columnDoc{"queues", "", "requested: RX queues that the flows were spread over; empty = one per flow for " +
		"modes that take queues over, for others as found"},
	columnDoc{"upper", "", "the interface with the flow's address and route, if it is on top of a port: a VLAN, " +
		"a bond, a bridge; dev is the port, or upper itself if it is unknown which of its ports the flow used " +
		"(see warnings); empty = dev has the address"},
	columnDoc{"delivery_clock_us", "us", "how far the three delivery times may be off, either way, because of " +
		"the uncertain and drifting offset between the two hosts' clocks; 0 = they have one clock"},
	columnDoc{"packets_per_s", "1/s", "datagrams or frames in the steady window, for modes that carry them " +
		"(docs/packets.md): received intact, at the sender sent; empty for a stream"},
	columnDoc{"ns_per_packet", "ns", "cpu_busy_cores / packets_per_s"},
	columnDoc{"udp_batch", "", "requested: most datagrams per call; empty = 64"},
	columnDoc{"udp_segmentation", "bool", "requested, for the sender's interface; empty = left as found"},
	columnDoc{"xdp_touch", "",
		"requested: what an XDP program does with a frame's bytes; empty = read, or swap-macs for frames sent back"},
	columnDoc{"xdp_attach", "", "requested: where an XDP program runs; empty = native"},
	columnDoc{"xdp_redirect", "",
		"requested: where xdp-redirect sends frames: cpu, dev, dev:NAME, xsk, xsk-zc; empty = cpu"},
	columnDoc{"tuples", "", "requested: 5-tuples of generated frames; empty = 1"},
	columnDoc{"burst", "", "requested: burst length of paced frames; empty = 1"},
	columnDoc{"busy_poll_us", "us", "requested: how long a call busy-polls the queue before it sleeps, at both " +
		"ends; empty = the host's net.core.busy_read"},
	columnDoc{"request_bytes response_bytes", "bytes",
		"requested, of round trips: bytes of a request and of its answer; empty = 1"},
	columnDoc{"in_flight", "", "requested: outstanding requests per flow; empty = 1"},
	columnDoc{"rr_rate", "1/s",
		"requested: requests per second, of all flows; empty = the next one when an answer arrives"},
	columnDoc{"transactions", "", "round trips: requests answered in the steady window (docs/round-trips.md)"},
	columnDoc{"transactions_per_s", "1/s", "of those"},
	columnDoc{"cpu_us_per_transaction", "us", "cpu_busy_cores over transactions_per_s"},
	columnDoc{"rtt_p50_us rtt_p90_us rtt_p99_us rtt_p999_us rtt_max_us", "us",
		"of the requesting end: from when a request was sent, or was due by rr_rate, to when its answer had " +
			"arrived; accurate to 0.8 %"},
	columnDoc{"generator_cpus", "",
		"requested: CPUs of the sender's host that generated frames; empty = that of its thread"},
	columnDoc{"rr_timeout_us", "us",
		"requested: how long a sender of requests by datagrams waits for a response; empty = 200 ms"},
	columnDoc{"path", "", "requested: the interfaces whose counters were read in the window, in the packets' " +
		"order (docs/path.md)"},
	columnDoc{"threads", "", "data-path threads that moved the flows: one for each; of modes that take queues " +
		"over, at the receiver one for each queue"},
	columnDoc{"loss_free_packets_per_s loss_free_failed_at", "1/s", "of the run that ended a search for the " +
		"highest rate without loss: that rate, as it was really sent, which is up to 1 % below the run's pace, " +
		"and the lowest pace that failed; empty = none did (docs/packets.md)"},
	columnDoc{"loss_free_passed loss_free_trials", "", "how often in a row that rate passed, and the trials of " +
		"the search, which have rows of their own, flagged `trial`"},
	columnDoc{"cpu_class", "", "of a hybrid processor, the class of the CPUs of the flow's threads and softirq " +
		"(docs/hosts-reference.md), or all of theirs joined by `+`; empty = all CPUs are alike"},
	columnDoc{"turn", "", "requested: length of the cell's turns, such as 240ms; none = it was made alone " +
		"(docs/turns.md); empty = as all of the plan"},
	columnDoc{"start", "", "which start of the agents, or, in turns, of the flows, the run was made in, from 1 " +
		"(docs/matrix.md, \"Starts\"); empty = not on record: the session had one, or the file is older"},
	columnDoc{"turns", "", "how many turns the run had in its window (docs/turns.md); empty = it had none, or the " +
		"file is older"},
	columnDoc{"tx_area", "",
		"asked for: memory that the sender sends from; empty = udmabuf, where the mode has a dmabuf"},
	columnDoc{"instructions_per_kb", "1/kB", "instructions of the measured CPUs, user and kernel, per kB of 1000 " +
		"bytes of payload; empty where they cannot be counted (zcbench doctor)"},
	columnDoc{"ipc", "", "instructions per cycle of the measured CPUs"},
	columnDoc{"llc_misses_per_kb", "1/kB",
		"misses of the last-level cache by the measured CPUs, or, of AMD, by those " +
			"that share it with them"},
	columnDoc{"dram_bytes_per_byte", "bytes/byte", "bytes that the machine's memory controllers read and wrote, for " +
		"all CPUs and devices, per byte of payload; both ends' where they share the machine"},
	columnDoc{"mbm_bytes_per_byte", "bytes/byte", "bytes that CPUs moved between their caches and memory (resctrl), " +
		"per byte of payload, without what devices write"},
	columnDoc{"fastopen", "", "requested: connections of requests opened by TCP Fast Open; empty = not"},
	columnDoc{"steer", "", "asked for: port = one rule sends all flows of the run's port into an RSS context over " +
		"their queues; empty = a rule for each that is steered"},
	columnDoc{"object_bytes", "bytes", "requested: size of the objects that each flow sends one after another; " +
		"empty = none: payload is sent without pauses, or at a pace"},
	columnDoc{"every_us", "us", "requested: how often an object of a flow is due"},
	columnDoc{"fan_in", "", "requested: how many flows' objects are due at the same moment; empty = all flows'"},
	columnDoc{"objects", "", "receiver: objects that became whole in the steady window; their times are " +
		"delivery_p50_us to delivery_p999_us, from when each was due"},
	columnDoc{"objects_late", "", "of these, those that were not whole when the next of their flow was due"},
	columnDoc{"queue_rings", "", "requested: io_uring rings that share each RX queue; empty = one"},
	columnDoc{"rings_in", "", "requested: where these are, but for the first: threads or processes; empty = threads"},
	columnDoc{"area_start_bytes", "bytes",
		"requested: how much of the memory for payload the NIC has at first; empty = all"},
	columnDoc{"lease_queue", "", "the NIC's RX queue that the SUT, a container, had leased (docs/containers.md); " +
		"empty = the SUT was no container"},
	columnDoc{"both", "", "requested: each end sent and received at once; empty = from the TG to the SUT alone"},
	columnDoc{"back_throughput_gbps", "Gbit/s", "payload from the SUT to the TG, in the same window: of the SUT as " +
		"sent, of the TG as received. throughput_gbps is from the TG to the SUT; CPU time and power are of both " +
		"ways, so roi_*, ns_per_kb and joule_per_gb are of the sum, and cycles_per_byte is empty"},
	columnDoc{"back_bytes", "bytes", "likewise"},
	columnDoc{"back_zero_copy_bytes back_copied_bytes back_mismatches", "bytes", "of these, as zero_copy_bytes, " +
		"copied_bytes and mismatches are of the first way; of the host that received them, the TG"},
	columnDoc{"then", "", "requested: what the receiving application did with the payload; empty = nothing"},
	columnDoc{"then_throughput_gbps", "Gbit/s",
		"payload that was passed on, or written, in the same window: of the SUT as sent, of " +
			"the TG as received. CPU time and power of the SUT are of the whole chain; its roi_*, ns_per_kb and " +
			"joule_per_gb are of the payload that came, which is counted once. With forward and splice, those of the " +
			"TG, which verifies what comes back, and of both ends together are empty"},
	columnDoc{"then_bytes", "bytes", "likewise"},
	columnDoc{"then_zero_copy_bytes then_copied_bytes", "bytes",
		"SUT: of these, sent without a copy and copied, by the " +
			"kernel's word, which comes when it lets go of them; with copied_bytes, what the chain copied. Of what " +
			"is written: past the page cache (O_DIRECT), and through it. Empty by splice, where nobody tells"},
	columnDoc{"then_mismatches", "bytes", "TG: of these, that differ from what the TG had sent"},
	columnDoc{"poll", "", "requested: who takes packets from the queues (docs/polling.md): busy, suspend, threaded " +
		"or threaded-busy; empty = irq: softirq, as found, unless busy_poll_us is there"},
	columnDoc{"interrupts_per_s", "1/s", "of all the interface's queues; empty = nobody counts them"},
	columnDoc{"polled_by_app_pct polled_by_thread_pct polled_by_softirq_pct", "%", "of the packets that polls of " +
		"the interface brought: by zcbench's own threads, which busy-poll; by kernel threads of threaded NAPI; by " +
		"softirq, ksoftirqd's among them. Without eBPF only the first is known, by BusyPollRxPackets"},
	columnDoc{"empty_polls_pct", "%", "of polls by those two sorts of threads: they brought no packet"},
	columnDoc{"spin_cores", "cores", "CPU time from such a poll to the next, within 5 us: spent on waiting; " +
		"cpu_busy_cores has it"},
	columnDoc{"asleep_pct", "%", "of the window, in which the threads that move the flows neither ran nor waited " +
		"for a CPU"},
	columnDoc{"tls", "", "requested: who encrypted the payload: ktls, ktls-hw or user; empty = nobody (docs/tls.md)"},
	columnDoc{"back_transactions", "1", "with tx rr: requests of the other way that were answered; " +
		"cpu_us_per_transaction is over those of both ways"},
)

// withOptionDocs adds those of the options that have no line yet, as their columns do.
func withOptionDocs(all []columnDoc, later ...columnDoc) []columnDoc {
	known := map[string]bool{}
	for _, d := range slices.Concat(all, later) {
		for name := range strings.FieldsSeq(d.Names) {
			known[name] = true
		}
	}
	for i := range plan.Options {
		if o := &plan.Options[i]; !known[o.ColumnName()] {
			all = append(all, columnDoc{o.ColumnName(), o.Unit(),
				cmp.Or(o.ColumnDoc(), "asked for: "+o.Takes+"; empty = left as found")})
		}
	}
	return append(all, later...)
}
