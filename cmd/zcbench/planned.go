// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// planned is an experiment of a plan that somebody has written down: a file for matrix, a results
// folder for rerun.
type planned struct {
	*bench.Experiment
	source string // in messages: "quick.yaml", "the plan of out/quick"
}

// makePlanned makes it. Flags of power count in place of what the plan says.
func makePlanned(cmd *cobra.Command, spec *matrix.Spec, source, out string, p *powerflag.Flags) (planned, error) {
	p.Under(&spec.Power)
	watts, err := p.Options()
	if err != nil {
		return planned{}, err
	}
	return planned{source: source, Experiment: &bench.Experiment{Spec: spec, Dir: out, ToolVersion: version.Tool(),
		Progress: progress.New(cmd.ErrOrStderr()), Notices: cmd.ErrOrStderr(), Note: cli.NoteTo(cmd.ErrOrStderr()),
		Power:      watts,
		StartPower: func(r *bench.Runner) (*bench.PowerMeter, error) { return p.Start(cmd, r) }}}, nil
}

// preview prints what playing it would do.
func (p planned) preview(cmd *cobra.Command) error {
	err := p.DryRun(cmd.Context(), cmd.OutOrStdout())
	if errors.Is(err, bench.ErrOneMachine) {
		return cli.UsageError(err)
	}
	return err
}

// mayPlay refuses a plan that makes namespaces where that is not allowed.
func (p planned) mayPlay(cmd *cobra.Command) error {
	if p.Spec.SUT.Host != "" {
		return nil
	}
	if how := mayMakeNamespaces("sudo zcbench " + cmd.Name()); how != "" {
		return cli.Usagef("%s names no hosts: it makes two network namespaces, %s", p.source, how)
	}
	return nil
}

// mayMakeNamespaces explains what network namespaces need, and what to do, where this process may
// not make them: root of a user namespace may, root of a container not always.
func mayMakeNamespaces(sudo string) string {
	caps := []privilege.Cap{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	const needs = "which needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN): "
	switch why := privilege.Look().Lacks(privilege.Own, caps...); why {
	case privilege.Granted:
		return ""
	case privilege.NotRoot, privilege.Unknown:
		return needs + sudo
	default:
		return needs + why.Cause(caps...) + ": " + why.Do(caps...)
	}
}

// play plays it to its end, or until the user wants no more.
func (p planned) play(cmd *cobra.Command) ([]results.Record, error) {
	stop := context.AfterFunc(cmd.Context(),
		func() { p.Note("stopping after the current run; interrupt again to stop at once") })
	defer stop()
	return p.Run(cmd.Context())
}

// checkHosts refuses hosts of a plan, after what flags put in their place, that are none. at is the
// place of the plan, "" is none; whose is what names the hosts where no flags do.
func checkHosts(spec *matrix.Spec, at, whose string) error {
	for _, x := range []struct {
		name string
		end  matrix.End
	}{{"sut", spec.SUT}, {"tg", spec.TG}} {
		if _, err := host.ParseSpec(x.end.Host); x.end.Host != "" && err != nil {
			where := at
			if at != "" && x.end.HostAt != (matrix.At{}) {
				where = spec.PlaceOfHost(x.end) + ": "
			}
			return cli.Usagef("%s%s: %w", where, x.name, err)
		}
	}
	if (spec.SUT.Host == "") != (spec.TG.Host == "") {
		return cli.Usagef("--sut and --tg must be given together, since %s names no hosts", whose)
	}
	return nil
}
