// SPDX-License-Identifier: MIT

package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// Played is a plan as a journal has it, so that it can be played again from that alone: what
// file and flags came to.
type Played struct {
	Spec    *Spec  `json:"spec"`
	Purpose string `json:"purpose,omitempty"`
	// Fit, Fold and NoteMTU are those of the experiment: the demo's.
	Fit     bool `json:"fit,omitempty"`
	Fold    bool `json:"fold,omitempty"`
	NoteMTU bool `json:"note_mtu,omitempty"`
}

// Encode is the text for the journal.
func (p *Played) Encode() (json.RawMessage, error) {
	p.Purpose = p.Spec.Purpose
	return json.Marshal(p)
}

// Replay reads the plan of a journal strictly: it may have come from anybody. What the limits of
// experiment files refuse, it refuses, but for what commands may choose without limits. name is
// the journal's. It is the plan that was played, or an error.
func Replay(name string, plan *results.Plan) (*Played, error) {
	switch {
	case plan == nil:
		return nil, fmt.Errorf("%s does not say what was run: it is not of zcbench matrix, run or demo", name)
	case plan.Played == nil && plan.File == "":
		return nil, fmt.Errorf("%s is of an older zcbench, and does not say what was run", name)
	}
	p, err := decodePlayed(name, plan)
	if err == nil {
		err = p.Spec.checkPlayed(p.Fit)
	}
	if err == nil && p.Spec.Hash() != plan.Hash {
		err = fmt.Errorf("its plan (hash %.12s) is not the one that was played (%.12s): the file was changed, or this zcbench reads it otherwise", p.Spec.Hash(), plan.Hash)
	}
	if err == nil {
		p.Spec.Power, err = powerOf(plan.Power)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.Spec.Purpose, p.Spec.File, p.Spec.fileName = p.Purpose, plan.File, name
	return p, nil
}

func decodePlayed(name string, plan *results.Plan) (*Played, error) {
	if plan.Played == nil {
		s, err := Parse(name, []byte(plan.File))
		return &Played{Spec: s, Purpose: purposeOf(s)}, err
	}
	p := new(Played)
	dec := json.NewDecoder(bytes.NewReader(plan.Played))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("the plan that was played, at byte %d of it: %w", dec.InputOffset(), err)
	}
	if p.Spec == nil {
		return nil, errors.New("the plan that was played is empty")
	}
	return p, nil
}

func purposeOf(s *Spec) string {
	if s == nil {
		return ""
	}
	return s.Purpose
}

// checkPlayed refuses a plan that neither a file nor flags could have made. fit leaves the
// windows to the tool.
func (s *Spec) checkPlayed(fit bool) error {
	if _, err := parseFileName(s.Name); err != nil {
		return err
	}
	for _, e := range []End{s.SUT, s.TG} {
		if _, err := parseDev(e.Dev); e.Dev != "" && err != nil {
			return err
		}
		if _, err := parseAddr(e.Addr); e.Addr != "" && err != nil {
			return err
		}
		if n := e.Node; n != nil && (*n < AnyNode || *n > mostNode) {
			return fmt.Errorf("NUMA node %d", *n)
		}
		for name, v := range e.Settings.Sysctl {
			if err := tune.CheckSetting("sysctl "+name, v); err != nil {
				return err
			}
		}
	}
	if (s.SUT.Host == "") != (s.TG.Host == "") {
		return errors.New("one end has a host, and the other one none")
	}
	for i := range Keys {
		k, scratch := &Keys[i], New()
		if err := k.Say(scratch, k.Get(s)); err != nil && !(fit && k.Type == "duration") {
			return fmt.Errorf("%s: %w", k.Name, err)
		}
	}
	if n := len(s.Cells); n < 1 || n > MaxCells {
		return fmt.Errorf("%d cells", n)
	}
	if runs := int64(s.Repetitions) * int64(s.Replays()) * int64(len(s.Cells)); runs > 10*MaxRuns {
		return fmt.Errorf("%d runs", runs)
	}
	if a := s.Adaptive; a != nil && (a.Min < 1 || a.Min > s.Repetitions || !(a.Interval > 0 && a.Interval < 1)) {
		return errors.New("adaptive: no such numbers")
	}
	known := map[string]bool{}
	for _, c := range append(slices.Clone(s.Cells), s.All, s.SUT.Settings.Host, s.TG.Settings.Host) {
		if err := checkChosen(c, known); err != nil {
			return err
		}
	}
	return nil
}

// checkChosen refuses what no file may set. Which modes the cell has does not count: what holds
// for all cells has none. known are choices that were looked at before.
func checkChosen(c results.Cell, known map[string]bool) error {
	for i := range results.Options {
		o := &results.Options[i]
		v := o.Raw(&c)
		choice := o.Name + " " + v
		if v == "" || known[choice] {
			continue
		}
		known[choice] = true
		var again results.Cell
		if err := o.Set(&again, v); err != nil {
			return &results.OptionError{Option: o, Value: v, Err: err}
		}
		if o.Kind == results.OfModes {
			continue
		}
		if err := Settable(o, v); err != nil {
			return &results.OptionError{Option: o, Value: v, Err: err}
		}
	}
	return nil
}

// powerOf is how power was measured, as a file would say it.
func powerOf(plan *results.PowerPlan) (p Power, err error) {
	if plan == nil || len(plan.Sources) == 0 {
		return p, nil
	}
	if len(plan.Sources) > MaxPower {
		return p, fmt.Errorf("more than %d power sources", MaxPower)
	}
	var specs []power.Spec
	for _, text := range plan.Sources {
		s := PowerSource{Text: text, Line: 1, Column: 1}
		if text != power.Auto && text != power.Later {
			if s.Spec, err = parsePower(text, specs); err != nil {
				return p, fmt.Errorf("power source %.80q cannot be had again as it is on record, where secrets are left out: %w: name the sources with --power, or measure none with --power ''", text, err)
			}
			specs = append(specs, s.Spec)
		}
		p.Sources = append(p.Sources, s)
	}
	for _, x := range []struct {
		seconds     float64
		to          **time.Duration
		least, most time.Duration
	}{{plan.IntervalS, &p.Interval, power.LeastInterval, power.MostInterval}, {plan.IdleS, &p.Idle, 0, mostDuration}, {plan.GuardS, &p.Guard, 0, mostDuration}} {
		if !(x.seconds >= x.least.Seconds() && x.seconds <= x.most.Seconds()) {
			return p, fmt.Errorf("power is measured every, or with rests of, %g s: want %v to %v", x.seconds, x.least, x.most)
		}
		*x.to = new(time.Duration(x.seconds * float64(time.Second)))
	}
	return p, nil
}
