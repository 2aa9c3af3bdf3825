// SPDX-License-Identifier: MIT

package tally

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
)

const sourceQueue = "netdev qstats-get"

func readQueues(r *Reader, x *Reading) (out []measure.Count, err error) {
	for _, queues := range []bool{false, true} {
		qs, err := r.dev.QStats(queues)
		if err != nil {
			return out, err
		}
		out, x.QStats = append(out, queueCounts(qs)...), append(x.QStats, qs...)
	}
	return out, nil
}

func queueCounts(qs []nic.QStat) (out []measure.Count) {
	for _, q := range qs {
		for _, v := range q.Values {
			c := measure.Count{Name: v.Name, Metric: "qstats_" + word(v.Name), Unit: unitOfQueue(v.Name),
				Source: sourceQueue, Value: v.Value}
			if q.Queue >= 0 {
				way, name, _ := strings.Cut(v.Name, "-") // rx-packets
				c.Name = fmt.Sprintf("%s%d %s", way, q.Queue, name)
				c.Metric = fmt.Sprintf("qstats_%s%d_%s", way, q.Queue, word(name))
			}
			out = append(out, c)
		}
	}
	return out
}

// unitOfQueue: all are packets that are not bytes or times that something happened (netdev.yaml).
func unitOfQueue(name string) string {
	switch {
	case strings.HasSuffix(name, "bytes"):
		return "bytes"
	case name == "rx-alloc-fail", name == "tx-stop", name == "tx-wake":
		return "1"
	}
	return "packets"
}

var queueMetrics = []measure.MetricDoc{
	{Names: "qstats_NAME qstats_rxN_NAME qstats_txN_NAME", Units: "*", Source: sourceQueue,
		Meaning: "the interface's and each queue's, as netlink calls them (6.9)"},
}
