// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

func demoCommand() *cobra.Command {
	o := bench.DemoOptions{ToolVersion: version.Tool()}
	message := units.Bytes(stream.DefaultMessageBytes)
	var rx, tx, probes []string
	var placed placeFlags
	var watts powerflag.Flags
	var asJSON bool
	var settings cli.Settings
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make two hosts out of network namespaces and run every mode this kernel can run",
		Long: `demo makes two network namespaces joined by a veth link, runs every receive mode
against every send mode that this kernel can run, interleaved, with a discarded
warm-up of each, prints a table and writes the results to --out. It needs root
and leaves nothing behind but the results.

With --sut and --tg it runs on two hosts that have a link already, such as
ssh:root@hosta and ssh:root@hostb. What --gro and the like set there is restored
at the end (docs/settings.md).

What veth cannot show: it has no hardware, and it copies payload that was sent
with zero copy when it delivers it. The table says so; such runs are invalid.

Exit status: 0 the plan was played, 1 it ended early or a run failed, 2 wrong
usage or input. Invalid runs alone do not make it 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Repetitions < 1 || cmd.Flags().Changed("duration") && o.Duration < 100*time.Millisecond {
				return cli.Usagef("--repetitions must be at least 1 and --duration at least 100ms")
			}
			if message < 1 || message > stream.MaxMessageBytes {
				return cli.Usagef("--message-size must be 1..%d bytes", stream.MaxMessageBytes)
			}
			if o.MTU < 1280 || o.MTU > 65535 {
				return cli.Usagef("--mtu must be 1280..65535")
			}
			var err error
			if o.Base.Probe, err = probeOf(probes); err != nil {
				return err
			}
			only, err := onlyModes(rx, tx)
			if err != nil {
				return err
			}
			if err := cli.CheckUringEngine(o.UringEngine, demoModes(rx, tx)...); err != nil {
				return err
			}
			if err := placed.check(autoCPU, autoCPU); err != nil {
				return err
			}
			o.Base.CPULayout, o.Place = string(placed.layout), placed.place
			if (o.SUT == "") != (o.TG == "") || o.Dev != "" && o.SUT == "" {
				return cli.Usagef("--sut and --tg go together, and --dev with them")
			}
			for _, h := range []string{o.SUT, o.TG} {
				if _, err := host.ParseSpec(h); h != "" && err != nil {
					return cli.UsageError(err)
				}
			}
			if o.SUT == "" && os.Geteuid() != 0 {
				return cli.Usagef("demo makes network namespaces and must run as root: sudo zcbench demo")
			}
			if _, err := watts.Options(); err != nil {
				return err
			}
			o.StartPower = func(r *bench.Runner) (*bench.PowerMeter, error) { return watts.Start(cmd, r) }
			if err := settings.Check(); err != nil {
				return err
			}
			if o.SUT != "" && cmd.Flags().Changed("mtu") {
				settings.MTU = o.MTU
			}
			settings.Cell(&o.Base)
			o.SUTSettings, o.TGSettings = settings.Ends()
			o.MessageBytes, o.Only, o.Notices = int(message), only, cmd.ErrOrStderr()
			o.Progress = progress.New(cmd.ErrOrStderr())
			recs, err := bench.Demo(cmd.Context(), o)
			return finish(cmd, o.Dir, recs, err, asJSON, false)
		},
	}
	watts.AddFlags(cmd, 2*time.Second, time.Second)
	settings.AddFlags(cmd, false)
	placed.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Dir, "out", "out/demo", "folder for the results; must not have any yet")
	f.IntVar(&o.Repetitions, "repetitions", 6, "runs of each pair of modes that count")
	f.DurationVar(&o.Duration, "duration", 0, "steady window of each run (default: at most 800ms, less where the demo would take longer than 3 minutes)")
	f.IntVar(&o.MTU, "mtu", veth.DefaultMTU, "MTU of the link; with --sut only where it is given")
	f.Var(&message, "message-size", "application message in bytes (suffixes K, M, G: powers of 1024)")
	f.Uint64Var(&o.Seed, "seed", 1, "of the order of the runs")
	f.StringVar(&o.SUT, "sut", "", "run on this receiver host instead of a namespace of our own (with --tg)")
	f.StringVar(&o.TG, "tg", "", "run on this sender host instead of a namespace of our own (with --sut)")
	f.StringVar(&o.Dev, "dev", "", "with --sut: its interface, where it has several")
	f.StringSliceVar(&rx, "rx", nil, "receive modes to run (default: all)")
	f.StringSliceVar(&tx, "tx", nil, "send modes to run (default: all)")
	cli.UringEngineFlag(cmd, &o.UringEngine)
	f.BoolVar(&asJSON, "json", false, "print the summary as JSON")
	addProbeFlag(f, &probes)
	cmd.RegisterFlagCompletionFunc("rx", cobra.FixedCompletions(stream.Names(stream.RX), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("tx", cobra.FixedCompletions(stream.Names(stream.TX), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// onlyModes makes a filter of the modes asked for.
func onlyModes(rx, tx []string) (func(results.Cell) bool, error) {
	want := map[string]bool{}
	for role, names := range map[stream.Role][]string{stream.RX: rx, stream.TX: tx} {
		for _, n := range names {
			if _, err := stream.LookupMode(role, n); err != nil {
				return nil, cli.UsageError(err)
			}
			want[string(role)+n] = true
		}
	}
	return func(c results.Cell) bool {
		return (len(rx) == 0 || want["rx"+c.RX]) && (len(tx) == 0 || want["tx"+c.TX])
	}, nil
}

// demoModes are the modes that a demo of rx and tx plays, where both are known.
func demoModes(rx, tx []string) []stream.Mode {
	var all []stream.Mode
	for _, m := range stream.Modes {
		names := map[stream.Role][]string{stream.RX: rx, stream.TX: tx}[m.Role]
		if len(names) == 0 || slices.Contains(names, m.Name) {
			all = append(all, m)
		}
	}
	return all
}
