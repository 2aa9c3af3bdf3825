// SPDX-License-Identifier: MIT

package tally

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
)

func readQdiscs(r *Reader, x *Reading) ([]measure.Count, error) {
	if x.Link == nil {
		return nil, nil // which is told
	}
	qs, err := r.route.Qdiscs(x.Link.Index, true)
	if err != nil {
		return nil, fmt.Errorf("read the queueing disciplines of %s: %w", x.Link.Name, err)
	}
	return qdiscCounts(qs)
}

// mostQdiscs is how many queueing disciplines are read: mq has one for each TX queue.
const mostQdiscs = 1024

func qdiscCounts(qs []rtnl.Qdisc) (out []measure.Count, err error) {
	if len(qs) > mostQdiscs {
		err = fmt.Errorf("the interface has %d queueing disciplines: the first %d are read", len(qs), mostQdiscs)
		qs = qs[:mostQdiscs]
	}
	var root uint32
	for _, q := range qs {
		if q.Parent == rtnl.QdiscRoot {
			root = q.Handle
		}
	}
	for _, q := range qs {
		at, kind := place(q.Parent, root), q.Kind
		if kind == "noqueue" {
			continue // it counts nothing
		}
		for _, f := range []struct {
			name, unit string
			kind       measure.Kind
			v          uint64
		}{{"bytes", "bytes", measure.Counter, q.Bytes}, {"packets", "packets", measure.Counter, q.Packets},
			{"drops", "packets", measure.Counter32, uint64(q.Drops)},
			{"overlimits", "1", measure.Counter32, uint64(q.Overlimits)},
			{"requeues", "1", measure.Counter32, uint64(q.Requeues)},
			{"backlog", "bytes", measure.Gauge, uint64(q.Backlog)},
			{"qlen", "packets", measure.Gauge, uint64(q.QLen)}} {
			out = append(out, measure.Count{Name: at + " " + kind + " " + f.name,
				Metric: "qdisc_" + word(at) + "_" + word(kind) + "_" + f.name, Unit: f.unit, Source: "rtnetlink",
				Kind: f.kind, Value: f.v})
		}
	}
	return out, err
}

// place names where a queueing discipline is: root, ingress, or the class that it is in. It leaves
// out the class's major number where that is the root's: the kernel chooses that anew each time.
func place(parent, root uint32) string {
	switch {
	case parent == rtnl.QdiscRoot:
		return "root"
	case parent == rtnl.QdiscIngress:
		return "ingress"
	case parent>>16 == root>>16:
		return fmt.Sprintf("%d", parent&0xffff)
	}
	return fmt.Sprintf("%x:%x", parent>>16, parent&0xffff)
}

var qdiscMetrics = []measure.MetricDoc{
	{Names: "qdisc_NAME", Units: "*", Source: "rtnetlink",
		Meaning: "of each queueing discipline, by where it is and its kind: " +
			"`qdisc_root_mq_drops`, `qdisc_1_fq_overlimits`"},
}
