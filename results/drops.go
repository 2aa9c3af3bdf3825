// SPDX-License-Identifier: MIT

package results

import "github.com/zcbench/zcbench/machine/measure"

// Drops are the packets of an end's network namespace that the kernel dropped in the window
// (docs/probes.md). Figures that are nil were not measured.
type Drops struct {
	Packets *float64      `json:"packets"`              // of all places
	Flow    *float64      `json:"flow_packets"`         // of them to or from the data port
	Unnamed *float64      `json:"unnamed_packets"`      // of them in no row of Places
	NotLost *float64      `json:"not_lost_packets"`     // beside them: freed as dropped though they were delivered
	Missing *float64      `json:"unattributed_packets"` // that counters tell and nothing has shown, super-packets once
	Places  []Drop        `json:"places,omitempty"`     // most packets first
	Counted []DropCounter `json:"counted,omitempty"`    // of the kernel's exact counters, those that counted
	// Segments are the flow's own, of all of it; nil: not known.
	Segments *DropSegments `json:"segments,omitempty"`
}

// Drop is packets that were dropped for a reason by a function.
type Drop struct {
	Reason   string   `json:"reason"`          // of the kernel's enum: "SOCKET_RCVBUFF"
	Function string   `json:"function"`        // empty: not known
	Where    string   `json:"where,omitempty"` // in full, with the interfaces
	Packets  *float64 `json:"packets"`         // that GSO or GRO had made one of are counted one by one
	SKBs     *float64 `json:"skbs"`            // and here as the kernel has them
	Flow     *float64 `json:"flow_packets"`    // to or from the data port
}

// DropCounter is one of the kernel's counters of lost packets.
type DropCounter struct {
	Name   string   `json:"counter"`
	Source string   `json:"source"`
	Value  *float64 `json:"value"`
}

// Key joins what is the same in all runs.
func (d *Drop) Key() string { return d.Reason + " at " + d.place() }

func (d *Drop) place() string {
	if d.Function == "" {
		return "unknown place"
	}
	return d.Function
}

// Figures lists the figures of the drop.
func (d *Drop) Figures() []ProbeFigure {
	return []ProbeFigure{{"packets", "packets", &d.Packets}, {"skbs", "packets", &d.SKBs},
		{"flow_packets", "packets", &d.Flow}}
}

// rows turns the drops into rows of metrics.csv.
func (d *Drops) rows() (out []measure.Metric) {
	if d == nil {
		return nil
	}
	const source = probeSource + " tp_btf/kfree_skb"
	add := func(name, source string, v *float64, of ...string) {
		if v != nil {
			out = append(out, measure.Metric{Name: name, Of: of, Unit: "packets", Value: *v, Source: source})
		}
	}
	add("drop_packets", source, d.Packets)
	add("drop_flow_packets", source, d.Flow)
	add("drop_unnamed_packets", source, d.Unnamed)
	add("drop_not_lost_packets", source, d.NotLost)
	add("drop_unattributed_packets", source, d.Missing)
	for i := range d.Places {
		p := &d.Places[i]
		add("drop_REASON_at_FUNCTION_packets", source+"; "+p.Where, p.Packets, metricWord(p.Reason),
			metricWord(p.place()))
	}
	out = append(out, d.Segments.rows(source)...)
	for _, c := range d.Counted {
		add("drop_counted_NAME", "counters: "+c.Source, c.Value, metricWord(c.Name))
	}
	return out
}

// metricWord makes of a name of the kernel's, or of a program's, what stands in the name of a
// metric.
func metricWord(name string) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c >= 'A' && c <= 'Z':
			b[i] = c - 'A' + 'a'
		case c < '0' || c > '9' && c < 'a' || c > 'z':
			b[i] = '_'
		}
	}
	return string(b)
}
