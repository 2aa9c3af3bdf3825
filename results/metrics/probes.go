// SPDX-License-Identifier: MIT

package metrics

import "github.com/zcbench/zcbench/machine/measure"

// segments describe which segments were lost, and by whose drops.
var segments = []measure.MetricDoc{
	{Names: "drop_segments_sent drop_segments_retransmitted drop_segments_received drop_segments_lost",
		Units: "packets", Source: "TCP_INFO",
		Meaning: "of the flow's data, from its first segment to its last: sent, by its sender, and " +
			"of these sent again; come to its receiver's TCP; the difference, at the sender"},
	{Names: "drop_segments_named drop_segments_unattributed",
		Units: "packets", Source: "eBPF",
		Meaning: "of the lost ones, those that counters and the probe of both ends show to have " +
			"been dropped on their way; and the rest, below 0 where more were dropped than lost " +
			"(docs/probes.md)"},
}
