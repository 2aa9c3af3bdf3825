// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// rerunFlags are the flags of `zcbench rerun`.
type rerunFlags struct {
	out, sut, tg             string
	dev, tgDev, addr         string
	cpus, tgCPUs             []string
	node, tgNode             string
	dry, json, trust, shared bool
	moved                    bool // interrupts of another boot were left out
	power                    powerflag.Flags
	order                    specflag.Order
}

func rerunCommand() *cobra.Command {
	var f rerunFlags
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Repeat the experiment of a results folder, and compare the results",
		Long: `rerun repeats the plan in DIR/journal.jsonl with the same cells, settings, windows,
order and hosts, whatever file and flags they came from. It first reports how hosts
and program differ from then (docs/environment.md), and at the end compares the
figures: A is DIR, B is the new results.

A folder from somebody else is not trusted blindly: it names hosts, and settings to
change there. --dry-run prints them and runs nothing. Hosts in it that are commands
(exec:), power sources that run a program, contact an address or open a path, and
sysctls that measuring does not need (docs/trust.md) need --trust-file. Passwords and
commands of power sources are never stored: name sources that need them with --power,
which replaces those of the folder.

With --sut or --tg, rerun does not take that end's interface, address, CPUs and NUMA
node from the folder, but chooses them as zcbench run does, unless --dev, --tg-dev,
--addr, --cpus, --tg-cpus, --node or --tg-node name them. If the host has booted since,
rerun leaves interrupts alone that --set had moved: their numbers change with each
boot.

Exit status: 0 the plan was completed, 1 it ended early, or a run failed or is
invalid, 2 wrong usage or input.`,
		Example: "  zcbench rerun --dry-run out/quick\n  zcbench rerun out/quick --out out/quick-again\n  " +
			"zcbench rerun out/theirs --sut ssh:root@hosta --tg ssh:root@hostb --dev eth1",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.define(cmd)
	return cmd
}

func (f *rerunFlags) define(cmd *cobra.Command) {
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "", "folder for the results (default: DIR-again, in the working folder)")
	fs.BoolVar(&f.dry, "dry-run", false,
		"print the plan, what cannot run and why, and how long it takes, but run nothing")
	fs.BoolVar(&f.json, "json", false, "print the comparison as JSON")
	fs.StringVar(&f.sut, "sut", "", "host that receives, instead of the folder's")
	fs.StringVar(&f.tg, "tg", "", "host that sends, instead of the folder's")
	fs.StringVar(&f.dev, "dev", "", "interface of the SUT, instead of the folder's")
	fs.StringVar(&f.tgDev, "tg-dev", "", "interface of the TG, instead of the folder's")
	fs.StringVar(&f.addr, "addr", "", "IP address of the SUT, instead of the folder's")
	fs.StringArrayVar(&f.cpus, "cpus", nil,
		"the SUT's CPUs, instead of the folder's for that layout: 3,3 is 1cpu, 3,2 is 2cpu (repeatable)")
	fs.StringArrayVar(&f.tgCPUs, "tg-cpus", nil, "the TG's CPUs, like --cpus")
	fs.StringVar(&f.node, "node", "", "NUMA node of the SUT's CPUs, or any, instead of the folder's")
	fs.StringVar(&f.tgNode, "tg-node", "", "NUMA node of the TG's CPUs, like --node")
	fs.BoolVar(&f.shared, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	f.order.Add(cmd)
	cli.First(cmd, "dry-run", "out", "sut", "tg", "dev", "tg-dev", "addr", "power", "trust-file", "json")
	fs.BoolVar(&f.trust, "trust-file", false, "allow hosts and power sources of the folder that run a program, "+
		"contact an address or open a path, all its sysctls, and its folders for payload: look at them first")
}

func (f *rerunFlags) run(cmd *cobra.Command, dir string) error {
	if f.dry && f.json {
		return cli.Usagef("--json prints the comparison, and --dry-run makes none: leave one of them out")
	}
	played, err := f.played(dir, cli.NoteTo(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	ours := f.out == ""
	if ours {
		if f.out, err = outAgain(dir); err != nil {
			return err
		}
	}
	e, err := makePlanned(cmd, played.Spec, "the plan of "+dir, f.out, &f.power)
	if err != nil {
		return err
	}
	e.Policy = f.policy(dir, played)
	if f.dry {
		return e.preview(cmd)
	}
	if err := e.mayPlay(cmd); err != nil {
		return err
	}
	if ours { // now, before somebody puts a link there
		if err := os.Mkdir(f.out, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return cli.UsageError(err)
		}
		if _, err := outAgain(dir); err != nil {
			return err
		}
	}
	recs, err := e.play(cmd)
	if err != nil && len(recs) == 0 {
		if ours {
			os.Remove(f.out) // if it is empty
		}
		return folderError(err)
	}
	f.moved = e.Before.InterruptsLeft
	return f.finish(cmd, dir, e.Experiment, recs, err)
}

// policy plays the plan of a folder as it was played, and says in what the hosts differ.
func (f *rerunFlags) policy(dir string, played *matrix.Played) bench.Policy {
	return bench.Policy{Shape: played.Shape, Before: &bench.Before{Dir: dir}, TrustFile: f.trust,
		StartsAnew: true}
}

// outAgain chooses the folder for the results where none is named: in the working folder, for DIR
// may lie where others write, and have a link there that leads root elsewhere.
func outAgain(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	base := filepath.Base(path)
	if base == string(filepath.Separator) {
		return "", cli.Usagef("%s has no name to derive the new folder's from: give --out", dir)
	}
	out := base + "-again"
	if st, err := os.Lstat(out); err == nil && !st.IsDir() {
		return "", cli.Usagef("%s, where the results would go, is not a folder: remove it, or give --out", out)
	}
	return out, nil
}

// played loads the plan of a folder, with what flags put in its place.
func (f *rerunFlags) played(dir string, note func(string, ...any)) (*matrix.Played, error) {
	path := filepath.Join(dir, results.JournalFile)
	j, err := results.ReadFigures(path)
	if err != nil {
		return nil, journalError(dir, err)
	}
	plan := j.Header.Plan
	if f.power.Given() && plan != nil && plan.Power != nil {
		plan.Power.Sources = nil // which may be of a kind that no folder can name
	}
	p, err := matrix.Replay(path+", line 1", plan)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	for _, x := range []struct {
		name, host string
		end        *matrix.End
	}{{"--sut", f.sut, &p.Spec.SUT}, {"--tg", f.tg, &p.Spec.TG}} {
		if x.host == "" {
			continue
		}
		if x.host == x.end.Host {
			x.end.NameHost(x.host)
			continue
		}
		if left := x.end.Move(x.host); len(left) > 0 {
			note("%s %s: not taken from the folder: %s", x.name, x.host, strings.Join(left, ", "))
		}
	}
	p.Spec.SUT.Dev, p.Spec.TG.Dev = cmp.Or(f.dev, p.Spec.SUT.Dev), cmp.Or(f.tgDev, p.Spec.TG.Dev)
	if f.addr != "" {
		a, err := netip.ParseAddr(f.addr)
		if err != nil || p.Spec.IPv6 && !a.Is6() {
			return nil, cli.Usagef("--addr %q: want an IP address (IPv6 if the plan uses IPv6)", f.addr)
		}
		p.Spec.SUT.Addr = f.addr
	}
	p.Spec.SharedWithSSH = f.shared
	if err := f.order.Over(p.Spec); err != nil {
		return nil, err
	}
	if err := f.place(p.Spec, note); err != nil {
		return nil, err
	}
	return p, checkHosts(p.Spec, "", "the folder")
}

// finish prints the new table, and how the two compare.
func (f *rerunFlags) finish(cmd *cobra.Command, dir string, e *bench.Experiment, recs []results.Record,
	runErr error) error {
	out := cmd.OutOrStdout()
	if f.json { // one object alone
		cmd.SetOut(cmd.ErrOrStderr())
	}
	ended := finish(cmd, e, recs, runErr, false, e.Fold)
	cmd.SetOut(out)
	err := f.compare(cmd, dir)
	if errors.Is(err, compare.ErrNothing) { // the table says why
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: %v\n", err)
		err = nil
	}
	if err == nil {
		return ended
	}
	return errors.Join(ended, err)
}

func (f *rerunFlags) compare(cmd *cobra.Command, dir string) error {
	a, err := compare.Load(dir, judge.ReadFigures)
	if err != nil {
		return err
	}
	b, err := compare.Load(f.out, judge.ReadFigures)
	if err != nil {
		return err
	}
	metrics, err := compare.Lookup(compare.DefaultMetrics)
	if err != nil {
		return err
	}
	if f.moved {
		a.Chosen = []string{"set"} // in which they differ
	}
	r, err := compare.Compare(&a, &b, metrics)
	if err != nil {
		return err
	}
	if !f.json {
		fmt.Fprintln(cmd.OutOrStdout())
	}
	c := newComparison(r, nil)
	return c.write(cmd.OutOrStdout(), f.json)
}
