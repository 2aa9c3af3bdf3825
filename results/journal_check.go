// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
)

// versionError says that a file was written by a newer zcbench.
type versionError struct {
	Got, Known int
}

func (e *versionError) Error() string {
	return fmt.Sprintf("schema version %d is newer than %d, the newest this build reads; use the zcbench that "+
		"wrote it or a newer one", e.Got, e.Known)
}

// UnfitError is a record that no journal takes, because no reader would use it.
type UnfitError struct{ Err error }

func (e *UnfitError) Error() string { return e.Err.Error() }
func (e *UnfitError) Unwrap() error { return e.Err }

// Check returns why no journal takes r, whatever else it has; nil: a journal would take it.
func Check(r Record) error {
	err := r.validate()
	if err == nil {
		_, err = encodeRun(r)
	}
	return err
}

// Without returns r as a failed run, without its figures, which no journal takes because of why.
func (r Record) Without(why error) Record {
	bare := Record{Schema: SchemaVersion, RunID: r.RunID, SessionID: r.SessionID, Cell: r.Cell, Block: r.Block,
		Seq: r.Seq, Rep: r.Rep, Warmup: r.Warmup, Try: r.Try,
		StartUTCNs: r.StartUTCNs, SUT: Host{Name: r.SUT.Name}, TG: Host{Name: r.TG.Name}, Verdict: Failed,
		Reason: "its figures cannot be stored: " + why.Error()}
	if r.Reason != "" {
		bare.Reason += "; " + r.Reason
	}
	return bare
}

func checkSchema(v int) error {
	switch {
	case v > SchemaVersion:
		return &versionError{Got: v, Known: SchemaVersion}
	case v < 1:
		return fmt.Errorf("no schema version (%d)", v)
	}
	return nil
}

// validate returns an error if a record cannot be used.
func (r *Record) validate() error {
	if err := checkSchema(r.Schema); err != nil {
		return err
	}
	switch {
	case r.RunID == "":
		return errors.New("no run_id")
	case r.Cell.ID == "":
		return errors.New("no cell id")
	case r.Seq < 0:
		return fmt.Errorf("negative seq %d", r.Seq)
	case r.Try < 0:
		return fmt.Errorf("negative try %d", r.Try)
	}
	if err := r.Verdict.validate(); err != nil {
		return err
	}
	for _, h := range []*Host{&r.SUT, &r.TG} {
		if err := h.Path.Check(); err != nil {
			return err
		}
		if err := h.Packets.Check(); err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
		for i := range h.Series {
			if s := &h.Series[i]; len(s.T) != len(s.V) {
				return detailsError{fmt.Errorf("series %q of host %q has %d times and %d values", s.Name, h.Name,
					len(s.T), len(s.V))}
			}
		}
	}
	if err := r.LossFree.Check(); err != nil {
		return err
	}
	if err := r.checkStart(); err != nil {
		return err
	}
	return r.checkFlows()
}

// detailsError is of what may stand on a line of its own, before that of the run.
type detailsError struct{ error }

func (v Verdict) validate() error {
	switch v {
	case OK, Unsupported, Invalid, Failed:
		return nil
	}
	return fmt.Errorf("unknown verdict %q: want ok, unsupported, invalid or failed", string(v))
}

// order knows the run ids and positions of a journal so far. Positions are
// compared within a session: a resumed plan starts again at 0.
type order struct {
	ids map[string]bool
	seq map[string]int
}

func newOrder() order {
	return order{ids: map[string]bool{}, seq: map[string]int{}}
}

func (o order) check(r *Record) error {
	if o.ids[r.RunID] {
		return fmt.Errorf("duplicate run_id %q", r.RunID)
	}
	if last, ok := o.seq[r.SessionID]; ok && r.Seq <= last {
		return fmt.Errorf("run %q is out of order: seq %d after %d in session %q", r.RunID, r.Seq, last, r.SessionID)
	}
	return nil
}

func (o order) add(r *Record) {
	o.ids[r.RunID] = true
	o.seq[r.SessionID] = r.Seq
}
