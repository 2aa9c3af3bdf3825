// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/internal/interrupt"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/machine/veth"
)

func main() {
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := command()
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(status(err))
	}
}

// usageError is wrong usage: exit status 2.
type usageError struct{ error }

func status(err error) int {
	if u := (usageError{}); errors.As(err, &u) {
		return 2
	}
	return 1
}

// options are the flags.
type options struct {
	tools       Tools
	iperf3, bin string
	against     string
	rival       Tools // of the folder against
	mtu, reps   int
	bufMax      units.Bytes
	only        string
	json, gate  bool

	maxForeign float64
	retries    int
	nice       int
}

func command() *cobra.Command {
	o := options{tools: Tools{Congestion: "cubic", SenderCPU: 0, ReceiverCPU: 1}}
	cmd := &cobra.Command{
		Use:   "versus [flags]",
		Short: "Compare zcrecv and zcsend with iperf3 over a veth pair",
		Long: `versus runs zcrecv/zcsend and iperf3 in turn over a veth pair of its own and
prints the ratios of throughput and receiver CPU time with their spread.

It needs root. Exit status: 0 done, 1 a run failed, or with --gate a target is
not met, 2 wrong usage.`,
		Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := cmd.Flags()
	f.StringVar(&o.iperf3, "iperf3", "iperf3", "iperf3, by name or path")
	f.StringVar(&o.bin, "bin", "bin", "folder of zcrecv and zcsend")
	f.StringVar(&o.against, "against", "", "compare with the zcrecv and zcsend of this folder, such as those of a release, and not with iperf3")
	f.IntVar(&o.mtu, "mtu", 1500, "MTU of the veth pair")
	f.IntVar(&o.reps, "reps", 8, "pairs of runs per comparison, after one warm-up; 6 or more give intervals")
	f.DurationVar(&o.tools.Duration, "duration", 2*time.Second, "length of one run, whole seconds (iperf3 has no others)")
	f.IntVar(&o.tools.SenderCPU, "sender-cpu", 0, "core of the sender")
	f.IntVar(&o.tools.ReceiverCPU, "receiver-cpu", 1, "core of the receiver")
	f.StringVar(&o.tools.Congestion, "congestion", o.tools.Congestion, "congestion control of both")
	f.Var(&o.bufMax, "tcp-buf-max", "upper end of the kernel's socket buffer auto-tuning; 0: as this host has it")
	f.Float64Var(&o.maxForeign, "max-foreign", 0.3, "run a pair again when others kept more than so many cores busy during a run")
	f.IntVar(&o.retries, "retries", 3, "how often at most")
	f.IntVar(&o.nice, "nice", -20, "nice value of both tools' processes, so that other work disturbs them less; 0 changes nothing")
	f.StringVar(&o.only, "only", "", "run only the comparisons whose name matches this regular expression, such as '^tcp '")
	f.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	f.BoolVar(&o.gate, "gate", false, "exit with 1 when a target is not met")
	return cmd
}

func (o *options) check() error {
	d := o.tools.Duration
	switch {
	case d < time.Second || d%time.Second != 0 || d > time.Hour:
		return usageError{fmt.Errorf("--duration %v: must be whole seconds, 1s to 1h", d)}
	case o.reps < 1 || o.reps > 1000:
		return usageError{fmt.Errorf("--reps %d: must be 1 to 1000", o.reps)}
	case o.mtu < 1280 || o.mtu > 65535:
		return usageError{fmt.Errorf("--mtu %d: must be 1280 to 65535", o.mtu)}
	case o.nice < -20 || o.nice > 19:
		return usageError{fmt.Errorf("--nice %d: must be -20 to 19", o.nice)}
	case o.retries < 0 || o.retries > 100:
		return usageError{fmt.Errorf("--retries %d: must be 0 to 100", o.retries)}
	case o.tools.SenderCPU < 0 || o.tools.ReceiverCPU < 0:
		return usageError{errors.New("--sender-cpu and --receiver-cpu are numbers of cores, from 0")}
	}
	if _, err := regexp.Compile(o.only); err != nil {
		return usageError{fmt.Errorf("--only: %w", err)}
	}
	return nil
}

func (o *options) run(ctx context.Context, out, progress io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.find(); err != nil {
		return err
	}
	outcomes := newOutcomes(o.chosen())
	if len(outcomes) == 0 {
		return usageError{fmt.Errorf("--only %s: matches no comparison", o.only)}
	}
	pair, err := veth.New(veth.Options{MTU: o.mtu, TCPBufMax: int(o.bufMax)})
	if err != nil {
		return err
	}
	defer pair.Close()
	if o.bufMax == 0 {
		if err := hostAutotuning(pair); err != nil {
			return err
		}
	}
	rep := newReport(o)
	runErr := (&performer{pair: pair, opts: o, progress: newProgress(progress)}).perform(ctx, outcomes)
	rep.finish(outcomes)
	if err := o.print(out, rep); err != nil {
		return errors.Join(runErr, fmt.Errorf("write the result: %w", err))
	}
	if runErr != nil {
		return runErr
	}
	if o.gate && rep.missed() {
		return errors.New("a target is not met")
	}
	return nil
}

// find finds the programs.
func (o *options) find() error {
	if err := o.tools.findZcbench(o.bin); err != nil {
		return err
	}
	if o.against == "" {
		return o.tools.findIperf3(o.iperf3)
	}
	o.rival = o.tools
	return o.rival.findZcbench(o.against)
}

func (o *options) chosen() []Comparison {
	re := regexp.MustCompile(o.only) // checked
	all := comparisons(o.tools)
	if o.against != "" {
		all = builds(o.tools, o.rival)
	}
	var cs []Comparison
	for _, c := range all {
		if re.MatchString(c.Name) {
			cs = append(cs, c)
		}
	}
	return cs
}

func (o *options) print(out io.Writer, rep *report) error {
	if o.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(rep)
	}
	return rep.print(out)
}
