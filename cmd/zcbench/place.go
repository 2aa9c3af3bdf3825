// SPDX-License-Identifier: MIT

package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
)

// placeFlags say where softirq and application run.
type placeFlags struct {
	layoutText, cpusText, tgCPUsText string

	layout         place.Layout
	cpus, tg       place.CPUs
	given, tgGiven bool
}

func (f *placeFlags) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.layoutText, "layout", "", "1cpu: softirq and application on one CPU; 2cpu: each on its own (default: as found)")
	fs.StringVar(&f.cpusText, "cpus", "", "the SUT's CPUs, APP,SOFTIRQ (default: on the NUMA node of its interface)")
	fs.StringVar(&f.tgCPUsText, "tg-cpus", "", "the TG's CPUs, APP,SOFTIRQ (default: likewise)")
	cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(place.Layouts, cobra.ShellCompDirectiveNoFileComp))
}

// check parses the flags. sutCPU and tgCPU are those of --sut-cpu and --tg-cpu.
func (f *placeFlags) check(sutCPU, tgCPU int) (err error) {
	if f.layout, err = place.ParseLayout(f.layoutText); err != nil {
		return cli.Usagef("--layout: %w", err)
	}
	for _, x := range []struct {
		flag, text string
		cpu        int
		into       *place.CPUs
		given      *bool
	}{{"--cpus", f.cpusText, sutCPU, &f.cpus, &f.given}, {"--tg-cpus", f.tgCPUsText, tgCPU, &f.tg, &f.tgGiven}} {
		if x.text == "" {
			if f.layout != place.AsFound && x.cpu == -1 {
				return cli.Usagef("--layout %s needs pinned threads: leave -1 away, or name the CPUs with %s", f.layout, x.flag)
			}
			continue
		}
		if *x.into, err = place.ParseCPUs(x.text); err != nil {
			return cli.Usagef("%s: %w", x.flag, err)
		}
		if x.cpu != autoCPU {
			return cli.Usagef("%s names the thread's CPU already: leave --sut-cpu and --tg-cpu away", x.flag)
		}
		if f.layout == place.AsFound {
			f.layout = x.into.Layout()
		}
		if x.into.Layout() != f.layout {
			return cli.Usagef("%s %s is the layout %s, not %s", x.flag, x.text, x.into.Layout(), f.layout)
		}
		*x.given = true
	}
	return nil
}

// place puts the CPUs that were named over those that were chosen, and refuses what
// the hosts cannot have.
func (f *placeFlags) place(o *bench.Options, sut, tg *host.Host) error {
	f.apply(o)
	return f.fits(*o, sut, tg)
}

func (f *placeFlags) apply(o *bench.Options) {
	if f.given {
		o.SUTCPU, o.SUTSoftirqCPU = f.cpus.App, f.cpus.Softirq
	}
	if f.tgGiven {
		o.TGCPU, o.TGSoftirqCPU = f.tg.App, f.tg.Softirq
	}
}

// fits refuses a layout that the hosts' CPUs cannot have.
func (f *placeFlags) fits(o bench.Options, sut, tg *host.Host) error {
	if f.layout == place.AsFound {
		return nil
	}
	for _, x := range []struct {
		flag string
		cpus place.CPUs
		h    *host.Host
	}{{"--cpus", place.CPUs{App: o.SUTCPU, Softirq: o.SUTSoftirqCPU}, sut}, {"--tg-cpus", place.CPUs{App: o.TGCPU, Softirq: o.TGSoftirqCPU}, tg}} {
		online := x.h.Info.OnlineCPUs
		n := x.cpus.SoftirqOf(f.layout)
		switch {
		case !slices.Contains(online, x.cpus.App):
			return cli.Usagef("%s: CPU %d is not online on %s; online are %s", x.flag, x.cpus.App, x.h.Spec.Name, counter.FormatCPUList(online))
		case x.h == tg && sut.SameMachine(tg): // its softirq stays with its thread
		case f.layout == place.TwoCPU && x.cpus.App == x.cpus.Softirq || n < 0:
			return cli.Usagef("--layout %s: %s has no second CPU near its interface: name two with %s; online are %s", f.layout, x.h.Spec.Name, x.flag, counter.FormatCPUList(online))
		case !slices.Contains(online, n):
			return cli.Usagef("%s: CPU %d is not online on %s; online are %s", x.flag, n, x.h.Spec.Name, counter.FormatCPUList(online))
		}
	}
	return nil
}
