// SPDX-License-Identifier: MIT

// Package powerflag has the flags of commands that measure power. It is apart from
// package cli because of what it needs of the controller: zcrecv and zcsend have none.
package powerflag

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
)

// Flags are those of commands that measure power beside their runs.
type Flags struct {
	sources               []string
	interval, idle, guard time.Duration
	flags                 *pflag.FlagSet
}

// AddFlags defines the flags, with the given rest and guard unless the user says
// otherwise.
func (p *Flags) AddFlags(cmd *cobra.Command, idle, guard time.Duration) {
	f := cmd.Flags()
	p.flags = f
	f.StringSliceVar(&p.sources, "power", nil, "power sources (list them: zcbench power --source list); auto: all "+
		"that need no address; later: none now, a log is added with zcbench power import; the first one fills "+
		"power_w; sut:SOURCE and tg:SOURCE apply to one host")
	f.DurationVar(&p.interval, "power-interval", power.DefaultInterval,
		"time between readings, if the source is fast enough")
	f.DurationVar(&p.idle, "power-idle", idle, "idle time to measure before the runs and after each; 0: none")
	f.DurationVar(&p.guard, "power-guard", guard,
		"unmeasured time: load before and after the window, and rest before --power-idle; SPEC requires 10s")
}

// Given reports whether the user named the sources, or that there are none.
func (p *Flags) Given() bool { return p.flags.Changed("power") }

// Under puts the flags that were given above what an experiment file says, which then
// has no sources left that do not count.
func (p *Flags) Under(file *matrix.Power) {
	if p.Given() {
		file.Sources = nil
	}
	for _, s := range file.Sources {
		p.sources = append(p.sources, s.Text)
	}
	for _, x := range []struct {
		flag string
		to   *time.Duration
		said *time.Duration
	}{{"power-interval", &p.interval, file.Interval}, {"power-idle", &p.idle, file.Idle},
		{"power-guard", &p.guard, file.Guard}} {
		if x.said != nil && !p.flags.Changed(x.flag) {
			*x.to = *x.said
		}
	}
}

// Options reads the flags.
func (p *Flags) Options() (bench.PowerOptions, error) {
	o := bench.PowerOptions{Interval: p.interval, Idle: p.idle, Guard: p.guard, Later: slices.Contains(p.sources,
		power.Later)}
	var err error
	if o.Sources, o.Auto, err = power.ParseSpecs(slices.DeleteFunc(slices.Clone(p.sources),
		func(s string) bool { return s == power.Later })); err != nil {
		return o, cli.UsageError(err)
	}
	if p.interval < power.LeastInterval || p.interval > power.MostInterval {
		return o, cli.Usagef("--power-interval %v: must be %v to %v", p.interval, power.LeastInterval,
			power.MostInterval)
	}
	if p.idle < 0 || p.guard < 0 {
		return o, cli.Usagef("--power-idle and --power-guard must not be negative")
	}
	return o, nil
}

// Words are the flags with which another command measures power as this one does, beside what the
// file says. Of a command with a secret in it only the program is named, which is none to run.
func (p *Flags) Words() (words []string) {
	for _, text := range p.sources {
		if s, err := power.ParseSpec(text); err == nil && cmdline.SecretIn(s.Target) != "" {
			text = s.Public()
		}
		if p.Given() {
			words = append(words, "--power", text)
		}
	}
	if len(p.sources) == 0 {
		return nil
	}
	if p.flags.Changed("power-interval") {
		words = append(words, "--power-interval", p.interval.String())
	}
	return append(words, "--power-idle", p.idle.String(), "--power-guard", p.guard.String())
}

// Start begins to sample for a runner and says on standard error what is read.
// Without sources it returns nil.
func (p *Flags) Start(cmd *cobra.Command, r *bench.Runner) (*bench.PowerMeter, error) {
	o, err := p.Options()
	if err != nil {
		return nil, err
	}
	m, err := bench.StartPower(cmd.Context(), o, r)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if m == nil {
		return nil, nil
	}
	for _, s := range m.Sources {
		fmt.Fprintln(cmd.ErrOrStderr(), "power: "+s)
	}
	if len(m.Sources) == 0 && o.Later {
		fmt.Fprintln(cmd.ErrOrStderr(),
			"power: not read now; the hosts rest between runs, for a log that zcbench power import adds later")
	} else if len(m.Sources) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "power: no source found; zcbench doctor says why")
	}
	return m, nil
}
