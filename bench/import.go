// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// PowerImport joins logs of meters with runs that are over.
type PowerImport struct {
	Logs []power.Spec // csv sources; "sut:" and "tg:" are for one host, without for both
	// Lead makes the first log power_w also of runs that have one of another
	// source. Without it only runs that have none take it.
	Lead bool
}

// ErrApart is that the logs cover no run.
var ErrApart = errors.New("the logs cover no run")

// imported is what came of a [PowerImport].
type imported struct {
	Joined  int               // runs that got a figure
	Skipped []results.Problem // what was not used of the journal
	In      *results.Folder   // the new folder, still open, for [DeriveIn]
}

// Run reads the runs of dir, which stay as they are, and writes them with the
// logs' figures into a new folder. If no run got one, nothing is written.
func (p PowerImport) Run(dir, out string) (imported, error) {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return imported{}, err
	}
	defer in.Close()
	j, err := in.Read()
	if err != nil {
		return imported{}, err
	}
	if err := results.Vacant(out); err != nil {
		return imported{}, err
	}
	logs := make([]power.Trace, len(p.Logs))
	for i, s := range p.Logs {
		if logs[i], err = power.ReadLog(s); err != nil {
			return imported{}, err
		}
	}
	g := plan.DefaultGates()
	if plan := j.Header.Plan; plan != nil {
		g = plan.Gates
	}
	joined := 0
	for i := range j.Records {
		ok, err := p.join(&j.Records[i], logs, g.IdleDrift)
		if err != nil {
			return imported{}, err
		}
		if ok {
			joined++
			// The others have judged it already.
			judge.Run(plan.Gates{IdleDrift: g.IdleDrift, Asked: g.Asked, IgnoreInert: true}, &j.Records[i])
		}
	}
	if joined == 0 {
		return imported{}, p.apart(j.Records, logs)
	}
	w, err := results.Create(out, j.Header)
	if err != nil {
		return imported{}, err
	}
	if err := environment.Copy(in, w.Folder()); err != nil {
		return imported{}, errors.Join(err, w.Close())
	}
	for _, r := range j.Records {
		if err := w.Append(r); err != nil {
			return imported{}, errors.Join(err, w.Close())
		}
	}
	return imported{joined, j.Skipped, w.Folder()}, w.Leave()
}

// join enters the logs' figures into one run. mostDrift is the limit of its gate for the drift of
// idle power; nil: it has none.
func (p PowerImport) join(rec *results.Record, logs []power.Trace, mostDrift *float64) (joined bool, err error) {
	if rec.StartUTCNs == 0 {
		return false, nil
	}
	if rec.Turns != nil {
		rec.Warnings = append(rec.Warnings,
			"no power of a log: the run had turns, and a log does not tell whose it was")
		return false, nil
	}
	var told []string                  // flags of these figures
	led := map[ends.Role]*power.Spec{} // the one whose figure became the host's
	for _, role := range ends.Roles {
		h := rec.Host(role)
		at, ok := power.TimesOf(h.DurationS, h.Metrics, rec.StartUTCNs)
		if !ok || rec.Warmup && at.GuardNs == 0 {
			continue
		}
		at.MostDrift = mostDrift
		free := p.Lead || h.PowerSource == ""
		for k, s := range p.Logs {
			if s.Host != "" && s.Host != role {
				continue
			}
			if slices.ContainsFunc(h.Metrics, func(m measure.Metric) bool { return m.Source == s.String() }) {
				return false, fmt.Errorf(
					"run %s already has figures of power source %s: give the log another name, ?name=other", rec.RunID,
					s)
			}
			f := power.Measure(logs[k].Around(at), at)
			logs[k].Slow = cmp.Or(logs[k].Slow, f.Slow)
			if rec.Warmup {
				continue
			}
			joined = joined || f.GrossW != nil
			rec.Warnings = append(rec.Warnings, named(role.Label(), addPower(h, &f))...)
			if free {
				leadPower(h, &f)
				flag(rec, f.Flags...)
				told = append(told, f.Flags...)
				free, led[role] = false, &p.Logs[k]
			}
		}
	}
	if len(led) > 0 { // what was shared before is no longer both ends' figure
		rec.Flags = slices.DeleteFunc(rec.Flags, func(f string) bool {
			return f == results.FlagSharedPower ||
				f == results.FlagMixedScopes
		})
		markMixed(rec)
	}
	forgetSlow(rec, led, told)
	if sut, tg := led[ends.SUT], led[ends.TG]; sut != nil && tg != nil && sut.SameInstrument(*tg) &&
		rec.SUT.PowerW != nil && rec.TG.PowerW != nil {
		flag(rec, results.FlagSharedPower)
	}
	if lacks := func(h *results.Host) bool { return h.PowerSource != "" && h.PowerW == nil }; !lacks(&rec.SUT) &&
		!lacks(&rec.TG) {
		rec.Flags = slices.DeleteFunc(rec.Flags, func(f string) bool { return f == power.FlagMissing })
	}
	return joined, nil
}

// forgetSlow takes the marks of slow meters off a run whose power is now that of logs alone, unless
// they tell the same of these. led are the logs by role, told their flags.
func forgetSlow(rec *results.Record, led map[ends.Role]*power.Spec, told []string) {
	for _, role := range ends.Roles {
		if led[role] == nil && rec.Host(role).PowerSource != "" {
			return
		}
	}
	rec.Flags = slices.DeleteFunc(rec.Flags, func(f string) bool {
		return (f == power.FlagSlow || f == power.FlagResponse) && !slices.Contains(told, f)
	})
}

// apart returns an error that shows when the runs were and when the logs.
func (p PowerImport) apart(recs []results.Record, logs []power.Trace) error {
	var first, last int64
	for _, r := range recs {
		if r.StartUTCNs != 0 && !r.Warmup {
			if first == 0 {
				first = r.StartUTCNs
			}
			last = r.StartUTCNs
		}
	}
	if first == 0 {
		return fmt.Errorf("%w: no run of the journal has a time", ErrApart)
	}
	utc := func(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z") }
	text := fmt.Sprintf("the runs' windows begin from %s to %s", utc(first), utc(last))
	for i, l := range logs {
		text += fmt.Sprintf("; %s has %d readings, %v apart, from %s to %s (offset applied)", p.Logs[i], len(l.Samples),
			l.Interval, utc(l.Samples[0].AtNs), utc(l.Samples[len(l.Samples)-1].AtNs))
	}
	return fmt.Errorf("%w: %s", ErrApart, text)
}

// flag adds what a record does not have.
func flag(rec *results.Record, flags ...string) {
	for _, f := range flags {
		if !slices.Contains(rec.Flags, f) {
			rec.Flags = append(rec.Flags, f)
		}
	}
}
