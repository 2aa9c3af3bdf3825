// SPDX-License-Identifier: MIT

package hops

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// Counts are a hop's counters since it was made.
type Counts struct {
	rtnl.Stats            // read on the way there
	Again      rtnl.Stats // read once more on the way back
	QdiscDrops uint64     // of its outermost queueing disciplines, 32 bits of them
	QLen       uint64     // packets that waited there
	Qdisc      uint32     // handle: another one begins anew
}

// Stack is what the CPUs of a machine have received, when the counters were read.
type Stack struct {
	// Backlog is the packets in the backlogs of all CPUs, of whatever interface, in the middle.
	Backlog      uint64
	BacklogKnown bool // no: the kernel does not tell it, or nobody asked as no queue is between
	// Processed is how many packets each CPU has received, by its number; it wraps at 32 bits.
	Processed map[uint32]uint32
}

// Reading is the counters of all hops, read there and back: first, second, ..., last, last, ...,
// second, first. So at each moment in the middle a counter was between its two readings, however
// fast packets passed and however long the reader was kept waiting.
type Reading struct {
	AtNs   int64 // CLOCK_MONOTONIC, when the first was read
	TookNs int64 // until it was read again
	Hops   []Counts
	Stack
	far farReading
}

// Read reads the counters of all hops, there and back, and in the middle the queues that packets
// wait in between two of them. Those of other hosts it has read before that and after it.
func (p *Path) Read() (Reading, error) {
	if len(p.far) == 0 {
		return p.read()
	}
	first, err := p.askFar()
	if err != nil {
		return Reading{}, err
	}
	r, err := p.read()
	if err != nil {
		return r, err
	}
	again, err := p.askFar()
	if err != nil {
		return r, err
	}
	p.join(&r, first, again)
	return r, nil
}

// read reads the hops that this process reads; those of others stay as they are.
func (p *Path) read() (r Reading, err error) {
	own := p.own()
	r.AtNs, r.Hops = counter.Monotonic(), make([]Counts, len(p.Hops))
	for _, i := range own {
		if r.Hops[i].Stats, err = p.stats(i); err != nil {
			return r, err
		}
	}
	queued := p.queued()
	if slices.ContainsFunc(own, func(i int) bool { return queued[i] }) {
		// Before the queues behind them: what comes in between was not counted by the first
		// reading.
		r.Stack.read()
	}
	for _, i := range own {
		if queued[i] {
			if err := p.qdisc(i, &r.Hops[i]); err != nil {
				return r, err
			}
		}
	}
	for _, i := range slices.Backward(own) {
		if r.Hops[i].Again, err = p.stats(i); err != nil {
			return r, err
		}
	}
	r.TookNs = counter.Monotonic() - r.AtNs
	for _, i := range own {
		if !queued[i] {
			if err := p.qdisc(i, &r.Hops[i]); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// own lists the hops that this process reads.
func (p *Path) own() (out []int) {
	for i := range p.Hops {
		if p.Hops[i].reader == 0 {
			out = append(out, i)
		}
	}
	return out
}

func (p *Path) stats(i int) (s rtnl.Stats, err error) {
	h := &p.Hops[i]
	l, err := h.space.conn.Link(h.Index)
	switch {
	case errors.Is(err, unix.ENODEV) || err == nil && l.Name != h.Dev:
		return s, &PlaceError{h.Place, errors.New("it is gone or has been renamed")}
	case err != nil:
		return s, &PlaceError{h.Place, err}
	case l.Stats == nil:
		return s, &PlaceError{h.Place, errors.New("the kernel sent no statistics")}
	}
	return *l.Stats, nil
}

// queued marks the hops whose queueing disciplines are between two counters that are compared.
func (p *Path) queued() []bool {
	out := make([]bool, len(p.Hops))
	for _, l := range p.Links {
		out[l.From] = out[l.From] || l.Relation == Across || l.Relation == up
		out[l.To] = out[l.To] || l.Relation == Across || l.Relation == down
	}
	return out
}

func (p *Path) qdisc(i int, c *Counts) error {
	h := &p.Hops[i]
	qs, err := h.space.conn.Qdiscs(h.Index, true)
	if err != nil {
		return &PlaceError{h.Place, fmt.Errorf("read its queueing disciplines: %w", err)}
	}
	for _, q := range qs {
		if q.Parent == rtnl.QdiscRoot {
			c.QdiscDrops, c.QLen, c.Qdisc = uint64(q.Drops), uint64(q.QLen), q.Handle
		}
	}
	return nil
}

func (r *Stack) read() {
	rows, _ := counter.ReadSoftnet(counter.FS{}) // none where they cannot be read
	r.Backlog, r.BacklogKnown = counter.SoftnetBacklog(rows)
	r.Processed = make(map[uint32]uint32, len(rows))
	for _, row := range rows {
		r.Processed[row.Index] = row.Processed
	}
}
