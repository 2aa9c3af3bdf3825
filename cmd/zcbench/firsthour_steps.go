// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// doctor writes down what both hosts can run, and what their drivers answered.
func (f *firstHour) doctor(cmd *cobra.Command, b *bundle) (out []step) {
	for _, role := range ends.Roles {
		spec, dev := f.host(role), f.devs[role]
		what := role.Label() + ", " + dev
		again := quoted("zcbench", "doctor", "--host", spec, "--dev", dev)
		d, err := diagnose(cmd, spec, dev, peerFlags{})
		if err != nil {
			out = append(out, brokenOff(cmd.Context(), failed(stepDoctor, what, "doctor did not come to its end", err,
				again)))
			continue
		}
		var text bytes.Buffer
		d.print(&text)
		s := step{Step: stepDoctor, What: what, Came: fine, Found: canRun(d, role), Again: again}
		rec, err := recordOf(cmd, spec, dev)
		var tape bytes.Buffer
		if err == nil {
			err = rec.Write(&tape)
		}
		if err == nil {
			err = b.write(string(role)+"-record.json", tape.Bytes())
		}
		if err != nil {
			s = brokenOff(cmd.Context(), failed(stepDoctor, what, "its record could not be made", err,
				again+" --record record.json"))
		}
		if err := b.write(string(role)+"-doctor.txt", text.Bytes()); err != nil {
			s = failed(stepDoctor, what, "it could not be written down", err, again)
		}
		out = append(out, s)
	}
	return out
}

// canRun sums up what a host can do with TCP in its role.
func canRun(d *diagnosis, role ends.Role) string {
	of := map[ends.Role]stream.Role{ends.SUT: stream.RX, ends.TG: stream.TX}[role]
	var can, not []string
	for _, l := range d.Modes {
		m, err := modes.Find(l.Role, l.Name)
		switch {
		case err != nil || l.Role != of || m.Kind != stream.Stream:
		case l.Supported && l.Doubt == "":
			can = append(can, l.Name)
		default:
			not = append(not, l.Name)
		}
	}
	text := "can run " + strings.Join(can, " ")
	if not != nil {
		text += fmt.Sprintf("; not, or in doubt: %s (%s-doctor.txt says why)", strings.Join(not, " "), role)
	}
	return text
}

// proof moves the payload by each receive mode.
func (f *firstHour) proof(cmd *cobra.Command, b *bundle) []step {
	return f.prove(cmd, b, stepProof, false)
}

// control does so by a wrong queue.
func (f *firstHour) control(cmd *cobra.Command, b *bundle) []step {
	return f.prove(cmd, b, stepControl, true)
}

func (f *firstHour) prove(cmd *cobra.Command, b *bundle, name string, control bool) (out []step) {
	cases := slices.DeleteFunc(bench.ModeProofs(), func(c bench.ProofCase) bool {
		return (c.Cell.Control != "") != control
	})
	recs, err := bench.Prove(cmd.Context(), bench.ProofOptions{SUT: f.sut, TG: f.tg, Dev: f.dev, TGDev: f.tgDev,
		Dir: b.path(name), ToolVersion: version.Tool(), Cases: cases, SharedWithSSH: f.shared,
		Progress: proofLines{cmd.ErrOrStderr()}, Notices: cmd.ErrOrStderr()})
	if len(recs) > 0 {
		err = errors.Join(err, derived(b.path(name)))
	}
	if err != nil {
		out = append(out, brokenOff(cmd.Context(), failed(name, "the runs", fmt.Sprintf(
			"they ended early, after %d of %d", len(recs), len(cases)), err, f.again(name))))
	}
	for i, row := range bench.JudgeProof(cases, recs) {
		at := slices.IndexFunc(recs, func(r results.Record) bool { return r.Cell.ID == row.Name })
		if at < 0 {
			out = append(out, step{Step: name, What: row.Name, Came: unmade, Found: "it was not run",
				Again: f.again(name)})
			continue
		}
		s := f.proved1(name, &cases[i], &row, &recs[at])
		if s.Came == failing && at == len(recs)-1 && recs[at].Verdict == results.Failed {
			s = brokenOff(cmd.Context(), s) // the last one, at which the interrupt came
		}
		out = append(out, s)
	}
	return out
}

// proved1 says what a run has shown.
func (f *firstHour) proved1(name string, c *bench.ProofCase, row *bench.ProofRow, rec *results.Record) step {
	s := step{Step: name, What: row.Name, Reason: row.Reason, Fix: row.Fix, Again: f.again(name)}
	if c.Invalid == "" {
		s.Again = quoted(append(append([]string{"zcbench", "run"}, f.hosts()...), "--rx", row.RX, "--tx", row.TX,
			"--touch", "verify", "--message-size", "1M", "--duration", "2s")...)
	}
	switch {
	case row.AsExpected && c.Invalid != "":
		s.Came, s.Found = fine, "found out: "+copiedText(*row)+" copied, and the run is invalid"
	case row.AsExpected:
		s.Came, s.Found = fine, fmt.Sprintf("%s bytes verified, %s copied", grouped(&row.Bytes), copiedText(*row))
		if c.Copies {
			s.Found = fmt.Sprintf("%s bytes verified; it always copies", grouped(&row.Bytes))
		} else {
			f.proved[row.RX] = true
		}
	case rec.Verdict == results.Unsupported:
		s.Came, s.Found = cannot, "unsupported"
	case rec.Expected:
		s.Came, s.Found = cannot, copiedText(*row)+" copied, as it must be over this link"
	default:
		s.Came, s.Found = failing, strings.Join(row.Wrong, "; ")
	}
	return s
}

// proofLines tells of runs that end when all bytes have arrived: a line as each has ended.
type proofLines struct{ w io.Writer }

func (proofLines) Plan(int, time.Duration) {}
func (proofLines) Begin(matrix.Run)        {}
func (proofLines) Skip(matrix.Run)         {}
func (proofLines) Again(matrix.Run)        {}
func (proofLines) End()                    {}

func (p proofLines) Done(r results.Record) { fmt.Fprintf(p.w, "  %s: %s\n", r.Cell.ID, r.Verdict) }

// derived makes the files of a results folder.
func derived(dir string) error {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	_, _, err = bench.DeriveIn(in)
	return err
}

// decide asks which mode to use.
func (f *firstHour) decide(cmd *cobra.Command, b *bundle) []step {
	var text bytes.Buffer
	err := f.decideCommand(cmd, &text, b.path("decide"))
	what, again := "which mode to use", quoted(append(append([]string{"zcbench", "decide"}, f.hosts()...),
		f.decideFlags("out/decide")...)...)
	if text.Len() > 0 {
		err = errors.Join(err, b.write("decide.txt", text.Bytes()))
	}
	first := sentence(text.String())
	switch s := (*cli.StatusError)(nil); {
	case errors.As(err, &s) && s.Err == nil:
		return []step{brokenOff(cmd.Context(), failed(stepDecide, what, "it ended early, a run failed, or nothing was "+
			"learnt: decide/report.html. "+first, nil, again))}
	case err != nil:
		return []step{brokenOff(cmd.Context(), failed(stepDecide, what, "it could not be made", err, again))}
	}
	return []step{{Step: stepDecide, What: what, Came: fine, Found: first, Again: again}}
}

// decideFlags are those of its short form.
func (f *firstHour) decideFlags(out string) []string {
	// A turn of a given length: decide would try several first, which takes longer than the
	// windows.
	return []string{"--flows", "1", "--repetitions", fmt.Sprint(f.reps), "--duration", f.duration.String(), "--turn",
		"60ms", "--out", out}
}

// decideCommand runs zcbench decide, which prints its answer to w.
func (f *firstHour) decideCommand(cmd *cobra.Command, w io.Writer, out string, more ...string) error {
	d := decideCommand()
	d.SetArgs(slices.Concat(f.hosts(), f.decideFlags(out), more))
	d.SetOut(w)
	d.SetErr(cmd.ErrOrStderr())
	d.SilenceErrors, d.SilenceUsage = true, true
	return d.ExecuteContext(cmd.Context())
}

// sentence is the first of a text.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 2000)]), " ")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	return text[:min(len(text), 400)]
}
