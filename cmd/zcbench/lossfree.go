// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// lossFreeFlags are the flags of `zcbench loss-free`.
type lossFreeFlags struct {
	specflag.Flags
	out              string
	json             bool
	loss, resolution float64
	confirm, trials  int
}

func lossFreeCommand() *cobra.Command {
	var f lossFreeFlags
	cmd := &cobra.Command{
		Use:   "loss-free --sut HOST --tg HOST --rx MODE --tx MODE",
		Short: "Find the highest packet rate without loss",
		Long: `loss-free searches for the highest rate of datagrams or frames that loses none,
or no more than --loss, in the manner of RFC 2544: first a run as fast as possible,
then a bisection between paces that passed and paces that failed, down to
--resolution. The pace that it finds has passed --confirm times in a row: after 10
runs without loss, fewer than 26 % of such runs lose packets, with 95 % confidence;
after 59, fewer than 5 %. The reported rate is the lowest that these runs really sent,
which is up to 1 % below the pace.

Each run lasts --duration; --out gets a record of each, with its pace.
docs/packets.md explains the figures.

Exit status: 0 a rate was found, 1 none was, or a run failed or is invalid, 2 wrong
usage.`,
		Example: "  zcbench loss-free --sut netns:a --tg netns:b --rx udp --tx udp\n  zcbench loss-free --sut " +
			"netns:a --tg netns:b --rx udp --tx udp --loss 0.01",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	spec := matrix.New()
	spec.Repetitions, spec.Warmup = 1, false
	f.Add(cmd, spec, false, "port", "ipv6", "shared_with_ssh", "duration", "ramp_up", "ramp_down", "rest", "stall")
	fs := cmd.Flags()
	fs.StringVar(&f.Spec.SUT.Host, "sut", "", "host of the receiver")
	fs.StringVar(&f.Spec.TG.Host, "tg", "", "host of the sender")
	fs.StringVar(&f.out, "out", "", "folder for the runs; must not contain any yet (default: only print)")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON")
	usual := matrix.DefaultLossFree()
	fs.Float64Var(&f.loss, "loss", 100*usual.Limit, "acceptable loss, in percent of a run's packets")
	fs.Float64Var(&f.resolution, "resolution", 100*usual.Resolution,
		"stop when the pace that passed is within this percentage of one that failed")
	cli.First(cmd, "sut", "tg", "rx", "tx", "message-size", "duration", "loss", "confirm", "out", "json")
	fs.IntVar(&f.confirm, "confirm", usual.Confirm, "how often in a row the pace that is found must pass")
	fs.IntVar(&f.trials, "trials", usual.Trials, "give up after this many runs")
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
	return cmd
}

func (f *lossFreeFlags) check() error {
	c := f.Spec.Cells[0]
	switch {
	case !c.MovesPackets():
		return cli.Usagef(
			"--rx %s carries a stream, which loses nothing: choose modes that carry packets (docs/packets.md)", c.RX)
	case c.Paced():
		return cli.Usagef("--pace: loss-free chooses the paces: leave it out")
	case !(f.loss >= 0 && f.loss < 100):
		return cli.Usagef("--loss %g: must be 0 to 100 percent", f.loss)
	case !(f.resolution >= 0.1 && f.resolution <= 50):
		return cli.Usagef("--resolution %g: must be 0.1 to 50 percent", f.resolution)
	case f.confirm < 1 || f.confirm > 10000:
		return cli.Usagef("--confirm %d: must be 1 to 10000", f.confirm)
	case f.trials < f.confirm:
		return cli.Usagef("--trials %d: fewer than --confirm, %d", f.trials, f.confirm)
	}
	if err := bench.Check(c); err != nil {
		return cli.OptionError(err)
	}
	return nil
}

func (f *lossFreeFlags) run(cmd *cobra.Command) error {
	spec, err := f.Finish("loss-free")
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	e := &bench.Experiment{Spec: spec, Dir: f.out, ToolVersion: version.Tool(), Notices: cmd.ErrOrStderr(),
		Policy: runPolicy(), Note: cli.NoteTo(cmd.ErrOrStderr())}
	s := &bench.LossSearch{MaxLoss: f.loss / 100, Resolution: f.resolution / 100, Confirm: f.confirm,
		MostTrials: f.trials, Least: bench.LeastRate(spec.Cells[0])}
	recs, err := e.FindLossFree(cmd.Context(), s)
	if err != nil && len(recs) == 0 {
		return folderError(err)
	}
	if e.Kept != nil {
		_, _, derived := derive(e.Kept, recs)
		err = noRoomOr(err, derived, nil, f.out)
	}
	if err != nil {
		return err
	}
	found := s.Found()
	if err := f.print(cmd.OutOrStdout(), spec.Cells[0], found); err != nil {
		return err
	}
	if found.PacketsPerS == 0 || found.GivenUp {
		return cli.Quiet(cli.Failed)
	}
	return nil
}

// lossFreeReport is what --json prints.
type lossFreeReport struct {
	Cell plan.Cell `json:"cell"`
	results.LossFree
	LossyShare *float64 `json:"lossy_share,omitempty"` // of runs at that rate, below it with 95 % confidence
}

func (f *lossFreeFlags) print(w io.Writer, c plan.Cell, found results.LossFree) error {
	if f.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(lossFreeReport{c, found, found.LossyShare()})
	}
	var err error
	say := func(format string, args ...any) {
		_, e := fmt.Fprintf(w, format+"\n", args...)
		err = errors.Join(err, e)
	}
	limit := "nothing"
	if f.loss > 0 {
		limit = fmt.Sprintf("no more than %g %%", f.loss)
	}
	switch {
	case found.PacketsPerS == 0 && found.FailedAt == 0:
		say("%s/%s: gave up after %d trials, none of them conclusive", c.RX, c.TX, found.Trials)
		return err
	case found.PacketsPerS == 0 && found.BySender:
		say("%s/%s: none of %d trials passed, and the sender did not keep the lowest pace, %.1f kpps", c.RX, c.TX,
			found.Trials, found.FailedAt/1e3)
		return err
	case found.PacketsPerS == 0:
		say("%s/%s: no rate found that loses %s: the lowest of %d trials failed at %.1f kpps", c.RX, c.TX, limit,
			found.Trials, found.FailedAt/1e3)
		return err
	case found.BySender && found.FailedAt > 0:
		say("%s/%s loses %s at %.1f kpps, %.3f Gbit/s; the sender did not keep a pace of %.1f kpps: the "+
			"receiver's limit is not known", c.RX, c.TX, limit, found.PacketsPerS/1e3, gbps(c, found.PacketsPerS),
			found.FailedAt/1e3)
	case found.BySender:
		say("%s/%s loses %s at %.1f kpps, %.3f Gbit/s, as fast as the sender can: the receiver's limit is not known",
			c.RX, c.TX, limit, found.PacketsPerS/1e3, gbps(c, found.PacketsPerS))
	default:
		say("%s/%s loses %s at %.1f kpps, %.3f Gbit/s, and failed at %.1f kpps", c.RX, c.TX, limit,
			found.PacketsPerS/1e3, gbps(c, found.PacketsPerS), found.FailedAt/1e3)
	}
	say("passed %d times in a row: fewer than %.0f %% of such runs lose more, with 95 %% confidence; %d trials in all",
		found.Passed, 100**found.LossyShare(), found.Trials)
	if found.GivenUp {
		say("gave up after %d trials: the rate is less exact, or passed less often, than requested", found.Trials)
	}
	return err
}

func gbps(c plan.Cell, rate float64) float64 { return rate * float64(c.MessageBytes) * 8 / 1e9 }
