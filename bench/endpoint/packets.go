// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/results"
)

// packetLedger is what the counters of lost packets of the end's network namespace told before the
// first packet of a run and after the last.
type packetLedger struct {
	before, after ledger.Counters
	known         bool // both were read
	err           error
}

// beginLedger reads them when all flows are open, and none has sent.
func (r *run) beginLedger() {
	if r.end.path.Kind.Packets() {
		r.ledger.before, r.ledger.err = ledger.Read()
	}
}

// endLedger reads them when all flows have ended.
func (r *run) endLedger() {
	l := &r.ledger
	if !r.end.path.Kind.Packets() || l.err != nil {
		return
	}
	l.after, l.err = ledger.Read()
	l.known = l.err == nil
}

// fillPackets fills the figures of a flow of packets; w is the window's.
func (r *run) fillPackets(h *results.Host, w stream.Counters, seconds float64) {
	if !r.end.path.Kind.Packets() {
		return
	}
	all, p := sum(r.end.counters()), &results.Packets{}
	h.PacketsPerS, h.Packets = new(float64(w.Packets)/seconds), p
	if r.end.spec.Role == stream.TX {
		p.Sent = &all.Packets
	} else {
		p.Received, p.OutOfOrder, p.Duplicated, p.Corrupted = &all.Packets, &all.OutOfOrder, &all.Duplicated,
			&all.Corrupted
		p.Sent, p.Lost = r.told(all)
	}
	if r.end.first().trips() {
		p.Answers = new(all.Transactions + all.AnswersLate) // those of the sender that came
	}
	for _, f := range r.end.flows {
		if n := f.result.evidence.MostInOne; n > 1 && (p.MostInOne == nil || *p.MostInOne < n) {
			p.MostInOne = &n
		}
	}
	if r.ledger.err != nil {
		r.warnings = append(r.warnings, "unknown where packets were lost: "+r.ledger.err.Error())
	}
	if !r.ledger.known {
		return
	}
	p.Counted = r.lostByPath()
	for _, c := range ledger.Between(r.ledger.before, r.ledger.after) {
		if at := r.end.path.LostAt; at != nil && !slices.Contains(at, c.Name) {
			continue // what it dropped itself it has received
		}
		if slices.ContainsFunc(p.Counted, func(x results.DropCounter) bool { return x.Name == c.Name }) {
			continue // the path knows better
		}
		if c.Count > 0 && ledger.OfPackets(c.Name) {
			p.Counted = append(p.Counted, results.DropCounter{Name: c.Name, Source: c.Source,
				Value: new(float64(c.Count))})
		}
	}
}

// lostByPath lists what the paths know to be lost. It takes the place of counters that also count
// others' packets.
func (r *run) lostByPath() (of []results.DropCounter) {
	for _, f := range r.end.flows {
		for _, x := range f.result.evidence.Lost {
			of = append(of, results.DropCounter{Name: x.Name, Source: "data path", Value: &x.Value})
		}
	}
	return of
}

// told sums how many packets the senders of all flows say that they sent, and how many of them did
// not come; nil: one of them has not said it.
func (r *run) told(all stream.Counters) (sent, lost *uint64) {
	var n uint64
	for _, f := range r.end.flows {
		if f.Conn == nil || f.result.err != nil || !f.done {
			return nil, nil
		}
		n += f.Conn.Sent
	}
	if came := all.Packets - all.Duplicated; came <= n {
		lost = new(n - came)
	}
	return &n, lost
}
