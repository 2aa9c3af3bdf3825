// SPDX-License-Identifier: MIT

package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
)

// Played is a plan as a journal has it, so that it can be played again from that alone: what
// file and flags came to.
type Played struct {
	Spec    *Spec  `json:"spec"`
	Purpose string `json:"purpose,omitempty"`
	Shape
}

// Shape is what a plan becomes on the hosts that it is played on.
type Shape struct {
	// Fit makes windows so short that the whole fits into the demo's time, as far as the plan does
	// not say; no more than a quarter of its runs is made again.
	Fit bool `json:"fit,omitempty"`
	// Fold makes a mode that cannot run one cell, and not one with each mode of the other end.
	Fold bool `json:"fold,omitempty"`
	// FoldCopied does so with a mode that cannot but copy on the path, and it is run once, unless
	// the plan's gates let copied payload count.
	FoldCopied bool `json:"fold_copied,omitempty"`
	// SplitHeaders does what [Spec.SplitHeaders] does, where a mode that takes a queue over can
	// run.
	SplitHeaders bool `json:"split_headers,omitempty"`
	// HWGRO does what [Spec.GiveHWGRO] does, where a mode that takes a queue over can run and the
	// driver splits headers only with hardware GRO.
	HWGRO bool `json:"hw_gro,omitempty"`
	// GaveHWGRO says that it did: on other hosts that is not what the plan asked for.
	GaveHWGRO bool `json:"gave_hw_gro,omitempty"`
	// NoteMTU gives the records the path's MTU, where their cells say nothing of it.
	NoteMTU bool `json:"note_mtu,omitempty"`
}

// Encode encodes the plan for the journal.
func (p *Played) Encode() (json.RawMessage, error) {
	p.Purpose = p.Spec.Purpose
	return json.Marshal(p)
}

// Replay reads the plan of a journal strictly: it may have come from anybody. What the limits of
// experiment files refuse, it refuses, but for what commands may choose without limits. name is
// the journal's. It is the plan that was played, or an error.
func Replay(name string, plan *plan.Origin) (*Played, error) {
	switch {
	case plan == nil:
		return nil, fmt.Errorf("%s does not say what was run: it does not come from zcbench matrix, run or demo", name)
	case plan.Played == nil && plan.File == "":
		return nil, fmt.Errorf("%s comes from an older zcbench, and does not say what was run", name)
	}
	p, err := decodePlayed(name, plan)
	if err == nil {
		err = p.Spec.checkPlayed(p.Fit)
	}
	if err == nil && p.Spec.Hash() != plan.Hash {
		err = fmt.Errorf("its plan (hash %.12s) is not the one that was run (%.12s): the file was changed, or "+
			"this zcbench reads it differently", p.Spec.Hash(), plan.Hash)
	}
	if err == nil {
		p.Spec.Power, err = powerOf(plan.Power)
	}
	if err == nil && p.Purpose != "" {
		_, err = parsePurpose(p.Purpose)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, short(err))
	}
	p.Spec.Purpose, p.Spec.File, p.Spec.fileName = p.Purpose, plan.File, name
	p.Spec.SUT.HostAt, p.Spec.TG.HostAt = At{1, 1}, At{1, 1}
	return p, nil
}

func decodePlayed(name string, plan *plan.Origin) (*Played, error) {
	if plan.Played == nil {
		s, err := Parse(name, []byte(plan.File))
		return &Played{Spec: s, Purpose: purposeOf(s)}, err
	}
	p := new(Played)
	dec := json.NewDecoder(bytes.NewReader(plan.Played))
	dec.DisallowUnknownFields()
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("the plan that was run, at its byte %d: %w", dec.InputOffset(), short(err))
	}
	if p.Spec == nil {
		return nil, errors.New("the plan that was run is empty")
	}
	p.Spec.Short = plan.Short
	return p, nil
}

// short cuts the error of a text that somebody else wrote, and that it may quote, to one line that
// is not long.
func short(err error) error {
	const most = 500
	text := plaintext.Line(strings.TrimPrefix(err.Error(), "json: "))
	switch {
	case len(text) > most:
		return errors.New(strings.ToValidUTF8(text[:most], "") + "...")
	case text != err.Error():
		return errors.New(text)
	}
	return err
}

func purposeOf(s *Spec) string {
	if s == nil {
		return ""
	}
	return s.Purpose
}

// powerOf converts how power was measured to what a file would say.
func powerOf(plan *plan.PowerPlan) (p Power, err error) {
	if plan == nil || len(plan.Sources) == 0 && plan.IntervalS == 0 {
		return p, nil
	}
	if len(plan.Sources) > maxPower {
		return p, fmt.Errorf("more than %d power sources", maxPower)
	}
	var specs []power.Spec
	for _, text := range plan.Sources {
		s := powerSource{Text: text, Line: 1, Column: 1}
		if text != power.Auto && text != power.Later {
			if s.Spec, err = parsePower(text, specs); err == nil && s.Spec.Name == "command" {
				// See power.Spec.Public: none is on record whole, and NAME#HASH is none to run.
				err = errors.New("of a command, only the program's name and a hash are recorded")
			}
			if err != nil {
				return p, fmt.Errorf("power source %.80q cannot be reopened from the record, which leaves "+
					"secrets out: %w: name the sources with --power, or measure no power with --power ''", text, err)
			}
			specs = append(specs, s.Spec)
		}
		p.Sources = append(p.Sources, s)
	}
	for _, x := range []struct {
		seconds     float64
		to          **time.Duration
		least, most time.Duration
	}{{plan.IntervalS, &p.Interval, power.LeastInterval, power.MostInterval}, {plan.IdleS, &p.Idle, 0, mostDuration},
		{plan.GuardS, &p.Guard, 0, mostDuration}} {
		if !(x.seconds >= x.least.Seconds() && x.seconds <= x.most.Seconds()) {
			return p, fmt.Errorf("power is measured every, or with rests of, %g s: want %v to %v", x.seconds, x.least,
				x.most)
		}
		*x.to = new(time.Duration(x.seconds * float64(time.Second)))
	}
	return p, nil
}
