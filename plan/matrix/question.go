// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// Question asks which way of receiving to use, and which of sending: a plan that nobody has to
// write. Receivers are compared at capacity and at equal rates, senders at capacity.
type Question struct {
	RX, TX []string // modes to be compared
	Paces  []int    // percent of what the slowest receiver holds, besides capacity
	Flows  []int    // numbers of flows; senders are compared with the first
}

// The modes at the other end of those that are compared, which are to be the limit: one that copies
// nothing, and one that drops what comes.
const (
	lightSender   = "sendfile"
	lightReceiver = "tcp-trunc"
	usualMode     = "tcp" // that others are compared with
)

// Ask makes the cells of a question. All else that can be chosen they have of common; who never
// gets the payload touches none, and is a bound: at capacity alone.
func (s *Spec) Ask(q Question, common plan.Cell) {
	s.Cells, s.About = nil, []string{"rx", "tx"}
	for _, flows := range q.Flows {
		for _, rx := range q.RX {
			s.ask(common, rx, lightSender, 0, flows)
			if m, err := modes.Find(stream.RX, rx); err == nil && m.Has(stream.NoPayload) {
				continue
			}
			for _, percent := range q.Paces {
				s.ask(common, rx, lightSender, percent, flows)
			}
		}
	}
	for _, tx := range q.TX {
		s.ask(common, lightReceiver, tx, 0, q.Flows[0])
	}
	s.declare()
}

// ask adds a cell, unless the plan has it.
func (s *Spec) ask(common plan.Cell, rx, tx string, percent, flows int) {
	c := common
	c.RX, c.TX = rx, tx
	if percent > 0 {
		c.PaceBitsPS, c.PacePercent, c.LossFree = 0, percent, false
	}
	if flows > 1 {
		c.Flows = flows
	}
	if m, err := modes.Find(stream.RX, rx); err == nil && m.Has(stream.NoPayload) {
		c.Touch = string(stream.TouchNone)
	}
	c.Drop()
	s.add(c, &common)
}

// add names a cell by what it has beside its modes and what is common to all, and adds it.
func (s *Spec) add(c plan.Cell, common *plan.Cell) {
	c.ID = c.RX + "/" + c.TX
	for i := range plan.Factors {
		o := &plan.Factors[i]
		if slices.Contains([]string{"hw_gro", "header_split", "turn", "pace", "flows"}, o.Name) &&
			o.Raw(&c) != o.Raw(common) {
			c.ID += " " + o.Name + "=" + o.Value(&c)
		}
	}
	if !slices.ContainsFunc(s.Cells, func(o plan.Cell) bool { return o.Key() == c.Key() }) {
		s.Cells = append(s.Cells, c)
	}
}

// declare declares which comparisons of a question count: those of receivers whose application gets
// the payload with the usual one, or where no receivers are compared, of senders. Where the usual
// one is not there, the first takes its place.
func (s *Spec) declare() {
	base := s.Cells[0]
	if i := slices.IndexFunc(s.Cells, func(c plan.Cell) bool { return c.RX == usualMode }); i >= 0 {
		base = s.Cells[i]
	} else if i := slices.IndexFunc(s.Cells, func(c plan.Cell) bool { return c.TX == usualMode }); i >= 0 {
		base = s.Cells[i]
	}
	s.Base, s.Primary = &base, nil
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Turn != "" { // of another length, which takes no part
			continue
		}
		receivers := c.RX != base.RX && c.TX == base.TX && !unread(c)
		if receivers || unread(&base) && c.TX != base.TX {
			s.Primary = append(s.Primary, c.ID)
		}
	}
}

func unread(c *plan.Cell) bool {
	m, err := modes.Find(stream.RX, c.RX)
	return err == nil && m.Has(stream.NoPayload)
}

// SplitHeaders adapts a question to hosts where a mode needs header split, and hardware GRO for it:
// then all receivers that are compared have these. The usual one stays as the hosts are, too, so
// that what changes with them is not hidden.
func (s *Spec) SplitHeaders(hwGRO bool) {
	all, o := s.Cells, plan.LookupOption("header_split")
	if s.Base == nil || slices.ContainsFunc(all, func(c plan.Cell) bool { return c.HeaderSplit != nil }) {
		return
	}
	found := s.Base
	s.Cells = nil
	for _, c := range all {
		compared := c.TX == found.TX && !unread(&c)
		if !compared || c.RX == found.RX && o.MayConcern(&c) && c.Turn == "" {
			s.Cells = append(s.Cells, c)
		}
		if !compared {
			continue
		}
		if hwGRO {
			c.HWGRO = new(true)
		}
		if c.HeaderSplit = new(true); !o.MayConcern(&c) {
			c.HeaderSplit = nil
		}
		s.add(c, found)
	}
	s.declare()
	s.Against = nil
	for _, c := range s.Cells {
		has := map[string]string{o.Name: o.Raw(&c)}
		if c.RX == found.RX && !slices.ContainsFunc(s.Against,
			func(a map[string]string) bool { return a[o.Name] == has[o.Name] }) {
			s.Against = append(s.Against, has)
		}
	}
}

// TakeHWGRO takes back what [Spec.GiveHWGRO] gave.
func (s *Spec) TakeHWGRO() {
	for i := range s.Cells {
		s.Cells[i].HWGRO = nil
	}
	if s.Base != nil {
		s.Base.HWGRO = nil
	}
}

// GiveHWGRO gives all cells of TCP flows hardware GRO, for hosts where a mode cannot do without,
// and reports whether it did: what the plan says of it anywhere stays. Drivers refuse native XDP
// together with it.
func (s *Spec) GiveHWGRO() (gave bool) {
	said := func(c plan.Cell) bool { return c.HWGRO != nil }
	if slices.ContainsFunc(s.Cells, said) {
		return false
	}
	for i := range s.Cells {
		if c := &s.Cells[i]; !c.MovesPackets() {
			c.HWGRO, gave = new(true), true
		}
	}
	if s.Base != nil && gave && !s.Base.MovesPackets() {
		s.Base.HWGRO = new(true)
	}
	return gave
}
