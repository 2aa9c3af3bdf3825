package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/powerflag"
	"github.com/zcbench/zcbench/cmd/internal/progress"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// runFlags are the flags of `zcbench run`.
type runFlags struct {
	sut, tg        string
	rx, tx         string
	gather         func() *int64
	dev, tgDev     string
	addr           string
	ipv6           bool
	out            string
	reps           int
	warmup         bool
	json           bool
	verbose        bool
	touch          string
	congestion     string
	message, read  units.Bytes
	rcvbuf, sndbuf units.Bytes
	pace           units.BitRate
	maxCopied      float64
	sutCPU, tgCPU  int
	queue          cli.NICQueue
	settings       cli.Settings
	probes         []string
	probeSample    int
	place          placeFlags
	power          powerflag.Flags
	opt            bench.Options
}

// autoCPU lets the tool choose a CPU.
const autoCPU = -2

func runCommand() *cobra.Command {
	f := runFlags{message: stream.DefaultMessageBytes}
	cmd := &cobra.Command{
		Use:   "run --sut HOST --tg HOST --rx MODE --tx MODE",
		Short: "Measure one pair of modes between two hosts",
		Long: `run measures one flow from the TG (sender) to the SUT (receiver).

HOST is local, netns:NAME for a network namespace of this machine (as made by ip
netns add; a NAME with a slash is a path such as /proc/PID/ns/net), or
ssh:[USER@]HOST for another machine, reached by the system's ssh with its
configuration, keys and agent; ssh+sudo:USER@HOST runs as root by sudo -n there.
This program is copied to ~/.cache/zcbench/agent there. See docs/hosts.md.

What the flags from --mtu to --stop-irqbalance set on the hosts is restored when
the run ends, however it ends (docs/settings.md).

Only the steady part of the flow is measured: --ramp-up before and --ramp-down
after the --duration are cut. Ctrl-C calls the run off.

Exit status: 0 done, 1 a run failed, is invalid or unsupported, 2 wrong usage.`,
		Example: "  zcbench run --sut netns:a --tg netns:b --rx uring --tx sendfile --duration 10s --out out/first\n  zcbench run --sut local --tg local --rx tcp --tx tcp --json\n  zcbench run --sut ssh:root@hosta --tg ssh:root@hostb --dev eth1 --rx tcp --tx tcp --out out/hosts",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.define(cmd)
	return cmd
}

func (f *runFlags) define(cmd *cobra.Command) {
	f.queue.AddFlags(cmd)
	f.settings.AddFlags(cmd, true)
	cli.UringEngineFlag(cmd, &f.opt.UringEngine)
	f.gather = cli.GatherFlag(cmd)
	f.place.addFlags(cmd)
	f.power.AddFlags(cmd, 10*time.Second, power.LeastGuard)
	fs := cmd.Flags()
	fs.StringVar(&f.sut, "sut", "", "host of the receiver")
	fs.StringVar(&f.tg, "tg", "", "host of the sender")
	fs.StringVar(&f.rx, "rx", "tcp", "receive mode")
	fs.StringVar(&f.tx, "tx", "tcp", "send mode")
	fs.StringVar(&f.dev, "dev", "", "the SUT's interface (default: its only one)")
	fs.StringVar(&f.tgDev, "tg-dev", "", "the TG's interface, for its counters (default: its only one)")
	fs.StringVar(&f.addr, "addr", "", "the SUT's address (default: of --dev)")
	fs.BoolVarP(&f.ipv6, "ipv6", "6", false, "use the SUT's IPv6 address")
	fs.IntVar(&f.opt.Port, "port", 0, "data port; 0 takes a free one")
	fs.DurationVar(&f.opt.Duration, "duration", 10*time.Second, "steady window")
	fs.DurationVar(&f.opt.RampUp, "ramp-up", time.Second, "cut before the window")
	fs.DurationVar(&f.opt.RampDown, "ramp-down", 200*time.Millisecond, "cut after the window")
	fs.IntVar(&f.reps, "repetitions", 1, "runs")
	fs.BoolVar(&f.warmup, "warmup", false, "make a discarded run first")
	fs.StringVar(&f.out, "out", "", "folder for the results; must not have any yet (default: only print)")
	fs.BoolVar(&f.json, "json", false, "print the records as JSON, one a line")
	fs.BoolVar(&f.verbose, "verbose", false, cli.VerboseUsage)
	fs.StringVar(&f.touch, "touch", "none", "what the receiver does with the payload: none, read, verify")
	fs.StringVar(&f.congestion, "congestion", "", "congestion control of the flow's sockets (default: the hosts')")
	fs.Var(&f.message, "message-size", "application message in bytes (suffixes K, M, G: powers of 1024)")
	fs.Var(&f.read, "read-size", "most bytes of one receive call; 0: the mode's default")
	fs.Var(&f.rcvbuf, "rcvbuf", "SO_RCVBUF in bytes; 0 leaves the kernel's auto-tuning")
	fs.Var(&f.sndbuf, "sndbuf", "SO_SNDBUF in bytes; 0 leaves the kernel's auto-tuning")
	fs.Var(&f.pace, "pace", "most bits per second, paced by the kernel (suffixes K, M, G: powers of 1000)")
	fs.Float64Var(&f.maxCopied, "max-copied", 100*endpoint.DefaultMaxCopied, "percent of the payload that the kernel may copy before a zero-copy run is invalid")
	fs.IntVar(&f.sutCPU, "sut-cpu", autoCPU, "CPU of the receiving thread; -1 does not pin (default: chosen)")
	fs.IntVar(&f.tgCPU, "tg-cpu", autoCPU, "CPU of the sending thread; -1 does not pin (default: chosen)")
	fs.DurationVar(&f.opt.SampleInterval, "sample-interval", 100*time.Millisecond, "of the time series; 0 takes none")
	fs.DurationVar(&f.opt.Stall, "stall", 10*time.Second, "a flow without a byte for so long has failed")
	addProbeFlag(fs, &f.probes)
	fs.IntVar(&f.probeSample, "probe-sample", results.DefaultProbeSample, "the latency probe looks at one packet in so many, a power of two: the same packets at all stages")
	cmd.MarkFlagRequired("sut")
	cmd.MarkFlagRequired("tg")
	for flag, role := range map[string]stream.Role{"rx": stream.RX, "tx": stream.TX} {
		cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(stream.Names(role), cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.RegisterFlagCompletionFunc("touch", cobra.FixedCompletions([]string{"none", "read", "verify"}, cobra.ShellCompDirectiveNoFileComp))
}

// check refuses what no host could run.
func (f *runFlags) check() error {
	var asked []stream.Mode
	for _, end := range []struct {
		role stream.Role
		name string
	}{{stream.RX, f.rx}, {stream.TX, f.tx}} {
		m, err := stream.LookupMode(end.role, end.name)
		if err != nil {
			return cli.UsageError(err)
		}
		asked = append(asked, m)
	}
	if err := cli.CheckUringEngine(f.opt.UringEngine, asked...); err != nil {
		return err
	}
	if f.opt.GatherNs = f.gather(); f.opt.GatherNs != nil && !asked[0].UsesRing() {
		return cli.Usagef("--gather: %s uses no io_uring; leave it out", f.rx)
	}
	if f.opt.Duration < 100*time.Millisecond || f.opt.RampUp < 0 || f.opt.RampDown < 0 {
		return cli.Usagef("--duration must be at least 100ms, --ramp-up and --ramp-down not negative")
	}
	if f.message < 1 {
		return cli.Usagef("--message-size must be at least 1 byte")
	}
	if err := f.settings.Check(); err != nil {
		return err
	}
	if f.reps < 1 {
		return cli.Usagef("--repetitions must be at least 1")
	}
	if p := f.opt.Port; p < 0 || p > 65535 {
		return cli.Usagef("--port %d: must be 0..65535", p)
	}
	if f.opt.Stall < 0 {
		return cli.Usagef("--stall %v: must not be negative", f.opt.Stall)
	}
	if err := cli.CheckPace(f.pace); err != nil {
		return err
	}
	if !(f.maxCopied >= 0 && f.maxCopied <= 100) { // NaN too
		return cli.Usagef("--max-copied %g: must be 0 to 100 percent", f.maxCopied)
	}
	if s := f.opt.SampleInterval; s != 0 && s < 20*time.Millisecond {
		return cli.Usagef("--sample-interval must be 0 or at least 20ms")
	}
	if err := f.place.check(f.sutCPU, f.tgCPU); err != nil {
		return err
	}
	if _, err := f.power.Options(); err != nil {
		return err
	}
	for _, h := range []string{f.sut, f.tg} {
		if _, err := host.ParseSpec(h); err != nil {
			return cli.UsageError(err)
		}
	}
	if f.addr != "" {
		switch a, err := netip.ParseAddr(f.addr); {
		case err != nil:
			return cli.Usagef("--addr %q: want an IP address", f.addr)
		case f.ipv6 && !a.Is6():
			return cli.Usagef("--ipv6 and --addr %s do not go together", f.addr)
		}
	}
	if err := results.CheckProbeSample(f.probeSample); err != nil {
		return cli.Usagef("--probe-sample: %w", err)
	}
	if _, err := probeOf(f.probes); err != nil {
		return err
	}
	spec := endpoint.Check(bench.RXSpec(f.cell(), f.options(), "127.0.0.1:0"))
	if u := (*endpoint.UsageError)(nil); errors.As(spec, &u) {
		return cli.UsageError(u)
	}
	return nil
}

func (f *runFlags) cell() results.Cell {
	c := results.Cell{ID: f.rx + "/" + f.tx, RX: f.rx, TX: f.tx, MessageBytes: int(f.message), ReadBytes: int(f.read), Touch: f.touch, Congestion: f.congestion,
		RXBufLen: f.queue.Options().BufLen, TokenBatch: f.queue.Options().TokenBatch, CPULayout: string(f.place.layout)}
	c.Probe, _ = probeOf(f.probes) // was checked
	f.settings.Cell(&c)
	return c
}

func (f *runFlags) options() bench.Options {
	o := f.opt
	o.RcvBuf, o.SndBuf, o.PaceBitsPS = int(f.rcvbuf), int(f.sndbuf), uint64(f.pace)
	o.ProbeSample = f.probeSample
	o.NIC = f.queue.Options()
	o.SUTSettings, o.TGSettings = f.settings.Ends()
	frac := f.maxCopied / 100
	o.MaxCopied = &frac
	o.SUTCPU, o.TGCPU = -1, -1
	return o
}

func (f *runFlags) run(cmd *cobra.Command) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	name, dial := bench.NewSession(), dialing(cmd)
	dial.Session = name
	sut, err := host.Dial(ctx, f.sut, dial)
	if err != nil {
		return err
	}
	tg, err := host.Dial(ctx, f.tg, dial)
	if err != nil {
		return errors.Join(err, sut.Close())
	}
	defer func() { err = errors.Join(err, host.CloseAll(tg, sut)) }()
	session, err := f.session(ctx, name, sut, tg)
	if err != nil {
		return err
	}
	if session.Runner.Power, err = f.power.Start(cmd, session.Runner); err != nil {
		return err
	}
	defer session.Runner.Power.Close()
	session.Progress = progress.New(cmd.ErrOrStderr())
	plan := matrix.Interleave([]results.Cell{f.cellOn(session.Runner)}, f.reps, f.warmup, 0)
	recs, err := session.Play(ctx, plan)
	if session.Journal != nil {
		err = errors.Join(err, session.Journal.Close())
	}
	return f.finish(cmd, recs, err)
}

// cellOn is the cell with what was found out about the path.
func (f *runFlags) cellOn(r *bench.Runner) results.Cell {
	c := f.cell()
	c.MTU = r.Opt.MTU
	return c
}

func (f *runFlags) session(ctx context.Context, name string, sut, tg *host.Host) (*bench.Session, error) {
	o := f.options()
	if err := o.FindPath(ctx, sut, tg, f.addr, f.dev, f.tgDev, f.ipv6); err != nil {
		return nil, cli.UsageError(err)
	}
	if o.SUTSettings.MTU != 0 {
		o.MTU = o.SUTSettings.MTU
	}
	if err := o.PlaceCPUs(ctx, sut, tg); err != nil {
		return nil, err
	}
	if f.sutCPU != autoCPU {
		o.SUTCPU = f.sutCPU
	}
	if f.tgCPU != autoCPU {
		o.TGCPU = f.tgCPU
	}
	for _, x := range []struct {
		flag string
		cpu  int
		h    *host.Host
	}{{"--sut-cpu", f.sutCPU, sut}, {"--tg-cpu", f.tgCPU, tg}} {
		if x.cpu != -1 && x.cpu != autoCPU && !slices.Contains(x.h.Info.OnlineCPUs, x.cpu) {
			return nil, cli.Usagef("%s: CPU %d is not online on %s; online are %s", x.flag, x.cpu, x.h.Spec.Name, counter.FormatCPUList(x.h.Info.OnlineCPUs))
		}
	}
	if err := f.place.place(&o, sut, tg); err != nil {
		return nil, err
	}
	s := &bench.Session{Runner: &bench.Runner{SUT: sut, TG: tg, Opt: o, Session: name}, AbortOnCancel: true}
	if f.out != "" {
		j, err := results.Create(f.out, results.Header{ToolVersion: version.Tool(), SessionID: s.Runner.Session, Cells: []results.Cell{f.cellOn(s.Runner)}})
		if err != nil {
			return nil, outError(err)
		}
		s.Journal = j
	}
	return s, nil
}

func (f *runFlags) finish(cmd *cobra.Command, recs []results.Record, runErr error) error {
	var summary *report.Summary
	var err error
	if f.out == "" {
		summary = report.Summarize(results.Journal{Records: recs})
	} else {
		var j results.Journal
		j, summary, err = derive(f.out, recs)
		recs = j.Records // whole
	}
	printed := f.print(cmd, recs, summary)
	if err = errors.Join(noRoom(errors.Join(runErr, err), f.out), printed); err != nil {
		return err
	}
	for _, r := range recs {
		if r.Verdict != results.OK {
			return cli.Quiet(cli.Failed)
		}
	}
	return nil
}

func (f *runFlags) print(cmd *cobra.Command, recs []results.Record, s *report.Summary) error {
	if f.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		for _, r := range recs {
			if err := enc.Encode(r); err != nil {
				return fmt.Errorf("write the records: %w", err)
			}
		}
		return nil
	}
	if len(recs) == 0 {
		return nil
	}
	if err := report.Table(cmd.OutOrStdout(), s); err != nil {
		return err
	}
	f.dataPaths(cmd, recs)
	return nil
}

// dataPaths prints what --verbose asks for.
func (f *runFlags) dataPaths(cmd *cobra.Command, recs []results.Record) {
	if !f.verbose {
		return
	}
	for _, r := range recs {
		fmt.Fprintf(cmd.OutOrStdout(), "\nrun %s, figures of the data paths\n", r.RunID)
		cli.DataPath(cmd.OutOrStdout(), "SUT", r.SUT.Rows())
		cli.DataPath(cmd.OutOrStdout(), "TG", r.TG.Rows())
	}
}
