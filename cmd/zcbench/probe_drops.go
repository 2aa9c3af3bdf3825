// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/ledger"
)

// notOfDrops are flags of the other probes.
var notOfDrops = []string{"addr", "local-port", "remote-port", "pid", "cgroup", "syscalls", "stamp", "sample",
	"prometheus", "no-histograms"}

// checkDrops finds flags that do not go together.
func (f *probeFlags) checkDrops(cmd *cobra.Command) error {
	if f.everywhere && (!f.drops || f.overhead || f.netns != "" || f.dev != "") {
		return cli.Usagef("--all-netns needs --drops, and excludes --overhead, --netns and --dev")
	}
	if !f.drops || f.overhead {
		return nil
	}
	for _, name := range notOfDrops {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s does not apply to --drops, which shows only dropped packets: leave one of them out",
				name)
		}
	}
	return nil
}

// dropper is a running `zcbench probe --drops`.
type dropper struct {
	flags *probeFlags
	out   io.Writer
	drops *bpf.Drops
	// counters are read beside, where the same packets are in them: not with a filter.
	counters bool
}

// dropState is what was dropped, and counted, so far.
type dropState struct {
	at      time.Time
	seen    bpf.DropReading
	counted ledger.Counters
	missed  uint64
}

func (f *probeFlags) runDrops(ctx context.Context, out io.Writer) error {
	if f.interval == 0 {
		f.interval = time.Second
	}
	d := &dropper{flags: f, out: out, counters: f.dev == "" && f.port == 0 && !f.everywhere}
	if err := f.inside(d.open); err != nil {
		return err
	}
	return errors.Join(d.run(ctx), d.drops.Close())
}

func (d *dropper) open() error {
	filter, err := d.flags.filter()
	if err != nil {
		return err
	}
	o := bpf.DropsOptions{Netns: filter.Netns, Ifindex: filter.Ifindex, Port: filter.Port}
	if d.flags.everywhere {
		o.Netns = 0
	}
	d.drops, err = bpf.OpenDrops(o)
	return err
}

func (d *dropper) run(ctx context.Context) error {
	if d.flags.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.flags.duration)
		defer cancel()
	}
	first, err := d.read()
	if err != nil {
		return err
	}
	tick := time.NewTicker(d.flags.interval)
	defer tick.Stop()
	for last := first; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		now, err := d.read()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return cmp.Or(d.print("total", first, now), d.printFoot())
		}
		if err := d.print("interval", last, now); err != nil {
			return err
		}
		last = now
	}
}

// printFoot prints what is missing; JSON has it in every object.
func (d *dropper) printFoot() error {
	if d.flags.json {
		return nil
	}
	return bpf.PrintHooks(d.out, d.drops.Hooks)
}

func (d *dropper) read() (s dropState, err error) {
	s.at = time.Now()
	if s.seen, err = d.drops.Read(); err != nil {
		return s, err
	}
	s.missed = bpf.Probes{Drops: d.drops}.Missed()
	if d.counters {
		err = d.flags.inside(func() (err error) { s.counted, err = ledger.Read(); return err })
	}
	return s, err
}

// dropOutput is what `zcbench probe --drops --json` prints.
type dropOutput struct {
	What      string        `json:"what"` // "interval", "total"
	DurationS float64       `json:"duration_s"`
	Hooks     []bpf.Hook    `json:"hooks"`
	Packets   uint64        `json:"packets"` // that were lost
	Unnamed   uint64        `json:"unnamed"` // of them, for which there was no row
	Drops     []bpf.Drop    `json:"drops"`
	Counters  []dropCounter `json:"counters,omitempty"`
	Missed    uint64        `json:"missed"` // program runs left out by the kernel
	Warning   string        `json:"warning,omitempty"`
}

// dropCounter is one of the kernel's exact counters. Super-packets are one.
type dropCounter struct {
	Counter      string `json:"counter"`
	Source       string `json:"source"`
	Packets      uint64 `json:"packets"`
	Attributed   uint64 `json:"attributed"`
	Unattributed uint64 `json:"unattributed"`
}

// dropCounters hold what the counters tell against what was seen.
func dropCounters(lines []ledger.Counted, drops []bpf.Drop) (out []dropCounter) {
	l := ledger.Ledger{Counted: lines, SuperPackets: true}
	for _, d := range drops {
		if d.NotLost == "" {
			l.Drops = append(l.Drops, ledger.Drop{Reason: d.Reason, Function: d.Function, Packets: d.Packets,
				SKBs: d.SKBs})
		}
	}
	b := l.Add()
	for _, r := range b.Rows {
		c := dropCounter{Counter: r.Name, Source: r.Source, Packets: r.Count}
		for _, d := range r.Why {
			c.Attributed += d.SKBs
		}
		c.Attributed = min(c.Attributed, r.Count)
		c.Unattributed = r.Count - c.Attributed
		out = append(out, c)
	}
	return out
}

func (d *dropper) print(what string, was, now dropState) error {
	wall := now.at.Sub(was.at)
	table, err := d.drops.Named(now.seen.Sub(was.seen))
	if err != nil {
		return err
	}
	var counters []dropCounter
	if d.counters {
		counters = dropCounters(ledger.Between(was.counted, now.counted), table.Drops)
	}
	missed := now.missed - was.missed
	if d.flags.json {
		return json.NewEncoder(d.out).Encode(dropOutput{what, wall.Seconds(), d.drops.Hooks, table.Packets(),
			table.Unnamed, table.Drops, counters, missed, table.Warning})
	}
	if what == "interval" && len(table.Drops) == 0 && table.Unnamed == 0 && len(counters) == 0 {
		return nil
	}
	fmt.Fprintf(d.out, "\n%s, %.1f s: %d packets dropped\n", what, wall.Seconds(), table.Packets())
	if err := bpf.PrintDrops(d.out, table, wall, d.flags.everywhere); err != nil {
		return err
	}
	if missed > 0 {
		fmt.Fprintf(d.out, "skipped by the kernel because the program had interrupted itself: %d\n", missed)
	}
	return printDropCounters(d.out, counters)
}

func printDropCounters(w io.Writer, counters []dropCounter) error {
	if len(counters) == 0 {
		return nil
	}
	t := screen.Aligned("<<<<<")
	t.Head("counted", "attributed", "unattributed", "counter", "source")
	for _, c := range counters {
		t.Row(fmt.Sprint(c.Packets), fmt.Sprint(c.Attributed), fmt.Sprint(c.Unattributed), c.Counter, c.Source)
	}
	return t.Write(w)
}
