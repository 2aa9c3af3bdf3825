// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/profile/symbol"
	"github.com/zcbench/zcbench/results"
)

// profileFlags are the flags of `zcbench profile`.
type profileFlags struct {
	cpu         string
	pid         int
	duration    time.Duration
	frequency   int
	top         int
	out, folded string
	flame       string
	json        bool
}

func profileCommand() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Show where CPU time goes, by function and by part of the receive path",
		Long: `profile samples what the CPUs, or the threads of a process, execute, and adds up the
samples by function and by class (driver, GRO, TCP, copy, ...). Softirqs and
interrupts are counted separately from the thread that they interrupted. If there is a
PMU, CPU cycles trigger the samples, else a clock; the output says which.

It needs root, or CAP_PERFMON, CAP_SYSLOG and, for the names of functions of
processes, CAP_SYS_ADMIN, and changes nothing. See docs/profile.md.

Exit status: 0 done, 1 nothing could be sampled, 2 wrong usage or input.`,
		Example: "  zcbench profile --cpu 2,3 --duration 5s\n  zcbench profile --pid 1234 --out app.pb.gz && go " +
			"tool pprof -http : app.pb.gz",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.cpu, "cpu", "", "sample these CPUs, such as 0,2-3 (default: all)")
	fs.IntVar(&f.pid, "pid", 0, "sample only this process and the processes it starts, on any CPU")
	fs.DurationVar(&f.duration, "duration", 10*time.Second, "how long to sample; 0: until Ctrl-C")
	fs.IntVar(&f.frequency, "frequency", perf.DefaultHz, "samples per second and CPU; each costs about 5 us")
	fs.IntVar(&f.top, "top", 20, "number of functions in the table")
	fs.StringVar(&f.out, "out", "", "write a profile for go tool pprof to this file, NAME.pb.gz")
	fs.StringVar(&f.folded, "folded", "", "write folded stacks to this file, for flame graph programs")
	fs.StringVar(&f.flame, "flame", "", "write a flame graph to this file, NAME.html")
	fs.BoolVar(&f.json, "json", false, "print as JSON, with all functions")
	cmd.MarkFlagsMutuallyExclusive("cpu", "pid")
	cmd.MarkFlagsMutuallyExclusive("json", "top")
	return cmd
}

func (f *profileFlags) run(cmd *cobra.Command) error {
	if err := cli.CheckGiven(cmd, "cpu", "pid", "out", "folded", "flame"); err != nil {
		return err
	}
	options, err := f.options(counter.FS{})
	if err != nil {
		return cli.UsageError(err)
	}
	names, err := symbol.New()
	if err != nil {
		return err
	}
	taken, err := f.take(cmd.Context(), options, names)
	if err != nil {
		return err
	}
	if err := f.write(taken); err != nil {
		return err
	}
	if f.json {
		return printProfileJSON(cmd.OutOrStdout(), taken)
	}
	return taken.print(cmd.OutOrStdout(), f.top)
}

// options checks the flags.
func (f *profileFlags) options(fs counter.FS) (o perf.Options, err error) {
	switch {
	case f.frequency < 1 || f.frequency > perf.MaxHz:
		return o, fmt.Errorf("--frequency %d: must be 1 to %d", f.frequency, perf.MaxHz)
	case f.top < 1:
		return o, fmt.Errorf("--top %d: must be at least 1", f.top)
	case f.pid < 0:
		return o, fmt.Errorf("--pid %d: not a process ID", f.pid)
	}
	if err := cli.CheckWatched(f.duration); err != nil {
		return o, err
	}
	o.Hz = f.frequency
	online, err := counter.OnlineCPUs(fs)
	if err != nil {
		return o, err
	}
	if o.CPUs, err = counter.ParseCPUList(f.cpu); err != nil {
		return o, fmt.Errorf("--cpu: %w", err)
	}
	for _, c := range o.CPUs {
		if !slices.Contains(online, c) {
			return o, fmt.Errorf("--cpu: CPU %d is not online here; online are %s", c, counter.FormatCPUList(online))
		}
	}
	if len(o.CPUs) == 0 {
		o.CPUs = online
	}
	if f.pid > 0 {
		o.Threads, err = threadsOf(f.pid)
	}
	return o, err
}

// threadsOf lists the threads that a process has now.
func threadsOf(pid int) (tids []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("--pid %d: %w: it must be a living process", pid, err)
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, nil
}

// takenProfile is a profile with what the kernel's own accounting says of the same time.
type takenProfile struct {
	*profile.Profile
	at       time.Time
	pid      int
	busyNs   float64
	costs    profile.Costs
	warnings []string
}

// take samples until it is time, or somebody interrupts.
func (f *profileFlags) take(ctx context.Context, o perf.Options, names *symbol.Namer) (*takenProfile, error) {
	s, err := perf.Open(o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if f.pid > 0 {
		names.Look(f.pid)
	}
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	out := &takenProfile{at: time.Now(), pid: f.pid}
	pmu := counter.OpenPMU(counter.FS{}, o.CPUs)
	defer pmu.Close()
	if err := s.Start(); err != nil {
		return nil, err
	}
	before, err := f.busy(pmu)
	if err != nil {
		return nil, err
	}
	<-ctx.Done()
	after, err := f.busy(pmu)
	if err != nil && f.pid == 0 {
		return nil, err
	}
	r, err := s.Stop()
	if err != nil {
		return nil, err
	}
	if out.Profile, err = profile.FromRecording(r, before.atNs, max(after.atNs, before.atNs+1), names); err != nil {
		return nil, err
	}
	if mhz := pmu.MHz(before.pmu, after.pmu, float64(after.atNs-before.atNs)/1e9); mhz != nil {
		out.MHz = *mhz
	}
	return out, out.weigh(after.since(before, o.CPUs))
}

// busyReading is what the kernel has accounted at a time.
type busyReading struct {
	atNs  int64
	cpus  counter.CPUSnapshot
	pmu   counter.EventCounts
	clock int64
	ended bool
}

func (f *profileFlags) busy(pmu *counter.PMU) (r busyReading, err error) {
	r.pmu, _ = pmu.Read() // without it cycles are no time
	r.atNs = counter.Monotonic()
	if f.pid > 0 {
		r.clock, err = counter.ProcessClock(f.pid)
		r.ended = err != nil
		return r, err
	}
	cpus, err := counter.ReadCPU(counter.FS{})
	if kernelfile.IsNotKernels(err) {
		r.cpus.Missing = err.Error()
		return r, nil
	}
	r.cpus, r.atNs = cpus, cpus.AtNs
	return r, err
}

// since computes the busy time between two readings, nanoseconds; 0: it is not known.
func (r busyReading) since(b busyReading, cpus []int) (ns float64, flags []string) {
	if why := r.cpus.Missing; why != "" {
		return 0, []string{"times come from the samples alone: " + why}
	}
	if len(r.cpus.CPUs) == 0 {
		if r.ended {
			return 0, []string{"the process exited: times come from the samples alone"}
		}
		return float64(r.clock - b.clock), nil
	}
	u := counter.Usage(b.cpus, r.cpus, cpus)
	if u.BusyCores == nil {
		return 0, u.Flags
	}
	return *u.BusyCores * u.WallS * 1e9, nil
}

// weigh scales the samples to the busy time, and compares the two.
func (t *takenProfile) weigh(busyNs float64, flags []string) error {
	if t.Samples == 0 {
		return fmt.Errorf("no samples in %v: nothing ran", time.Duration(t.WallNs).Round(time.Millisecond))
	}
	if t.pid > 0 && busyNs > 0 && slices.ContainsFunc(t.Stacks, func(s profile.Stack) bool {
		return s.PID > 0 &&
			s.PID != t.pid
	}) {
		busyNs, flags = 0, append(flags,
			"it started other processes, which its own CPU time leaves out: times come from the samples alone")
	}
	t.busyNs, t.warnings = busyNs, flags
	t.costs = t.Costs(busyNs)
	if busyNs > 0 && t.pid == 0 {
		if err := t.Check(busyNs); err != nil {
			t.warnings = append(t.warnings, err.Error())
		}
	}
	t.warnings = append(t.warnings, t.Remarks()[1:]...)
	return nil
}

// write writes the files that were asked for.
func (f *profileFlags) write(t *takenProfile) error {
	if f.out != "" {
		var b bytes.Buffer
		if err := t.Pprof(t.busyNs, t.at).Write(&b); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		if err := results.WriteBinary(f.out, b.Bytes()); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if f.folded != "" {
		if err := results.WriteFile(f.folded, t.Folded); err != nil {
			return fmt.Errorf("--folded: %w", err)
		}
	}
	if f.flame != "" {
		title := fmt.Sprintf("%s, %d samples by %s, %s", t.of(), t.Samples, t.Event.Name,
			t.at.UTC().Format("2006-01-02 15:04 UTC"))
		if err := results.WriteFile(f.flame, func(w io.Writer) error { return t.Flame(w, title) }); err != nil {
			return fmt.Errorf("--flame: %w", err)
		}
	}
	return nil
}

// of names what was sampled.
func (t *takenProfile) of() string {
	if t.pid > 0 {
		return fmt.Sprintf("process %d", t.pid)
	}
	return "CPU " + counter.FormatCPUList(t.CPUs)
}

// print writes the tables.
func (t *takenProfile) print(w io.Writer, top int) error {
	wall := time.Duration(t.WallNs).Round(time.Millisecond)
	fmt.Fprintf(w, "%s: %d samples in %v, %d a second by %s\n", t.of(), t.Samples, wall, t.Hz, t.Event.Name)
	if sampled, ok := t.SampledBusyNs(); ok {
		fmt.Fprintf(w, "busy by samples %.2f s", sampled/1e9)
		if t.busyNs > 0 {
			fmt.Fprintf(w, ", by the kernel's accounting %.2f s", t.busyNs/1e9)
		}
		fmt.Fprintf(w, ", of %.2f s\n", wall.Seconds()*float64(max(1, len(t.CPUs))))
	}
	for _, text := range t.warnings {
		fmt.Fprintf(w, "note: %s\n", text)
	}
	fmt.Fprintln(w)
	return t.costs.Table(w, top)
}

// profileOutput is what `zcbench profile --json` prints.
type profileOutput struct {
	What         string           `json:"what"` // "profile"
	CPUs         []int            `json:"cpus"`
	PID          int              `json:"pid,omitempty"`
	Event        string           `json:"event"`
	Hz           int              `json:"hz"`
	DurationS    float64          `json:"duration_s"`
	Samples      uint64           `json:"samples"`
	Lost         uint64           `json:"lost"`
	LeftOut      uint64           `json:"left_out"`
	Throttled    uint64           `json:"throttled"`
	BusyS        *float64         `json:"busy_s,omitempty"`         // by the kernel's accounting
	SampledBusyS *float64         `json:"sampled_busy_s,omitempty"` // by samples alone
	Notes        []string         `json:"notes"`
	Classes      []profileClass   `json:"classes"`
	Functions    []profileFuncOut `json:"functions"`
}

type profileClass struct {
	Class   profile.Class `json:"class"`
	Share   float64       `json:"share"` // of the busy time
	Seconds float64       `json:"seconds"`
	Samples uint64        `json:"samples"`
}

type profileFuncOut struct {
	Function string        `json:"function"`
	Module   string        `json:"module,omitempty"` // of the kernel, or the file
	Kernel   bool          `json:"kernel"`
	Where    profile.Where `json:"where"`
	Class    profile.Class `json:"class,omitempty"`
	SelfS    float64       `json:"self_s"`
	TotalS   float64       `json:"total_s"`
	Samples  uint64        `json:"samples"`
}

func printProfileJSON(w io.Writer, t *takenProfile) error {
	o := profileOutput{What: "profile", CPUs: t.CPUs, PID: t.pid, Event: t.Event.Name, Hz: t.Hz,
		DurationS: float64(t.WallNs) / 1e9,
		Samples:   t.Samples, Lost: t.Tally.Lost, LeftOut: t.Tally.Left + t.LeftOut, Throttled: t.Tally.Throttled,
		Notes:   t.warnings,
		Classes: []profileClass{}, Functions: []profileFuncOut{}}
	if o.Notes == nil {
		o.Notes = []string{}
	}
	if t.busyNs > 0 {
		o.BusyS = new(t.busyNs / 1e9)
	}
	if ns, ok := t.SampledBusyNs(); ok {
		o.SampledBusyS = new(ns / 1e9)
	}
	for _, c := range t.costs.Classes {
		o.Classes = append(o.Classes, profileClass{c.Class, c.Ns / t.costs.BusyNs, c.Ns / 1e9, c.Samples})
	}
	for _, fn := range t.costs.Functions {
		o.Functions = append(o.Functions, profileFuncOut{fn.Name, fn.Module, fn.Kernel, fn.Where, fn.Class,
			fn.SelfNs / 1e9, fn.TotalNs / 1e9, fn.Samples})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(o)
}
