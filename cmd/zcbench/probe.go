// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/bpf/prom"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
)

// probeFlags are the flags of `zcbench probe`.
type probeFlags struct {
	dev, netns, addr, cgroup  string
	port, localPort, peerPort uint16
	pid, syscalls             int
	duration, interval        time.Duration
	stamp, prometheus         string
	sample                    int
	json, overhead, plain     bool
	drops, everywhere         bool
	profile                   bool
}

func probeCommand() *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Show where received packets spend their time in the network stack",
		Long: `probe shows how long received packets take to each stage of the network stack, from
the receive time stamp to the application, and counts buffers and polls; --syscalls
also times the system calls of a process. --drops shows instead which packets the
kernel drops, why and where, every second. It works on any traffic of the host.

It needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN (and CAP_SYS_ADMIN for
--netns and --overhead), and leaves nothing behind. See docs/probes.md for the stages.

Exit status: 0 done, 1 nothing could be probed, 2 wrong usage or input.`,
		Example: "  zcbench probe --dev eth0 --port 443 --duration 10s\n  zcbench probe --prometheus " +
			"127.0.0.1:9435 --duration 0\n  zcbench probe --drops --duration 0\n  zcbench probe --overhead",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dev, "dev", "", "only packets received by this interface")
	fs.StringVar(&f.netns, "netns", "",
		"network namespace to look into: a name from ip netns, or a path (default: the current one)")
	fs.StringVar(&f.addr, "addr", "", "only packets from or to this IP address")
	fs.Uint16Var(&f.port, "port", 0, "only packets from or to this port")
	fs.Uint16Var(&f.localPort, "local-port", 0, "only packets to this port of the receiving host")
	fs.Uint16Var(&f.peerPort, "remote-port", 0, "only packets from this port")
	fs.IntVar(&f.pid, "pid", 0, "only stages where this process reads")
	fs.StringVar(&f.cgroup, "cgroup", "",
		"only stages where a process of this cgroup (a folder), or of one below it, reads")
	fs.IntVar(&f.syscalls, "syscalls", 0, "also time the system calls of this process")
	fs.DurationVar(&f.duration, "duration", 10*time.Second, "how long to probe; 0: until Ctrl-C")
	fs.DurationVar(&f.interval, "interval", 0,
		"also print a table per interval, at least 100ms (default: none; --drops: 1s)")
	fs.StringVar(&f.stamp, "stamp", "",
		"where packets get their time stamp: socket or tcx (default: tcx on veth and lo, else socket)")
	fs.IntVar(&f.sample, "sample", 1,
		"sample 1 in N packets, the same ones at every stage, to lower the cost; N is a power of two")
	fs.StringVar(&f.prometheus, "prometheus", "",
		"serve histograms and counters at http://ADDR:PORT/metrics; without ADDR only on loopback")
	fs.BoolVar(&f.json, "json", false, "print as JSON, one object per interval and one for the whole")
	fs.BoolVar(&f.overhead, "overhead", false, "measure what the eBPF programs cost, those of --syscalls too, "+
		"compared with an empty program and a per-CPU hash")
	fs.BoolVar(&f.drops, "drops", false,
		"show only dropped packets, by reason and place; with --overhead: measure that program, too")
	fs.BoolVar(&f.profile, "profile", false,
		"with --overhead: also measure what sampling all CPUs costs, as zcbench profile does")
	fs.BoolVar(&f.everywhere, "all-netns", false, "with --drops: in all network namespaces")
	fs.BoolVar(&f.plain, "no-histograms", false, "print only the table")
	for _, nothing := range [][]string{{"overhead", "prometheus"}, {"overhead", "interval"},
		{"overhead", "no-histograms"}, {"json", "no-histograms"}} {
		cmd.MarkFlagsMutuallyExclusive(nothing...)
	}
	return cmd
}

func (f *probeFlags) run(cmd *cobra.Command) error {
	if err := f.checkNumbers(cmd); err != nil {
		return cli.UsageError(err)
	}
	if err := cli.CheckGiven(cmd, "dev", "netns", "addr", "cgroup", "port", "local-port", "remote-port", "pid",
		"syscalls", "prometheus", "stamp"); err != nil {
		return err
	}
	if f.overhead && f.duration < time.Second {
		return cli.Usagef("--overhead needs a --duration of at least 1s: three kinds of programs take turns")
	}
	if f.profile && !f.overhead {
		return cli.Usagef("--profile needs --overhead; zcbench profile shows where CPU time goes")
	}
	if f.stamp != "" && f.stamp != string(bpf.StampSocket) && f.stamp != string(bpf.StampTCX) {
		return cli.Usagef("--stamp %q: must be socket or tcx", f.stamp)
	}
	if err := plan.CheckProbeSample(f.sample); err != nil {
		return cli.Usagef("--sample: %w", err)
	}
	if err := f.checkDrops(cmd); err != nil {
		return err
	}
	if err := bpf.CheckCapabilities(f.overhead || f.netns != ""); errors.Is(err, bpf.ErrCapability) {
		return cli.Usagef("probe loads eBPF programs: %w", err)
	} else if err != nil {
		return err
	}
	if f.drops && !f.overhead {
		return f.runDrops(cmd.Context(), cmd.OutOrStdout())
	}
	p := &prober{flags: f, out: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	if err := f.inside(p.open); err != nil {
		return errors.Join(err, p.close())
	}
	err := p.run(cmd.Context())
	return errors.Join(err, p.close())
}

// checkNumbers finds times and processes that are none.
func (f *probeFlags) checkNumbers(cmd *cobra.Command) error {
	if f.pid < 0 {
		return fmt.Errorf("--pid %d: must not be negative", f.pid)
	}
	if f.syscalls < 0 {
		return fmt.Errorf("--syscalls %d: must not be negative", f.syscalls)
	}
	if err := cli.CheckWatched(f.duration); err != nil || !cmd.Flags().Changed("interval") {
		return err
	}
	return cli.CheckInterval("interval", f.interval, 100*time.Millisecond)
}

// inside runs open in the namespace asked for.
func (f *probeFlags) inside(open func() error) error {
	ns, err := openNetns(f.netns)
	switch {
	case err != nil:
		return err
	case ns == nil:
		return open()
	}
	defer ns.Close()
	return ns.Do(open)
}

// filter builds what the flags ask for, inside the namespace.
func (f *probeFlags) filter() (b bpf.Filter, err error) {
	b = bpf.Filter{LocalPort: f.localPort, RemotePort: f.peerPort, Port: f.port, TGID: f.pid}
	if b.Netns, err = bpf.NetnsInode(); err != nil {
		return b, err
	}
	if f.dev != "" {
		i, err := deviceHere(f.dev, f.netns)
		if err != nil {
			return b, cli.Usagef("--dev %s: %w", f.dev, err)
		}
		b.Ifindex = i.Index
	}
	if f.addr != "" {
		if b.Addr, err = netip.ParseAddr(f.addr); err != nil {
			return b, cli.Usagef("--addr: %w", err)
		}
	}
	for flag, pid := range map[string]int{"--pid": f.pid, "--syscalls": f.syscalls} {
		if pid == 0 {
			continue
		}
		if err := bpf.CheckProcess(pid); err != nil {
			return b, cli.Usagef("%s: %w", flag, err)
		}
	}
	if f.cgroup != "" {
		if _, err := os.Stat(f.cgroup); err != nil {
			return b, cli.Usagef("--cgroup: %w (want a folder such as /sys/fs/cgroup/system.slice)", err)
		}
		b.Cgroup = f.cgroup
	}
	return b, nil
}

// prober is a running `zcbench probe`.
type prober struct {
	flags   *probeFlags
	out     io.Writer
	stderr  io.Writer
	probes  bpf.Probes
	metrics prom.Collector

	listener net.Listener // of serving, once that is there
	serving  *http.Server
}

// reading is what all probes have counted at a time.
type reading struct {
	at      time.Time
	latency []bpf.StageHist
	path    []bpf.Count
	calls   []bpf.Call
	missed  uint64
}

func (p *prober) open() error {
	filter, err := p.flags.filter()
	if err != nil {
		return err
	}
	if p.probes.Latency, err = bpf.OpenLatency(bpf.LatencyOptions{Filter: filter, Stamp: bpf.Stamp(p.flags.stamp),
		Sample: p.flags.sample}); errors.Is(err, bpf.ErrNoCgroup) {
		return cli.Usagef("--cgroup: %w (such as /sys/fs/cgroup/system.slice)", err)
	} else if err != nil {
		return err
	}
	if p.probes.Path, err = bpf.OpenPath(filter.Netns, filter.Ifindex); err != nil {
		return err
	}
	if p.flags.syscalls != 0 {
		if p.probes.Syscalls, err = bpf.OpenSyscalls(p.flags.syscalls); err != nil {
			return err
		}
	}
	if p.flags.drops {
		p.probes.Drops, err = bpf.OpenDrops(bpf.DropsOptions{Netns: filter.Netns, Ifindex: filter.Ifindex,
			Port: filter.Port})
	}
	return err
}

func (p *prober) run(ctx context.Context) error {
	if p.flags.overhead {
		return p.flags.inside(func() error { return p.overhead(ctx) })
	}
	if err := p.listen(); err != nil {
		return err
	}
	if p.flags.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.flags.duration)
		defer cancel()
	}
	if err := p.printHead(); err != nil {
		return err
	}
	first, err := p.read()
	if err != nil {
		return err
	}
	if p.listener != nil {
		p.serve()
	}
	return p.watch(ctx, first)
}

// printHead prints where the clock starts, and printFoot what is missing; JSON has both in every
// object.
func (p *prober) printHead() error {
	if p.flags.json {
		return nil
	}
	_, err := fmt.Fprintf(p.out, "t0: %s\n", p.probes.Latency.T0)
	return err
}

func (p *prober) printFoot() error {
	if p.flags.json {
		return nil
	}
	return bpf.PrintHooks(p.out, p.probes.Hooks())
}

// watch prints every interval and the whole. In between it reads every second, for
// Prometheus and because counters must be read before they wrap.
func (p *prober) watch(ctx context.Context, first reading) error {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var interval <-chan time.Time
	if p.flags.interval > 0 {
		t := time.NewTicker(p.flags.interval)
		defer t.Stop()
		interval = t.C
	}
	last := first
	for {
		select {
		case <-second.C:
			if _, err := p.readCalls((*bpf.Syscalls).Peek); err != nil {
				return err
			}
			continue
		case <-interval:
		case <-ctx.Done():
		}
		now, err := p.read()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return cmp.Or(p.print("total", first, now), p.printFoot())
		}
		if err := p.print("interval", last, now); err != nil {
			return err
		}
		last = now
	}
}

func (p *prober) read() (reading, error) { return p.readCalls((*bpf.Syscalls).Read) }

// readCalls reads all probes, system calls in the way given.
func (p *prober) readCalls(calls func(*bpf.Syscalls) ([]bpf.Call, error)) (r reading, err error) {
	r.at = time.Now()
	if r.latency, err = p.probes.Latency.Read(); err != nil {
		return r, err
	}
	if r.path, err = p.probes.Path.Read(); err != nil {
		return r, err
	}
	if p.probes.Syscalls != nil {
		if r.calls, err = calls(p.probes.Syscalls); err != nil {
			return r, err
		}
	}
	r.missed = p.probes.Missed()
	p.metrics.Update(bpf.Totals{Stages: r.latency, Sample: p.probes.Latency.Sample, Missed: r.missed, Counts: r.path,
		Calls: r.calls})
	return r, nil
}

// since subtracts an earlier reading.
func (now reading) since(was reading) reading {
	d := reading{at: now.at, calls: bpf.SubCalls(now.calls, was.calls), missed: now.missed - was.missed}
	for i, s := range now.latency {
		d.latency = append(d.latency, bpf.StageHist{Stage: s.Stage, Hist: s.Hist.Sub(&was.latency[i].Hist)})
	}
	for i, c := range now.path {
		c.Value -= was.path[i].Value
		d.path = append(d.path, c)
	}
	return d
}

func (p *prober) print(what string, was, now reading) error {
	d, wall := now.since(was), now.at.Sub(was.at)
	if p.flags.json {
		return json.NewEncoder(p.out).Encode(probeReport(what, wall, p, d))
	}
	fmt.Fprintf(p.out, "\n%s, %.1f s\n", what, wall.Seconds())
	if err := p.printStages(what, d.latency); err != nil {
		return err
	}
	if what == "total" && !p.flags.plain {
		for _, s := range d.latency {
			if err := bpf.PrintHistogram(p.out, s); err != nil {
				return err
			}
		}
	}
	for _, c := range d.path {
		if c.Value > 0 {
			fmt.Fprintf(p.out, "%-22s %12d %s\n", c.Name, c.Value, c.Unit)
		}
	}
	if d.missed > 0 {
		fmt.Fprintf(p.out, "skipped by the kernel because a program had interrupted itself: %d\n", d.missed)
	}
	if p.probes.Syscalls == nil {
		return nil
	}
	return bpf.PrintCalls(p.out, d.calls, wall, 0)
}

// printStages prints the table, and in the end says where no packet came.
func (p *prober) printStages(what string, stages []bpf.StageHist) error {
	if slices.ContainsFunc(stages, bpf.StageHist.Seen) {
		if err := bpf.PrintLatency(p.out, stages); err != nil {
			return err
		}
	}
	if what != "total" || slices.ContainsFunc(stages, bpf.StageHist.SeenPackets) {
		return nil
	}
	f := p.flags
	filtered := f.addr != "" || f.cgroup != "" || f.pid != 0 || f.port != 0 || f.localPort != 0 || f.peerPort != 0
	_, err := io.WriteString(p.out, plaintext.Wrap("no packets: ", "  ", quiet(f.dev, f.netns, filtered)))
	return err
}

// listen opens the Prometheus endpoint, if one is asked for.
func (p *prober) listen() error {
	if p.flags.prometheus == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(p.flags.prometheus)
	if err != nil {
		return cli.Usagef("--prometheus %q: %w; want ADDR:PORT", p.flags.prometheus, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if p.listener, err = net.Listen("tcp", net.JoinHostPort(host, port)); err != nil {
		return cli.Usagef("--prometheus: %w", err)
	}
	return nil
}

// serve answers there, from the first reading on.
func (p *prober) serve() {
	reg := prometheus.NewRegistry()
	reg.MustRegister(&p.metrics)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	p.serving = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go p.serving.Serve(p.listener) // ends with Close
	fmt.Fprintf(p.stderr, "metrics at http://%s/metrics\n", p.listener.Addr())
}

func (p *prober) overhead(ctx context.Context) error {
	if err := p.printHead(); err != nil {
		return err
	}
	costs, err := p.probes.MeasureCost(ctx, p.flags.duration)
	if err != nil {
		return err
	}
	if p.flags.profile {
		more, err := sampleCosts(ctx, p.flags.duration/4, p.stderr)
		if err != nil {
			return err
		}
		costs = append(costs, more...)
	}
	if p.flags.json {
		return json.NewEncoder(p.out).Encode(costReport(p, costs))
	}
	return cmp.Or(bpf.PrintCosts(p.out, costs), p.printFoot())
}

func (p *prober) close() error {
	var errs []error
	if p.serving != nil {
		errs = append(errs, p.serving.Close())
	} else if p.listener != nil {
		errs = append(errs, p.listener.Close())
	}
	errs = append(errs, p.probes.Close())
	return errors.Join(errs...)
}
