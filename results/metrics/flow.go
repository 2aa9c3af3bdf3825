// SPDX-License-Identifier: MIT

package metrics

import "github.com/zcbench/zcbench/machine/measure"

// payload describe what a data path tells of its calls, its pace and its packets.
var payload = []measure.MetricDoc{
	{Names: "flow_calls flow_calls_per_second flow_calls_per_mb",
		Units: "1 1/s 1/MB", Source: "data path",
		Meaning: "system calls of the data path; a MB is 1e6 bytes of payload"},
	{Names: "flow_waits",
		Units: "1", Source: "data path",
		Meaning: "of them, those that sleep where there is nothing to do. How often the thread " +
			"did sleep is `thread_data_path_voluntary_switches`"},
	{Names: "turns_left_out",
		Units: "1", Source: "CLOCK_MONOTONIC",
		Meaning: "of a run in turns (docs/turns.md): those that do not count at this end, because " +
			"they were read late, or bytes of other cells came in them, or the eBPF programs that " +
			"tell who had the CPUs missed something; the quality says why"},
	{Names: "turns_read_us turns_probes_read_us turns_reader_cores",
		Units: "us us cores", Source: "CLOCK_MONOTONIC; CLOCK_THREAD_CPUTIME_ID",
		Meaning: "of a run in turns: how long reading the counters took at an edge of a turn, in the " +
			"mean, and the probes before one; what the thread that does so took within turns, with softirq that " +
			"came while it ran"},
	{Names: "turns_receive_buffer_bytes",
		Units: "bytes", Source: "SO_RCVBUF",
		Meaning: "of a run in turns: the receive buffer of a flow, of several the largest, as " +
			"auto-tuning had made it at the end of the first turn, where it is kept; missing where it is not. As " +
			"the kernel counts it, with the memory that holds the payload"},
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
}

// lost describe which packets no counter shows, and those that the counters do.
var lost = []measure.MetricDoc{
	{Names: "packets_unaccounted",
		Units: "packets", Source: "data path and counters, whole flow",
		Meaning: "of the lost, those that no exact counter of either end shows; below 0: these " +
			"show more than were lost"},
	{Names: "packets_counted_NAME",
		Units: "packets", Source: "counters",
		Meaning: "what the kernel's exact counters of lost packets have counted from before the flow " +
			"until after it, at this end; docs/probes.md has the names"},
}

// timed describe how long payload and answers took, and what rings and notifications did.
var timed = []measure.MetricDoc{
	{Names: "delivery_count delivery_early",
		Units: "1 1", Source: "due by the pace, to the data path",
		Meaning: "of a paced flow's receiver: pieces of the pace that were timed, or objects; of them, " +
			"those that arrived before they were due, by the clocks"},
	{Names: "delivery_mean_us delivery_p50_us delivery_p90_us delivery_p99_us " +
		"delivery_p999_us delivery_max_us",
		Units: "us us us us us us", Source: "due by the pace, to the data path",
		Meaning: "from when payload was due at the sender to when the receiver's path had " +
			"taken it, and looked at it where it does (docs/probes.md); right to 0.8 % and to " +
			"delivery_clock_us of runs.csv"},
	{Names: "transactions transactions_per_s cpu_us_per_transaction",
		Units: "1 1/s us", Source: "data path",
		Meaning: "of round trips (docs/round-trips.md): requests that were answered; " +
			"cpu_busy_cores over transactions_per_s"},
	{Names: "transactions_lost answers_late",
		Units: "1", Source: "data path",
		Meaning: "of the end that asks by datagrams: requests that were given up, because no " +
			"answer came within --rr-timeout; answers that came for such, or for the second time"},
	{Names: "rtt_count rtt_mean_us rtt_p50_us rtt_p90_us rtt_p99_us rtt_p999_us rtt_max_us",
		Units: "1 us us us us us us", Source: "request sent, or due by the rate, to its answer",
		Meaning: "of the end that asks: answers that were timed, and how long they took, right " +
			"to 0.8 %"},
	{Names: "back_rtt_count back_rtt_mean_us back_rtt_p50_us back_rtt_p90_us back_rtt_p99_us back_rtt_p999_us " +
		"back_rtt_max_us",
		Units: "1 us us us us us us", Source: "the other way: request sent, or due by the rate, to its answer",
		Meaning: "with both: true, of the SUT, which asks the other way: as rtt_"},
	{Names: "connect_count connect_mean_us connect_p50_us connect_p90_us connect_p99_us connect_p999_us connect_max_us",
		Units: "1 us us us us us us", Source: "connection begun, or due by the rate, to its being open",
		Meaning: "of tx crr (docs/round-trips.md), at the end that asks: rtt_ is the sum of this, answer_ and " +
			"close_; of requests that were in the first packet (fastopen) there is none"},
	{Names: "answer_count answer_mean_us answer_p50_us answer_p90_us answer_p99_us answer_p999_us answer_max_us",
		Units: "1 us us us us us us", Source: "connection open, to its answer",
		Meaning: "of tx crr: from when the connection was open, or was begun with the request, to the whole answer"},
	{Names: "close_count close_mean_us close_p50_us close_p90_us close_p99_us close_p999_us close_max_us",
		Units: "1 us us us us us us", Source: "answer whole, to the end of the connection",
		Meaning: "of tx crr: from the answer until the receiver, which closes first, had closed"},
	{Names: "rate_late_max_us",
		Units: "us", Source: "data path, whole flow",
		Meaning: "by how long the latest request was sent after it was due by --rr-rate, for " +
			"want of a CPU or of room in flight; pace_late_mean_us is the mean"},
	{Names: "zerocopy_completions zerocopy_completions_copied",
		Units: "1", Source: "data path",
		Meaning: "a sender's notifications, and those that reported a copy by the kernel"},
	{Names: "answers_zero_copy_bytes answers_copied_bytes",
		Units: "bytes", Source: "data path",
		Meaning: "answers of which the kernel let go in the window, by its notifications: not " +
			"copied, or copied (tx rr-uring-zc, rr-devmem, rr-msg-zerocopy)"},
	{Names: "answers_notifications",
		Units: "1", Source: "data path",
		Meaning: "these notifications"},
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
}

// encrypted describe how payload was encrypted.
var encrypted = []measure.MetricDoc{
	{Names: "tls_version", Units: "1", Source: "data path, whole flow",
		Meaning: "of `--tls` (docs/tls.md): the version of the records, 1.3 or 1.2"},
	{Names: "tls_device tls_no_pad tls_zerocopy", Units: "1", Source: "data path, whole flow",
		Meaning: "of ktls and ktls-hw, 1: the NIC has the keys, by the kernel's count of sessions; the kernel opens " +
			"records straight into the receiver's memory (TLS_RX_EXPECT_NO_PAD); sendfile does not copy " +
			"(TLS_TX_ZEROCOPY_RO)"},
	{Names: "tls_answers_device tls_answers_no_pad", Units: "1", Source: "data path, whole flow",
		Meaning: "of ktls with `tx: rr`: the same of the answers, whose keys are others"},
	{Names: "tls_records tls_gathered_bytes", Units: "1 bytes", Source: "data path, whole flow",
		Meaning: "of user: records that the receiver opened, and bytes that it copied together first, because their " +
			"records crossed buffers"},
}

// written describe the file that payload was written to.
var written = []measure.MetricDoc{
	{Names: measure.MetricThenUnread, Units: "1", Source: "SIOCINQ every 5 ms",
		Meaning: "of `--then write`: in which share of the looks at the flow's socket payload was there, and not " +
			"read yet, of ten looks or more"},
	{Names: "then_file_bytes then_verified_bytes then_overwritten_bytes",
		Units: "bytes", Source: "data path, whole flow",
		Meaning: "of `--then write` (docs/then.md): how long the file is that payload is written to, over and over; " +
			"how much of it was compared with what had been sent; what was not, because more was written over it"},
}

// steered describe how long a receiver waited for more, and on which queue its flow was.
var steered = []measure.MetricDoc{
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
	{Names: "port_queues port_queues_unused port_flows_most",
		Units: "1", Source: "SO_INCOMING_NAPI_ID, before payload",
		Meaning: "where one rule for the port spreads the flows (`--steer port`): queues of the RSS context, how " +
			"many of them no flow's hash has, and how many flows the fullest has"},
}
