// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/ktap"
	"github.com/zcbench/zcbench/cmd/internal/netconfig"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// ksft is a call of zcbench ksft.
type ksft struct {
	spec     *matrix.Spec
	cell     plan.Cell // what the options say of all
	given    func(*plan.Option) bool
	modes    []string
	minRuns  int
	limit    time.Duration
	dir, out string
	netns    string
	veth     bool
	ipv4     bool

	began  time.Time
	folder netconfig.Folder
	timed  bool   // the limit was given by its flag
	says   string // who says the limit
	remote string // the TG's address
}

func ksftCommand() *cobra.Command {
	k := &ksft{spec: matrix.New()}
	cmd := &cobra.Command{
		Use:   "ksft",
		Short: "Test each mode as a kernel selftest does, with KTAP for its runners",
		Long: `ksft tests the modes of TCP on the interface of the kernel's selftests, and prints
KTAP. It takes their environment: NETIF, LOCAL_V4 and REMOTE_V4, LOCAL_V6 and
REMOTE_V6, REMOTE_TYPE (ssh or netns) and REMOTE_ARGS, or a file net.config in --dir
or above, as drivers/net/README.rst of the selftests says. The remote end sends, this
end receives: ksft tests NETIF. Addresses and routes must exist; ksft does not change
them. It compares every byte with what was sent (--touch).

Each receive mode is a subtest, with plain TCP as its sender, then each send mode with
plain TCP as its receiver:

  ok            all its runs are ok
  not ok        a run failed, or is invalid: its payload was copied, or is wrong
  ok # SKIP     the kernel or NIC cannot run it, or there was no time for it, or
                other work on the hosts disturbed every run of it
  ok # XFAIL    the payload was copied, as it always is on this path (veth)

It ends before the runner's time is over: --timeout, else kselftest_timeout of the
environment, else timeout= of the file settings in --dir, else 600 s. It restores at
the end what it set on the hosts, also after SIGTERM and after kill -9
(docs/settings.md).

Exit status: 0 passed, 1 a subtest is not ok, or the call or environment is wrong,
4 all were skipped. See docs/ksft.md.`,
		Example: "  NETIF=eth1 LOCAL_V4=192.0.2.1 REMOTE_V4=192.0.2.2 REMOTE_TYPE=ssh \\\n      " +
			"REMOTE_ARGS=root@peer zcbench ksft\n  zcbench ksft --veth --modes tcp,uring,tcp/sendfile\n  zcbench " +
			"ksft --modes zcrx,devmem --min-runs 6 --out out/new",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return notExit2(fmt.Errorf("%q: ksft takes flags alone", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd) },
	}
	// To the kernel's runners 2 is an expected failure.
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return notExit2(err) })
	k.define(cmd)
	return cmd
}

// notExit2 reports wrong usage in the terms of the kernel's runners.
func notExit2(err error) error {
	return &cli.StatusError{Status: ktap.ExitFail, Err: fmt.Errorf("%w\nsee: zcbench ksft --help", err)}
}

func (k *ksft) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&k.modes, "modes", nil,
		"modes to test: receive modes, send modes, or pairs such as zcrx/devmem (default: all of TCP)")
	fs.IntVar(&k.minRuns, "min-runs", 1, "runs that a mode needs")
	fs.DurationVar(&k.limit, "timeout", 0, "time for everything (default: what the runner allows, or 600 s)")
	fs.DurationVar(&k.spec.Duration, "duration", 0,
		"length of the measured window of a run (default: at most 2 s, less where the time is short)")
	fs.StringVar(&k.dir, "dir", "", "folder of the test, with net.config and settings (default: the working directory)")
	fs.StringVar(&k.netns, "netns", "",
		"network namespace that has NETIF, by its name or path (default: that of this process)")
	fs.BoolVar(&k.veth, "veth", false,
		"test a veth link between two network namespaces, made for this, instead of NETIF")
	fs.BoolVar(&k.ipv4, "ipv4", false, "use LOCAL_V4 and REMOTE_V4 although there are addresses of IPv6")
	fs.StringVar(&k.out, "out", "",
		"folder for the results, for zcbench compare --ktap; must not hold any yet (default: none are kept)")
	for i := range plan.Limits { // whether a mode works does not depend on what else runs here
		if l := &plan.Limits[i]; l.Class == plan.ByEnvironment || l.Key == plan.FrequencyGate ||
			l.Key == plan.IdleDriftGate {
			*l.At(&k.spec.Gates) = nil
		}
	}
	specflag.AddGate(fs, k.spec)
	fs.BoolVar(&k.spec.SharedWithSSH, "shared-with-ssh", false, matrix.LookupKey("shared_with_ssh").Help)
	k.given = func(o *plan.Option) bool { return fs.Changed(o.FlagName()) }
	cli.AddOptions(cmd, &k.cell, func(o *plan.Option) bool {
		return o.Kind == plan.OfPath ||
			o.Kind == plan.OfHost
	})
	touch := fs.Lookup("touch")
	touch.DefValue, touch.Usage = "verify", strings.ReplaceAll(touch.Usage, " (default: none)", "")
	cli.First(cmd, "modes", "min-runs", "timeout", "duration", "dir", "veth", "ipv4", "touch", "gate", "out")
}

func (k *ksft) run(cmd *cobra.Command) error {
	k.began, k.timed = processStart(), cmd.Flags().Changed("timeout")
	if k.dir == "" {
		k.folder = netconfig.Folder{Path: "."}
	} else {
		k.folder = netconfig.Folder{Path: k.dir, Named: true}
	}
	if k.veth && k.netns != "" { // cobra's own check would end with 2
		return notExit2(errors.New("--netns and --veth cannot be combined"))
	}
	if err := errors.Join(k.cells(), k.allow()); err != nil {
		return notExit2(err)
	}
	if k.out != "" {
		if err := results.Vacant(k.out); err != nil {
			return notExit2(outError(err))
		}
	}
	t := ktap.New(cmd.OutOrStdout(), len(k.spec.Cells))
	t.Note(fmt.Sprintf("zcbench %s; time: %v (%s)", version.Tool(), k.limit, k.says))
	c := newKsftCourse(t, k)
	switch err := k.where(); {
	case errors.Is(err, errWhere), errors.Is(err, errRoot):
		t.Note("fix: as root set NETIF, LOCAL_V4, REMOTE_V4, REMOTE_TYPE and REMOTE_ARGS " +
			"(tools/testing/selftests/drivers/net/README.rst of the kernel), or say --veth")
		c.end(ktap.Skip, err.Error())
	case err != nil:
		c.failAll("the environment (tools/testing/selftests/drivers/net/README.rst of the kernel)", err)
	default:
		k.play(cmd.Context(), c)
	}
	status, err := t.End()
	switch {
	case err != nil:
		return err
	case c.stopped:
		return cli.Quiet(ktap.ExitFail)
	case status == ktap.ExitPass:
		return nil
	}
	return cli.Quiet(status)
}

// play makes the runs. Whatever ends them, each mode has its line at the end.
// policy plays the cells in the order in which the subtests are told.
func (k *ksft) policy() bench.Policy {
	p := runPolicy()
	p.Order, p.TGAddr, p.Alone = inTurn, k.remote, true
	return p
}

// inTurn puts runs of one replay into the order of their cells, round by round.
func inTurn(plan []matrix.Run, cells []plan.Cell) {
	at := map[string]int{}
	for i, c := range cells {
		at[c.ID] = i
	}
	slices.SortStableFunc(plan, func(a, b matrix.Run) int {
		return cmp.Or(cmp.Compare(a.Replay, b.Replay), cmp.Compare(a.Rep, b.Rep),
			cmp.Compare(at[a.Cell.ID], at[b.Cell.ID]))
	})
}

func (k *ksft) play(ctx context.Context, c *ksftCourse) {
	e := &bench.Experiment{Spec: k.spec, Dir: k.out, ToolVersion: version.Tool(), Progress: c,
		Policy: k.policy(), Notices: c,
		Note: func(format string, args ...any) { c.t.Note(fmt.Sprintf(format, args...)) }}
	if k.limit > 0 {
		end := k.began.Add(k.limit - k.reserve())
		e.Until = end.Add(-k.reserve() / 2)
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, end, bench.ErrTime)
		defer stop()
	}
	c.ctx = ctx
	recs, err := e.Run(ctx)
	if e.Kept != nil && len(recs) > 0 {
		if _, _, derr := derive(e.Kept, recs); derr != nil {
			c.t.Note("the results' files: " + derr.Error())
		}
	}
	switch {
	case ctx.Err() == nil && errors.Is(err, bench.ErrTime), errors.Is(context.Cause(ctx), bench.ErrTime):
		c.outOfTime()
	case ctx.Err() != nil:
		c.stopped = true
		c.end(ktap.Skip, "stopped before it was done: "+context.Cause(ctx).Error())
	case err != nil:
		c.failAll("the runs", err)
	default:
		c.end(ktap.Fail, "it was not run") // cannot be
	}
}
