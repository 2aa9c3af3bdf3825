// SPDX-License-Identifier: MIT

package results

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
)

// DropSegments hold what a TCP flow's sender sent against what its receiver received, in data
// segments from the flow's first to its last: what is missing is what counters and the probe tell
// to have been dropped on the way, or nobody knows. Each end has its part, the sender the sum.
type DropSegments struct {
	Sent          *float64 `json:"sent,omitempty"`          // by a sender, retransmitted ones too
	Retransmitted *float64 `json:"retransmitted,omitempty"` // of them
	Received      *float64 `json:"received,omitempty"`      // by a receiver, also what it had already
	NamedLeast    *float64 `json:"named_least,omitempty"`   // dropped at this end on their way, as was seen
	NamedMost     *float64 `json:"named_most,omitempty"`    // and with what counters tell that was not seen

	// Of a sender, packets that its veths dropped and nobody saw, and the segments that they may
	// be, which are in NamedMost; and of a receiver, packets that its backlog refused. On one
	// machine they are the same packets.
	Refused     *float64 `json:"refused,omitempty"`
	RefusedMost *float64 `json:"refused_most,omitempty"`
	Backlog     *float64 `json:"backlog,omitempty"`

	Lost         *float64 `json:"lost,omitempty"`         // sent less received
	Named        *float64 `json:"named,omitempty"`        // of them at either end
	Unattributed *float64 `json:"unattributed,omitempty"` // the rest; below 0: more were dropped than lost
}

// Balance holds what the receiver received against what the sender sent; both have their parts, and
// are on one machine or not. It reports whether the account closes, which one that is not known
// does.
func (tx *DropSegments) Balance(rx *DropSegments, oneMachine bool) (closes bool) {
	if tx == nil || rx == nil || tx.Sent == nil || tx.Retransmitted == nil || rx.Received == nil ||
		tx.NamedMost == nil || rx.NamedMost == nil ||
		tx.NamedLeast == nil || rx.NamedLeast == nil {
		return true
	}
	txMost := *tx.NamedMost
	if oneMachine {
		txMost -= tx.countedTwice(rx)
	}
	lost, least, most := *tx.Sent-*rx.Received, *tx.NamedLeast+*rx.NamedLeast, txMost+*rx.NamedMost
	switch again := *tx.Retransmitted + txMost; {
	case again == 0:
		lost = 0 // all came, and nothing was sent twice
	case lost < 0 || lost > again:
		// What was lost was sent again, or TCP was told at once: a receiver whose driver puts
		// segments together and does not say how many has too few.
		return true
	}
	tx.Lost, tx.Named = new(lost), new(min(max(lost, least), most))
	tx.Unattributed = new(lost - *tx.Named)
	return math.Abs(*tx.Unattributed) <= 1+lost*mostUnattributed
}

// countedTwice estimates the segments that both ends' counters include: the receiver's backlog
// refused them, and the sender's veth counts that, too.
func (tx *DropSegments) countedTwice(rx *DropSegments) float64 {
	if tx.Refused == nil || tx.RefusedMost == nil || rx.Backlog == nil || *tx.Refused <= 0 {
		return 0
	}
	return *tx.RefusedMost * min(*rx.Backlog / *tx.Refused, 1)
}

// mostUnattributed is the share of the lost segments that may be left: one that was sent again
// for nothing and was under way at the end is no loss.
const mostUnattributed = 1e-4

// rows turns the segments into rows of metrics.csv; probe is the source of the drops that were
// seen.
func (s *DropSegments) rows(probe string) (out []measure.Metric) {
	if s == nil {
		return nil
	}
	const flow = "TCP_INFO"
	for _, x := range []struct {
		name, source string
		v            *float64
	}{{"sent", flow, s.Sent}, {"retransmitted", flow, s.Retransmitted}, {"received", flow, s.Received},
		{"lost", flow, s.Lost},
		{"named", probe, s.Named}, {"unattributed", probe, s.Unattributed}} {
		if x.v != nil {
			out = append(out, measure.Metric{Name: "drop_segments_" + x.name, Unit: "packets", Value: *x.v,
				Source: x.source})
		}
	}
	return out
}
