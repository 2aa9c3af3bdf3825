// SPDX-License-Identifier: MIT

package tune

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results/stat"
)

// The confirmation, as far as the file does not say: so many starts, of windows so long that it
// takes a third of the time, but no longer than there would be a use for. Where that is too little
// time, there are fewer starts, but as many as an interval takes.
const (
	confirmStarts = 12
	confirmWindow = 2 * time.Second
	confirmShare  = 3
)

// BestFile is the experiment that repeats a confirmation, in the folder of its results.
const BestFile = "best.yaml"

// frozen is what is confirmed of a mode.
type frozen struct {
	*entry
	arm        []int // the winner's levels
	base, best plan.Cell
}

// isDefault reports whether the defaults won.
func (f *frozen) isDefault() bool { return f.base.Key() == f.best.Key() }

// freeze names the winners: those of the modes that could run.
func (s *Search) freeze() (all []frozen) {
	for _, e := range s.entries {
		if e.race == nil {
			continue
		}
		l, ok := e.race.Leaders()
		if !ok {
			e.Cannot = append(e.Cannot, Cannot{Mode: e.Name, Reason: "none of its runs counted"})
			continue
		}
		if l.Gain == 0 {
			s.note("%s: no run of its defaults counted in the search: the confirmation says what is gained", e.Name)
			if !slices.ContainsFunc(e.Cannot, func(c Cannot) bool { return c.What == atDefaults }) {
				e.Cannot = append(e.Cannot, Cannot{e.Name, atDefaults, "none of their runs counted in the search",
					"make less else run on these hosts meanwhile"})
			}
		}
		f := frozen{entry: e, arm: e.field.Arms[l.Winner]}
		f.base, f.best = s.cell(e, e.field.Arms[e.field.Default]), s.cell(e, f.arm)
		all = append(all, f)
	}
	return all
}

// reference is the mode whose best the others' are compared with: tcp, or else the first.
func reference(all []frozen) int {
	return max(0, slices.IndexFunc(all, func(f frozen) bool { return f.base.RX == "tcp" }))
}

// confirmed plans how long the confirmation of so many cells takes, and with which windows.
func (s *Search) confirmed(cells int) (window, takes time.Duration, starts int) {
	starts, window = confirmStarts, confirmWindow
	if s.spec.Said("repetitions") {
		starts = s.spec.Repetitions
	}
	turn := s.plan.TurnLength()
	each := func(d time.Duration) time.Duration { // of a cell in a start, with about what is around it
		if turn == 0 {
			return d + s.spec.RampUp + s.spec.RampDown + 500*time.Millisecond
		}
		rounds := matrix.RoundsOf(d, turn) + matrix.RoundsOf(4*turn, turn)
		return 2*time.Duration(rounds)*(turn+20*time.Millisecond) + 250*time.Millisecond
	}
	whole := func(d time.Duration) time.Duration { return time.Duration((starts+1)*cells) * each(d) }
	if s.spec.Said("duration") {
		return s.spec.Duration, whole(s.spec.Duration), starts
	}
	least := max(100*time.Millisecond, turnsRaced*turn)
	for window = max(window, least); window > least && whole(window) > s.time/confirmShare; {
		window = max(least, window*9/10)
	}
	for starts > stat.MinRuns && !s.spec.Said("repetitions") && whole(window) > s.time/confirmShare {
		starts--
	}
	return window.Round(time.Millisecond), whole(window), starts
}

// write writes the experiment that confirms what was found. how is the command that searched, flags
// are what matrix needs beside the file to repeat it.
func (s *Search) write(all []frozen, how, flags string) (text string, cells []plan.Cell, err error) {
	text, err = s.spec.Without("name", "description", "purpose", "factors", "include", "exclude", "short", "baseline",
		"compare", "adaptive", "replays", "repetitions", "warmup", "warmup_duration", "order", "turn", "duration",
		"ramp_up", "seed")
	if err != nil {
		return "", nil, err
	}
	turn := s.plan.TurnLength()
	window, _, starts := s.confirmed(2 * len(all))
	alone := false
	for i := range all {
		for _, c := range []plan.Cell{all[i].base, all[i].best} {
			if alone = alone || c.Alone(); len(cells) == 0 || c.Key() != cells[len(cells)-1].Key() {
				cells = append(cells, c)
			}
		}
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("# %s: each mode at its defaults and at its best, in other starts than those by which\n"+
		"# these settings were chosen. %s repeats it.", how,
		plaintext.Line(strings.TrimSpace("zcbench matrix "+BestFile+" "+flags)))
	say("name: %s-best", strings.TrimSuffix(s.spec.Name, "-best"))
	switch {
	case turn == 0:
		say("order: blocks")
	case !alone:
		say("order: turns\nturn: %v", turn)
	default:
		say("order: turns")
	}
	ramp := s.spec.RampUp
	if turn > 0 && !s.spec.Said("ramp_up") {
		ramp = 4 * turn
	}
	say("duration: %v\nramp_up: %v\nwarmup_duration: %v\nrepetitions: %d\nseed: %d", window, ramp,
		max(100*time.Millisecond, turnsTried*turn), starts, s.spec.Seed+1)
	out.WriteString(text)
	say("include:")
	for i := range cells {
		switch c := &cells[i]; {
		case turn == 0:
			c.Turn = ""
		case alone:
			c.Turn = cmp.Or(c.Turn, turn.String())
		}
		say("  - %s", s.spec.Item(&cells[i]))
	}
	best := func(f *frozen) string {
		i := slices.IndexFunc(cells, func(c plan.Cell) bool { c.Turn = f.best.Turn; return c.Key() == f.best.Key() })
		return s.spec.Item(&cells[max(0, i)])
	}
	if ref := reference(all); len(all) > 1 {
		say("baseline: %s", best(&all[ref]))
	}
	return out.String(), cells, nil
}

// writable reports whether an experiment can be written from the user's, before there is anything
// to confirm.
func (s *Search) writable() error {
	var all []frozen
	for _, e := range s.entries {
		all = append(all, frozen{entry: e, base: e.Base, best: e.Base})
	}
	text, cells, err := s.write(all, "", "")
	if err == nil {
		_, err = s.parse(BestFile, text, cells)
	}
	return err
}

// parse reads the experiment that was written, and holds it to what was frozen.
func (s *Search) parse(name, text string, cells []plan.Cell) (*matrix.Spec, error) {
	spec, err := matrix.Parse(name, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("the experiment that confirms cannot be read: %w", err)
	}
	same := len(spec.Cells) == len(cells)
	for i := 0; same && i < len(cells); i++ {
		same = spec.Cells[i].Key() == cells[i].Key()
	}
	if !same {
		return nil, fmt.Errorf("%s does not say the cells that were frozen", name)
	}
	spec.SharedWithSSH = s.spec.SharedWithSSH // a flag may have allowed it
	if s.spec.SUT.HostAt == (matrix.At{}) {   // flags named them
		spec.SUT.NameHost(s.spec.SUT.Host)
		spec.TG.NameHost(s.spec.TG.Host)
	}
	return spec, nil
}

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}
