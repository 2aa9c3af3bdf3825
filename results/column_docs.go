// SPDX-License-Identifier: MIT

package results

import (
	"cmp"
	"slices"
	"strings"
)

// ColumnDoc describes columns of runs.csv that belong together.
type ColumnDoc struct{ Names, Unit, Meaning string } // names apart by blanks

// ColumnDocs are all columns in their order: the table in docs/schema.md is made of them. A
// new column has its line here.
var ColumnDocs = withOptionDocs([]ColumnDoc{
	{"schema_version", "", "of the build that made the run: 3"},
	{"run_id", "", "one run; unique in the folder"},
	{"cell_id", "", "the combination of factors, such as `tcp/sendfile` (rx/tx)"},
	{"session_id", "", "one invocation of the tool; of a replay its own"},
	{"block", "", "interleaving block, from 0"},
	{"seq", "", "position in the session, from 0; grows"},
	{"rep", "", "repetition of the cell, from 0; warm-ups count apart"},
	{"warmup", "bool", "`true`: discarded in statistics"},
	{"host", "", "where the end lived: `local`, `netns:NAME`, `ssh:USER@HOST`"},
	{"role", "", "`sut` = receiver, system under test; `tg` = sender, traffic generator"},
	{"rx_mode tx_mode", "", "the data paths"},
	{"gro hw_gro", "bool", "asked for; empty = left as found"},
	{"big_tcp_bytes", "bytes", "largest GSO and GRO packet asked for; empty = left as found"},
	{"cpu_layout", "",
		"`1cpu`: softirq and application on one CPU; `2cpu`: on two; empty = left as found"},
	{"rx_buf_len", "bytes", "one of the NIC's receive buffers, of zcrx and devmem; empty = the default"},
	{"mtu", "bytes", "empty = left as found"},
	{"message_bytes", "bytes", "what the sender hands over in one call"},
	{"start_utc_ns", "ns since 1970", "start of the steady window, controller's clock"},
	{"duration_s", "s", "steady window on this host's clock; ramps are cut off"},
	{"bytes", "bytes", "payload in the steady window"},
	{"throughput_gbps", "1e9 bit/s", "payload, steady window"},
	{"cpu_app_cores", "cores", "user and nice; 1.0 = one CPU fully busy"},
	{"cpu_sys_cores", "cores", "system"},
	{"cpu_soft_cores", "cores", "softirq and irq"},
	{"cpu_busy_cores", "cores", "wall - d(idle) - d(iowait) over the measured CPUs"},
	{"iowait_cores", "cores", "counted as idle in the figure above"},
	{"stat_coverage", "1",
		"sum of the /proc/stat columns / wall; away from 1 the split above is doubtful, busy is " +
			"not"},
	{"power_w", "W", "gross, mean of the steady window"},
	{"power_idle_w", "W", "idle, before and after"},
	{"power_source", "", "what measured it"},
	{"roi_cpu", "(Gbit/s)²/core", "throughput_gbps² / cpu_busy_cores"},
	{"roi_power", "(Gbit/s)²/W", "throughput_gbps² / power_w"},
	{"ns_per_kb", "ns/kB", "cpu_busy_cores × duration_s / bytes, per **1000** bytes"},
	{"joule_per_gb", "J/GB", "power_w × duration_s / bytes, gross, per 1e9 bytes"},
	{"zero_copy_bytes", "bytes",
		"payload delivered or sent without a copy, as the kernel reported it"},
	{"copied_bytes", "bytes",
		"payload that a zero-copy path copied all the same; zcrx-nodev copies all"},
	{"linear_bytes", "bytes",
		"payload that came in the packet's linear part, a copy too; empty where the kernel does " +
			"not tell it apart, which it does for receive mode devmem, and for zcrx-nodev from " +
			"Linux 7.2 on (of zcrx see docs/zcrx.md)"},
	{"mismatches", "bytes", "payload that differs from the pattern; empty unless touch = verify"},
	{"retrans", "segments", "of the flow, TCP_INFO"},
	{"rx_drops", "packets", "interface and softnet"},
	{"verdict", "",
		"`ok`; `unsupported`: could not run here; `invalid`: a gate failed; `failed`: an error"},
	{"reason", "", "why the verdict is not ok"},
	{"flags", "list",
		"short marks: `shared-machine`; under a CPU layout `softirq-by-irq` or `softirq-by-rps`, " +
			"and `crowded-cpu` where an end's softirq must share a CPU with the other end, which then has it in its figures; " +
			"`off-pace`: the delivered rate is more than 1 % from pace_bits_ps; " +
			"`unfair`, `starved-flow`: of several flows (docs/matrix.md); " +
			"`calibration`: not paced, to know what shares of a pace are of; " +
			"`smt-siblings` where CPUs share a core; `over-vlan`, `over-bond`, ... where the flow's address is on what stands on the port; " +
			"`managed-link`, `arp-flux` (docs/hosts.md); `threaded-napi` (docs/power.md); `profile-differs`: its samples and the accounting of CPU time disagree on how busy the CPUs were (docs/profile.md); `drops-unattributed`: segments of the flow were lost, and nothing tells where (docs/probes.md); `packets-unaccounted`: datagrams or frames were lost, and no counter tells where, `super-packets`: a packet of the link carried several of them (docs/packets.md); `disturbed`: spoilt by something else on the " +
			"hosts; of a run that counts, the gates whose limits it is beyond: `throughput_cv`, " +
			"`drops_per_gb`, ... (docs/matrix.md)"},
	{"kernel driver firmware", "", "of this host and its interface"},
	{"cpu_model governor mitigations", "", "of this host"},
	{"irq_cpu", "CPU list", "ran NET_RX softirq during the run, of the whole host"},
	{"app_cpu", "CPU list", "of the data-path thread"},
	{"tool_version", "", "of zcbench on this host"},
	{"hostname boot_id dev", "", "of this host; dev is the interface"},
	{"cpus", "CPUs", "online"},
	{"cpus_measured", "CPU list", "which the cpu columns sum over"},
	{"congestion", "", "of the flow's socket, as the kernel reports it"},
	{"go_version", "", "that built zcbench"},
	{"congestion_asked", "", "empty = left as found"},
	{"read_bytes", "bytes", "what the receiver asks for in one call"},
	{"touch", "", "what the receiver does with the payload: `none`, `read`, `verify`"},
	{"total_bytes", "bytes", "payload of the whole flow, ramps included"},
	{"fix", "", "what to do about the reason"},
	{"warnings", "list", "in words"},
	{"uring_engine", "",
		"the io_uring engine of this end's data path: `native`, `giouring`; empty where it used " +
			"none"},
	{"tg_big_tcp_bytes", "bytes", "as big_tcp_bytes, which is the SUT's, of the TG's interface"},
	{"token_batch", "fragments", "devmem: kept until they are given back in one call"},
	{"cpu_mhz", "MHz", "of the measured CPUs at the end of the window, mean of scaling_cur_freq"},
	{"cpu_temp_c", "degrees Celsius", "of the hottest CPU package, then"},
	{"source", "", "where a published figure was published; empty for own runs"},
	{"roi_cpu_total roi_power_total", "(Gbit/s)²/core, /W",
		"receiver's throughput_gbps² / the sum of both hosts' cost; the same in both rows. " +
			"Power of one scope alone has a sum"},
	{"probe", "", "probes that ran with the flow, joined by + (docs/probes.md, docs/profile.md); empty = none"},
	{"power_scope", "",
		"how much of the machine power_source sees: `device`, `gpu`, `package`, " +
			"`package-dram`, `board`, `outlet`, `wall`; empty in files of older versions"},
	{"control", "",
		"a fault made on purpose, `wrong-queue`: such a run must be found invalid; empty = none"},
	{"expected", "bool", "`true`: invalid, as a run of such modes must be where it was made; else empty"},
},
	ColumnDoc{"limit", "", "what kept the run from being faster, by its evidence (docs/statistics.md): `receiver`, `sender`, `window`, `link`, `pace`; empty = not known"},
	ColumnDoc{"gate", "", "the kind of gate that an invalid run did not pass (docs/matrix.md): `proof`, `environment`, `outcome`; else empty"},
	ColumnDoc{"tg_cpu_layout", "", "of the sender's host; empty = as cpu_layout"},
	ColumnDoc{"rx_buffer_bytes", "bytes", "of the receiving application's buffer, of tcp and uring; empty = as message_bytes"},
	ColumnDoc{"environment", "", "the host's snapshot for this cell, a file of the folder environment (docs/environment.md), by its SHA-256; empty in files of older versions"},
	ColumnDoc{"cpu_busy_uncertainty_cores", "cores", "standard uncertainty of cpu_busy_cores: ticks, the edges of the window"},
	ColumnDoc{"cpu_idle_cores cpu_idle_uncertainty_cores", "cores", "what the measured CPUs were busy with in the rests before and after the run, without pollers of the flow; its standard uncertainty"},
	ColumnDoc{"cpu_net_cores", "cores", "cpu_busy_cores - cpu_idle_cores"},
	ColumnDoc{"cpu_poller_cores", "cores", "kernel threads that poll for the flow (threaded NAPI), on whatever CPU; in cpu_busy_cores; empty = there were none"},
	ColumnDoc{"power_uncertainty_w power_shared_uncertainty_w", "W", "standard uncertainty of power_w, and the part of it that all figures of the instrument have in common (docs/power.md)"},
	ColumnDoc{"power_net_uncertainty_w", "W", "standard uncertainty of power_w - power_idle_w"},
	ColumnDoc{"power_idle_drift", "1", "how far idle power before and after are apart, of their mean"},
	ColumnDoc{"joule_per_gb_uncertainty net_joule_per_gb net_joule_per_gb_uncertainty", "J/GB", "standard uncertainty of joule_per_gb; energy above idle, and its standard uncertainty"},
	ColumnDoc{"roi_cpu_uncertainty roi_power_uncertainty roi_cpu_total_uncertainty roi_power_total_uncertainty", "as those", "standard uncertainty that the cost's gives roi_cpu, roi_power and the totals, each of one run"},
	ColumnDoc{"pace", "", "as it was asked for, a rate or a share such as `50%`; pace_bits_ps is what that came to"},
	ColumnDoc{"header_split", "bool", "asked for, of modes that do not split headers by themselves; empty = left as found"},
	ColumnDoc{"flow_mhz", "MHz", "of the CPUs of the flow's threads and softirq over the window, while not idle, by APERF and MPERF; empty where there are none, as in most virtual machines"},
	ColumnDoc{"cycles_per_byte", "1/byte", "cycles of the measured CPUs per byte of payload, which their frequency does not change; empty where they cannot be counted"},
	ColumnDoc{"delivery_p50_us delivery_p99_us delivery_p999_us", "us",
		"of a paced flow's receiver: from when payload was due by the pace to when the path had " +
			"taken it, the same for all modes (docs/metrics.md)"},
	ColumnDoc{"flows", "", "asked for: so many at the same time, of which the figures are the sum (flows.csv has each); empty = 1"},
	ColumnDoc{"queues", "", "asked for: RX queues that the flows were spread over; empty = one a flow of modes that take queues over, of others as found"},
	ColumnDoc{"upper", "", "the interface with the flow's address and route, where that stands on a port: a VLAN, a bond, a bridge; dev is the port, or upper itself where it is not known which of its ports the flow used (warnings has them); empty = dev has the address"},
	ColumnDoc{"delivery_clock_us", "us", "how far the three delivery times may be off, either way, because the clocks of the two hosts are known to each other no better before and after the run, and part in it; 0 = they have one clock"},
	ColumnDoc{"packets_per_s", "1/s", "datagrams or frames in the steady window, of modes that move such (docs/packets.md): received and right, at the sender sent; empty of a stream"},
	ColumnDoc{"ns_per_packet", "ns", "cpu_busy_cores / packets_per_s"},
	ColumnDoc{"udp_batch", "", "asked for: datagrams that a call moves at most; empty = 64"},
	ColumnDoc{"udp_segmentation", "bool", "asked for, of the sender's interface; empty = left as found"},
	ColumnDoc{"xdp_touch", "", "asked for: what an XDP program does with a frame's bytes; empty = read, and swap-macs of what goes back"},
	ColumnDoc{"xdp_attach", "", "asked for: where an XDP program runs; empty = native"},
	ColumnDoc{"xdp_redirect", "", "asked for: where xdp-redirect sends frames; empty = cpu"},
	ColumnDoc{"tuples", "", "asked for: 5-tuples of generated frames; empty = 1"},
	ColumnDoc{"burst", "", "asked for: generated frames that leave together at a pace; empty = 1"},
	ColumnDoc{"busy_poll_us", "us", "asked for: how long a call polls the queue itself before it sleeps, at both ends; empty = as the host's net.core.busy_read"},
	ColumnDoc{"request_bytes response_bytes", "bytes", "asked for, of round trips: a request, and its answer; empty = 1"},
	ColumnDoc{"in_flight", "", "asked for: requests of a flow that may be without an answer; empty = 1"},
	ColumnDoc{"rr_rate", "1/s", "asked for: requests that were to be sent per second, of all flows; empty = the next one when an answer comes"},
	ColumnDoc{"transactions", "", "requests that were answered in the steady window, of round trips (docs/packets.md)"},
	ColumnDoc{"transactions_per_s", "1/s", "of those"},
	ColumnDoc{"cpu_us_per_transaction", "us", "cpu_busy_cores over transactions_per_s"},
	ColumnDoc{"rtt_p50_us rtt_p90_us rtt_p99_us rtt_p999_us rtt_max_us", "us",
		"of the end that asks: from when a request was sent, or was due by rr_rate, to when its answer had come; right to 0.8 %"},
	ColumnDoc{"rr_timeout_us", "us", "asked for: how long a sender of requests by datagrams waits for an answer; empty = 200 ms"},
)

// withOptionDocs adds those of the options that have no line yet, as their columns do.
func withOptionDocs(all []ColumnDoc, later ...ColumnDoc) []ColumnDoc {
	known := map[string]bool{}
	for _, d := range slices.Concat(all, later) {
		for name := range strings.FieldsSeq(d.Names) {
			known[name] = true
		}
	}
	for i := range Options {
		if o := &Options[i]; !known[o.ColumnName()] {
			all = append(all, ColumnDoc{o.ColumnName(), o.Unit(), cmp.Or(o.value.columnDoc, "asked for: "+o.Takes+"; empty = left as found")})
		}
	}
	return append(all, later...)
}
