// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// hostSnapshots are what both hosts are like: as they were found when the session began, and how
// each cell found them, with what it had set.
type hostSnapshots struct {
	in    *results.Folder // where they are kept; nil: nowhere
	found map[ends.Role]*survey.Snapshot
	names map[ends.Role]string                  // their hashes
	cells map[plan.CellKey]map[ends.Role]string // hashes
}

// surveys takes snapshots of both hosts: one, where they are the same, so that they do not
// differ in what was busy a moment later.
func (o *Options) surveys(ctx context.Context, sut, tg *host.Host,
	live bool) (of map[ends.Role]*survey.Snapshot, err error) {
	of = map[ends.Role]*survey.Snapshot{}
	if of[ends.SUT], err = o.survey(ctx, sut, ends.SUT, live); err != nil {
		return nil, err
	}
	if sut.Spec.Name == tg.Spec.Name && len(o.lanes) == 0 && o.SUTDev == o.TGDev &&
		o.SUTUpper.name() == o.TGUpper.name() {
		of[ends.TG] = of[ends.SUT]
		return of, nil
	}
	of[ends.TG], err = o.survey(ctx, tg, ends.TG, live)
	return of, err
}

// survey takes a snapshot of a host.
func (o *Options) survey(ctx context.Context, h *host.Host, role ends.Role, live bool) (*survey.Snapshot,
	error) {
	p := wire.SurveyParams{Dev: o.SUTDev, Upper: o.SUTUpper.name(), More: o.devs(stream.RX)[1:], Live: live}
	if role == ends.TG {
		p.Dev, p.Upper, p.More = o.TGDev, o.TGUpper.name(), o.devs(stream.TX)[1:]
	}
	var s wire.Survey
	if err := h.Call(ctx, wire.OpSurvey, p, &s); err != nil {
		return nil, fmt.Errorf("ask %s for its snapshot: %w", h.Spec.Name, err)
	}
	return s.Parse()
}

// survey takes the snapshots of both hosts as they were found.
func (st *stage) survey(ctx context.Context) (*hostSnapshots, error) {
	found, err := st.opt.surveys(ctx, st.SUT, st.TG, false)
	if err != nil {
		return nil, err
	}
	s := &hostSnapshots{found: found, names: map[ends.Role]string{},
		cells: map[plan.CellKey]map[ends.Role]string{}}
	for role, was := range found {
		s.names[role] = was.Hash()
	}
	return s, nil
}

// keep writes the snapshots of the hosts as they were found beside the journal, if there is one,
// and those of cells later.
func (s *hostSnapshots) keep(w *results.Writer) error {
	if w == nil {
		return nil
	}
	s.in = w.Folder()
	for _, role := range ends.Roles {
		if _, err := environment.Write(s.in, s.found[role]); err != nil {
			return &FolderError{err}
		}
	}
	return nil
}

// look takes a snapshot of what may have changed, when a cell's settings are set for the first
// time in a session. Its warnings are the record's. Where a host does not say what it is like,
// the run has no snapshot, and the cell's next one asks again.
func (s *hostSnapshots) look(ctx context.Context, o *Options, sut, tg *host.Host, c plan.Cell) (warnings []string) {
	if s == nil || s.cells[c.Key()][ends.SUT] != "" {
		return nil
	}
	now, err := o.surveys(ctx, sut, tg, true)
	if err != nil {
		s.cells[c.Key()] = map[ends.Role]string{ends.SUT: "", ends.TG: ""}
		return []string{fmt.Sprintf("no snapshot of the hosts with the cell's settings: %v", err)}
	}
	hashes := map[ends.Role]string{}
	for _, role := range ends.Roles {
		found, hash := s.found[role], s.names[role]
		change := found.Now(now[role]).SinceNamed(found, hash)
		if change == found { // which is in the folder
			hashes[role] = hash
			continue
		}
		hashes[role] = change.Hash()
		if s.in == nil {
			continue
		}
		if _, err := environment.Write(s.in, change); err != nil {
			warnings = append(warnings, fmt.Sprintf("no snapshot of the host: %v", err))
		}
	}
	s.cells[c.Key()] = hashes
	return warnings
}

// hash of a host's snapshot for a cell; "" where none was taken. A cell that nobody looked at yet
// has what was found when the session began.
func (s *hostSnapshots) hash(c plan.Cell, role ends.Role) string {
	if s == nil {
		return ""
	}
	if h, ok := s.cells[c.Key()][role]; ok {
		return h
	}
	return s.names[role]
}

// mark names the snapshots in a record: the controller's word, whatever an agent says.
func (s *hostSnapshots) mark(rec *results.Record, c plan.Cell) {
	for _, role := range ends.Roles {
		rec.Host(role).Env.Environment = s.hash(c, role)
	}
}
