// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/internal/interrupt"
	"github.com/zcbench/zcbench/lab/guest"
)

func main() {
	ctx, stop := interrupt.Context(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var b bench
	var only string
	cmd := &cobra.Command{
		Use:           "field [flags]",
		Short:         "Compare zero-copy receive with the field's C programs, inside the lab's guest",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if os.Getenv(guest.Env) == "" {
				return errors.New("this runs only inside the lab's guest: make bench-lab")
			}
			if b.window < 100*time.Millisecond || b.blocks < 1 {
				return errors.New("--window must be at least 100ms and --blocks at least 1")
			}
			var err error
			if b.all, err = contenders(b.bin, b.programs); err != nil {
				return err
			}
			if only != "" {
				b.all = slices.DeleteFunc(b.all, func(c contender) bool { return c.group != only })
			}
			runs, err := b.play(cmd.Context())
			if err != nil {
				return err
			}
			return printTable(cmd.OutOrStdout(), b.all, runs)
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.bin, "bin", "", "folder with zcrecv and zcsend")
	f.StringVar(&b.programs, "programs", "", "folder with the other programs: liburing's zcrx, kperf-server and "+
		"kperf-client, ncdevmem; any may be missing")
	f.StringVar(&only, "only", "", "compare only this group: zcrx, devmem...")
	f.IntVar(&b.blocks, "blocks", 3, "blocks of runs; each runs every program twice")
	f.DurationVar(&b.window, "window", 250*time.Millisecond, "length of the measured window")
	cmd.AddCommand(sendCommand())
	return cmd
}

// contenders lists the programs that are there: ours first.
func contenders(bin, programs string) ([]contender, error) {
	var out []contender
	for _, c := range []contender{
		zcbenchZcrx(bin), liburing(programs),
		bounded(zcbenchZcrx(bin)), bounded(kperfZcrx(programs)),
		zcbenchDevmem(bin), kperfDevmem(programs), ncdevmem(programs)} {
		missing := ""
		for _, p := range c.needs {
			if _, err := os.Stat(p); err != nil {
				missing = filepath.Base(p)
			}
		}
		if missing != "" {
			fmt.Fprintf(os.Stderr, "SKIPPED: %s: no %s\n", c.name, missing)
			continue
		}
		out = append(out, c)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("nothing to compare with in %q", programs)
	}
	return slices.DeleteFunc(out, func(c contender) bool { // alone in its group
		return !slices.ContainsFunc(out, func(o contender) bool { return o.group == c.group && o.name != c.name })
	}), nil
}
