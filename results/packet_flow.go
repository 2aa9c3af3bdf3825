// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/measure"
)

// Packets is what became of the packets of a run whose modes move such, datagrams or frames, from
// the first to the last of its flows. Nil figures were not measured. Each end has its part, the
// receiver the sum.
type Packets struct {
	Sent       *uint64 `json:"sent,omitempty"`
	Received   *uint64 `json:"received,omitempty"`     // and right, also those that had come before
	Lost       *uint64 `json:"lost,omitempty"`         // sent and never received
	OutOfOrder *uint64 `json:"out_of_order,omitempty"` // of the received: after a later one
	Duplicated *uint64 `json:"duplicated,omitempty"`   // of the received: had come before
	Corrupted  *uint64 `json:"corrupted,omitempty"`    // came, and not as they were sent
	Answers    *uint64 `json:"answers,omitempty"`      // of round trips: sent by the receiver; come to the sender

	// Counted are those of the kernel's exact counters of lost packets that counted meanwhile in
	// the end's network namespace. MostInOne is how many packets one of them can be, where GSO or
	// GRO puts them together; nil: one.
	Counted   []DropCounter `json:"counted,omitempty"`
	MostInOne *uint64       `json:"most_in_one,omitempty"`
	// Unaccounted are, of the lost, those that no counter tells; below 0: the counters tell of
	// more than were lost. Nil: not known.
	Unaccounted *float64 `json:"unaccounted,omitempty"`
}

// PerLinkPacket returns how many of the sender's packets one packet of the receiver's interface
// carried; nil: not known. The NIC, or a step before it, splits those of UDP_SEGMENT; a veth does
// not.
func (r *Record) PerLinkPacket() *float64 {
	n := r.SUT.Value("link_rx_packets")
	if r.SUT.PacketsPerS == nil || r.SUT.DurationS == nil || !(n > 0) {
		return nil
	}
	return new(*r.SUT.PacketsPerS * *r.SUT.DurationS / n)
}

// Bounds of an account of packets, so that no sum or product of some of its figures overflows.
// Of GSO or GRO one packet is of 64 others at most, with a newer kernel's UDP_MAX_SEGMENTS of 128.
const (
	mostCounted   = 100     // counters
	mostCount     = 1 << 47 // of one: those of all, times mostInOne, fit an int64
	mostInOne     = 128
	mostPacketsOf = 1 << 60 // of a flow
)

// LostShare returns the share of the sent packets that were lost; nil: not known.
func (p *Packets) LostShare() *float64 {
	if p == nil || p.Lost == nil || p.Sent == nil || *p.Sent == 0 {
		return nil
	}
	return new(float64(*p.Lost) / float64(*p.Sent))
}

// Check refuses what no run has.
func (p *Packets) Check() error {
	if p == nil {
		return nil
	}
	if len(p.Counted) > mostCounted {
		return fmt.Errorf("%d counters of lost packets", len(p.Counted))
	}
	for _, c := range p.Counted {
		switch {
		case c.Name == "" || c.Value == nil:
			return errors.New("a counter of lost packets without a name or value")
		case !(*c.Value >= 0 && *c.Value <= mostCount) || *c.Value != math.Trunc(*c.Value):
			return fmt.Errorf("%s counted %g packets", plaintext.Line(c.Name), *c.Value)
		}
	}
	for _, n := range []*uint64{p.Sent, p.Received, p.Lost, p.Corrupted, p.Answers} {
		if n != nil && *n > mostPacketsOf {
			return fmt.Errorf("%d packets", *n)
		}
	}
	if n := p.MostInOne; n != nil && (*n < 1 || *n > mostInOne) {
		return fmt.Errorf("%d packets in one", *n)
	}
	of := func(part, all *uint64) bool { return part == nil || all != nil && *part <= *all }
	switch {
	case !of(p.Lost, p.Sent):
		return errors.New("more packets lost than sent")
	case !of(p.OutOfOrder, p.Received), !of(p.Duplicated, p.Received):
		return errors.New("more packets out of order or duplicated than received")
	}
	return nil
}

// rows turns the counts into rows of metrics.csv.
func (p *Packets) rows() (out []measure.Metric) {
	if p == nil {
		return nil
	}
	const source = measure.DataPath + ", whole flow"
	for _, x := range []struct {
		name string
		v    *uint64
	}{{"sent", p.Sent}, {"received", p.Received}, {"lost", p.Lost}, {"out_of_order", p.OutOfOrder},
		{"duplicated", p.Duplicated},
		{"corrupted", p.Corrupted}, {"answers", p.Answers}, {"most_in_one", p.MostInOne}} {
		if x.v != nil {
			out = append(out, measure.Metric{Name: "packets_" + x.name, Unit: "packets", Value: float64(*x.v),
				Source: source})
		}
	}
	if p.Unaccounted != nil {
		out = append(out, measure.Metric{Name: "packets_unaccounted", Unit: "packets", Value: *p.Unaccounted,
			Source: measure.DataPath + " and counters, whole flow"})
	}
	for _, c := range p.Counted {
		out = append(out, measure.Metric{Name: "packets_counted_NAME", Of: []string{metricWord(c.Name)},
			Unit:  "packets",
			Value: *c.Value, Source: "counters: " + c.Source})
	}
	return out
}

// PacketsIn reads what rows wrote, of an end's figures; nil: there are none.
func PacketsIn(rows []measure.Metric) *Packets {
	p, some := &Packets{}, false
	fields := map[string]**uint64{"sent": &p.Sent, "received": &p.Received, "lost": &p.Lost,
		"out_of_order": &p.OutOfOrder, "duplicated": &p.Duplicated,
		"corrupted": &p.Corrupted, "answers": &p.Answers, "most_in_one": &p.MostInOne}
	for _, m := range rows {
		name, ok := strings.CutPrefix(m.Named(), "packets_")
		if !ok || !(m.Value >= 0 && m.Value <= mostPacketsOf) {
			continue
		}
		if at := fields[name]; at != nil {
			*at, some = new(uint64(m.Value)), true
		} else if name, ok := strings.CutPrefix(name, "counted_"); ok {
			p.Counted = append(p.Counted, DropCounter{Name: name, Source: strings.TrimPrefix(m.Source, "counters: "),
				Value: new(m.Value)})
		}
	}
	if !some {
		return nil
	}
	return p
}

// NsPerPacket computes the CPU time per packet, nanoseconds, for which this host's measured CPUs
// were busy, for the flow or not. Nil if not measured, or no packet was transferred.
func (h *Host) NsPerPacket() *float64 {
	if h.CPUBusyCores == nil || h.PacketsPerS == nil {
		return nil
	}
	return finite(*h.CPUBusyCores * 1e9 / *h.PacketsPerS)
}

// RateNs returns the time between two packets, nanoseconds; nil: not measured, or none came.
func (h *Host) RateNs() *float64 {
	if h.PacketsPerS == nil {
		return nil
	}
	return finite(1e9 / *h.PacketsPerS)
}

// PacketsText formats what became of a run's packets: "sent 10, received 9, lost 1".
func (p *Packets) PacketsText() string {
	if p == nil {
		return ""
	}
	var words []string
	for _, x := range []struct {
		name string
		v    *uint64
		rare bool
	}{{"sent", p.Sent, false}, {"received", p.Received, false}, {"lost", p.Lost, false},
		{"out of order", p.OutOfOrder, true}, {"twice", p.Duplicated, true}, {"corrupted", p.Corrupted, true},
		{"answers", p.Answers, false}} {
		if x.v != nil && (!x.rare || *x.v > 0) {
			words = append(words, fmt.Sprintf("%s %d", x.name, *x.v))
		}
	}
	return strings.Join(words, ", ")
}
