// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/machine/veth"
)

// countersFlags are the flags of `zcbench counters`.
type countersFlags struct {
	dev, netns string
	interval   time.Duration
	count      int
	json, all  bool
	why        bool // of a path: reasons by the drop probe
}

func countersCommand() *cobra.Command {
	var f countersFlags
	cmd := &cobra.Command{
		Use:   "counters [--dev IF | --dev IF,IF...]",
		Short: "Watch which counters of the network stack and of a NIC change",
		Long: `counters reads the counters of the network stack, as nstat does, and with --dev those
of the interface, its queues, queueing disciplines, page pools, interrupts and its
driver, as ethtool -S does. After each interval it prints those that changed: by how
much, and per second. It changes nothing and needs no root, except for --netns
(CAP_SYS_ADMIN). See docs/counters.md for the names.

Name several interfaces in the order in which packets pass them: bridges, VLANs,
bonds, veths, in other network namespaces as netns:NAME/IF. Then it shows packets and
bytes per second of each, and between which two neighbours packets vanish, in both
directions. --why names the reasons that the kernel gives (docs/path.md).

Exit status: 0 done, 1 nothing could be read, 2 wrong usage or input.`,
		Example: "  zcbench counters --dev eth0\n  zcbench counters --dev eth0 --interval 10s --count 1 --json\n " +
			" zcbench counters --dev eth0,br0,vif1,netns:vm1/eth0 --why",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dev, "dev", "", "also read this interface, or several along a path, separated by commas "+
		"(default: only protocols, CPUs and sockets)")
	fs.BoolVar(&f.why, "why", false,
		"for a path: also say why packets were dropped, as zcbench probe --drops does (root)")
	fs.StringVar(&f.netns, "netns", "",
		"network namespace to look into: a name from ip netns, or a path (default: the current one)")
	fs.DurationVar(&f.interval, "interval", time.Second, "time between two tables, at least 100ms")
	fs.IntVar(&f.count, "count", 0, "number of tables (default: until Ctrl-C)")
	fs.BoolVar(&f.json, "json", false, "print as JSON, one object per interval")
	fs.BoolVar(&f.all, "all", false, "also show counters that did not change")
	cmd.RegisterFlagCompletionFunc("dev", interfaces)
	return cmd
}

// interfaces completes the names of this namespace's.
func interfaces(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	all, _ := net.Interfaces() // none is no completion
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (f *countersFlags) run(cmd *cobra.Command) error {
	if err := cli.CheckInterval("interval", f.interval, 100*time.Millisecond); err != nil {
		return cli.UsageError(err)
	}
	if f.count < 0 || f.count == 0 && cmd.Flags().Changed("count") {
		return cli.Usagef("--count %d: must be at least 1, or left out: until Ctrl-C", f.count)
	}
	if err := cli.CheckGiven(cmd, "dev", "netns"); err != nil {
		return err
	}
	if ifpath.Several(f.dev) {
		return f.follow(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	if f.why {
		return cli.Usagef("--why needs a path: name its interfaces with --dev, separated by commas")
	}
	ns, err := openNetns(f.netns)
	if err != nil {
		return err
	}
	c := &counters{flags: f, ns: ns, out: cmd.OutOrStdout()}
	defer c.close()
	err = c.inside(func() (err error) {
		c.reader, err = tally.Open(tally.Config{Dev: f.dev, Host: true})
		return err
	})
	if errors.Is(err, unix.ENODEV) {
		return cli.Usagef("--dev %s: no such interface here: ip link lists them", f.dev)
	}
	if err != nil {
		return err
	}
	return c.watch(cmd.Context(), cmd.ErrOrStderr())
}

// counters is a running `zcbench counters`.
type counters struct {
	flags  *countersFlags
	ns     *veth.Netns // nil: the current one
	out    io.Writer
	reader *tally.Reader
}

// inside runs f in the namespace asked for.
func (c *counters) inside(f func() error) error {
	if c.ns == nil {
		return f()
	}
	return c.ns.Do(f)
}

func (c *counters) close() {
	c.reader.Close()
	if c.ns != nil {
		c.ns.Close()
	}
}

// read fails where the interface is gone, and where nothing is to be had at all.
func (c *counters) read() (x *tally.Reading, err error) {
	err = c.inside(func() error {
		x = c.reader.Read()
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, g := range x.Gaps {
		if g.Area == tally.Link || len(x.Counts) == 0 {
			return nil, g.Err
		}
	}
	return x, nil
}

// watch prints a table after each interval.
func (c *counters) watch(ctx context.Context, stderr io.Writer) error {
	last, err := c.read()
	if err != nil {
		return err
	}
	if lacking := missing(last); len(lacking) > 0 && !c.flags.json {
		fmt.Fprintf(stderr, "not counted here: %s (--json says why)\n", strings.Join(lacking, ", "))
	}
	return everyInterval(ctx, c.flags.interval, c.flags.count, last, c.read, func(last, now *tally.Reading) error {
		d := tally.Between(last, now)
		return c.show(&d, now)
	})
}

// missing lists the areas that are not counted, each once.
func missing(x *tally.Reading) (areas []string) {
	for _, g := range x.Gaps {
		if !slices.Contains(areas, g.Area) {
			areas = append(areas, g.Area)
		}
	}
	return areas
}

// show prints what moved, or all.
func (c *counters) show(d *tally.Diff, now *tally.Reading) error {
	shown := slices.DeleteFunc(slices.Clone(d.Changes), func(x tally.Change) bool {
		return x.Delta == 0 &&
			!c.flags.all
	})
	if c.flags.json {
		return json.NewEncoder(c.out).Encode(countersReport(c.flags, d, now, shown))
	}
	return c.table(d, shown)
}

const (
	mostLines  = 2000 // of a table
	mostLetter = 48   // of a name
)

// table prints a line for each change.
func (c *counters) table(d *tally.Diff, shown []tally.Change) error {
	b := screen.NewWriter(c.out)
	fmt.Fprintf(b, "%s, %.2f s", time.Now().Format(time.TimeOnly), d.Seconds)
	if c.flags.dev != "" {
		fmt.Fprintf(b, ", %s", plaintext.Line(c.flags.dev))
	}
	if d.Gone+d.New > 0 {
		fmt.Fprintf(b, ", %d counters appeared, %d disappeared", d.New, d.Gone)
	}
	cut := max(len(shown)-mostLines, 0)
	shown = shown[:len(shown)-cut]
	name := plaintext.Line
	if b.Columns() == 0 {
		name = shortName
	}
	width := len("counter")
	for _, x := range shown {
		width = max(width, utf8.RuneCountInString(name(x.Name)))
	}
	b.WriteByte('\n')
	t := screen.Formatted(fmt.Sprintf("%%-10s %%-%ds %%16s %%16s %%-s", width))
	t.Head("area", "counter", "delta", "per second", "unit")
	for _, x := range shown {
		rate, tail := strconv.FormatFloat(float64(x.Delta)/d.Seconds, 'f', 1, 64), []string{}
		if x.Unit != "1" { // a plain number
			tail = append(tail, x.Unit)
		}
		if x.Kind == measure.Gauge {
			rate, tail = "", append(tail, fmt.Sprintf("now %d", x.Value))
		}
		if x.Flag != "" {
			rate, tail = "", append(tail, x.Flag)
		}
		t.Row(x.Area, name(x.Name), fmt.Sprint(x.Delta), rate, strings.Join(tail, ", "))
	}
	t.Write(b)
	if cut > 0 {
		fmt.Fprintf(b, "and %d more: --json has them\n", cut)
	}
	b.WriteByte('\n')
	return b.Flush()
}

// shortName cuts a counter's name for a table: a driver may have made it of anything.
func shortName(name string) string {
	rs := []rune(plaintext.Line(name))
	if len(rs) > mostLetter {
		rs = append(rs[:mostLetter-3], []rune("...")...)
	}
	return string(rs)
}
