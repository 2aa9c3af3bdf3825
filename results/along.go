// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/machine/measure"
)

// AlongPath is what passed along the path of interfaces that a run's cell names, and between which
// of them packets vanished, in the steady window. It is the controller's, and in the receiver's
// host: docs/path.md.
type AlongPath struct {
	Seconds    float64    `json:"seconds"` // between the two readings
	Interfaces []PathHop  `json:"interfaces"`
	Between    []PathStep `json:"between"`        // neighbours, both directions
	Ends       []PathEnd  `json:"ends,omitempty"` // what was lost where the path has no neighbour
}

// PathHop is an interface of the path. Its counts are nil where one of its counters was reset.
type PathHop struct {
	Name      string  `json:"name"` // as the path has it
	Kind      string  `json:"kind,omitempty"`
	RxPackets *uint64 `json:"rx_packets,omitempty"`
	TxPackets *uint64 `json:"tx_packets,omitempty"`
	RxBytes   *uint64 `json:"rx_bytes,omitempty"`
	TxBytes   *uint64 `json:"tx_bytes,omitempty"`
}

// PathStep is one direction between two neighbours, by their numbers in the path from 1 on. Its
// figures are nil where a counter of theirs was reset.
type PathStep struct {
	From        int        `json:"from"`
	To          int        `json:"to"`
	Left        string     `json:"left"` // the counter of each that is compared: "rx" or "tx"
	Came        string     `json:"came"`
	Assumed     bool       `json:"assumed,omitempty"` // the kernel does not say how packets get from one to the other
	Sent        *uint64    `json:"sent_packets,omitempty"`
	Arrived     *uint64    `json:"arrived_packets,omitempty"`
	Skew        *uint64    `json:"skew_packets,omitempty"`
	Lost        *int64     `json:"lost_packets,omitempty"`
	LostLeast   *int64     `json:"lost_least_packets,omitempty"`
	LostMost    *int64     `json:"lost_most_packets,omitempty"`
	UntoldLeast *int64     `json:"untold_least_packets,omitempty"`
	UntoldMost  *int64     `json:"untold_most_packets,omitempty"`
	Told        []PathLoss `json:"told,omitempty"`
	Unknown     []string   `json:"waiting_unknown,omitempty"` // queues whose length the kernel does not tell
}

// PathEnd is what an interface dropped before it counted it as sent, or after it counted it as
// received.
type PathEnd struct {
	Hop  int        `json:"interface"` // its number, from 1
	Way  string     `json:"way"`       // "tx" or "rx"
	Told []PathLoss `json:"told"`
}

// PathLoss is a counter of lost packets.
type PathLoss struct {
	Counter string `json:"counter"` // with its interface
	Name    string `json:"name"`    // without
	Packets uint64 `json:"packets"`
}

const (
	mostPathHops   = 64
	mostPathLosses = 16
)

// Check refuses what cannot be of any path; nil of nil.
func (p *AlongPath) Check() error {
	if p == nil {
		return nil
	}
	n := len(p.Interfaces)
	if n < 2 || n > mostPathHops || len(p.Between) > 2*n || len(p.Ends) > 4 {
		return fmt.Errorf("a path of %d interfaces, with %d steps and %d ends", n, len(p.Between), len(p.Ends))
	}
	at := func(i int) bool { return i >= 1 && i <= n }
	way := func(s string) bool { return s == "rx" || s == "tx" }
	for i := range p.Between {
		s := &p.Between[i]
		if !at(s.From) || !at(s.To) || !way(s.Left) || !way(s.Came) || len(s.Told) > mostPathLosses ||
			len(s.Unknown) > mostPathLosses {
			return fmt.Errorf("a step of the path from interface %d of %d to %d", s.From, n, s.To)
		}
		some := (s.Arrived == nil) != (s.Sent == nil) || (s.Skew == nil) != (s.Sent == nil)
		for _, v := range []*int64{s.Lost, s.LostLeast, s.LostMost, s.UntoldLeast, s.UntoldMost} {
			some = some || (v == nil) != (s.Sent == nil)
		}
		if some {
			return errors.New("a step of the path with some of its figures")
		}
	}
	for _, e := range p.Ends {
		if !at(e.Hop) || !way(e.Way) || len(e.Told) > mostPathLosses {
			return fmt.Errorf("an end of the path at interface %d of %d", e.Hop, n)
		}
	}
	return nil
}

// rows turns the path into rows of metrics.csv; a nil path has none.
func (p *AlongPath) rows() (out []measure.Metric) {
	if p == nil {
		return nil
	}
	add := func(name, unit, source string, v float64, of ...string) {
		out = append(out, measure.Metric{Name: name, Of: of, Unit: unit, Value: v, Source: "rtnetlink: " + source})
	}
	for i, h := range p.Interfaces {
		for _, x := range []struct {
			name, unit string
			v          *uint64
		}{{"rx_packets", "packets", h.RxPackets}, {"tx_packets", "packets", h.TxPackets},
			{"rx_bytes", "bytes", h.RxBytes}, {"tx_bytes", "bytes", h.TxBytes}} {
			if x.v != nil {
				add("path_N_"+x.name, x.unit, h.Name, float64(*x.v), strconv.Itoa(i+1))
			}
		}
	}
	for i := range p.Between {
		s := &p.Between[i]
		if s.Sent == nil {
			continue
		}
		from, to, source := strconv.Itoa(s.From), strconv.Itoa(s.To), p.Step(s)
		for _, x := range []struct {
			name string
			v    float64
		}{{"sent", float64(*s.Sent)}, {"arrived", float64(*s.Arrived)}, {"skew", float64(*s.Skew)},
			{"lost", float64(*s.Lost)}, {"lost_least", float64(*s.LostLeast)},
			{"lost_most", float64(*s.LostMost)}, {"untold_least", float64(*s.UntoldLeast)},
			{"untold_most", float64(*s.UntoldMost)}} {
			add("path_N_to_N_"+x.name+"_packets", "packets", source, x.v, from, to)
		}
		for _, l := range s.Told {
			add("path_N_to_N_told_NAME_packets", "packets", l.Counter, float64(l.Packets), from, to, metricWord(l.Name))
		}
	}
	for _, e := range p.Ends {
		for _, l := range e.Told {
			add("path_N_"+e.Way+"_told_NAME_packets", "packets", l.Counter, float64(l.Packets), strconv.Itoa(e.Hop),
				metricWord(l.Name))
		}
	}
	return out
}

// Step formats a step: "tg:eth0 tx -> vif1 rx".
func (p *AlongPath) Step(s *PathStep) string {
	return fmt.Sprintf("%s %s -> %s %s", p.Interfaces[s.From-1].Name, s.Left, p.Interfaces[s.To-1].Name, s.Came)
}
