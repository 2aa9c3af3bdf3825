// SPDX-License-Identifier: MIT

package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
)

// UringEngineFlag defines --uring-engine.
func UringEngineFlag(cmd *cobra.Command, engine *string) {
	var names []string
	for _, e := range uring.Engines() {
		names = append(names, string(e))
	}
	cmd.Flags().StringVar(engine, "uring-engine", "", "implementation of the ring in io_uring modes: "+strings.Join(names, ", ")+" (default: "+names[0]+")")
	cmd.RegisterFlagCompletionFunc("uring-engine", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// GatherFlag defines --gather. What it returns is the gather time that was asked
// for in nanoseconds, nil for none.
func GatherFlag(cmd *cobra.Command) func() *int64 {
	f := cmd.Flags()
	f.Duration("gather", stream.GatherTime, "in io_uring receive modes: for how long a wait for payload lets more come (6.12); 0: none, the default with --rcvbuf")
	return func() *int64 {
		if !f.Changed("gather") {
			return nil
		}
		d, _ := f.GetDuration("gather")
		return new(d.Nanoseconds())
	}
}

// CheckUringEngine refuses an engine that is unknown or not built in, and any for
// modes of which none uses io_uring.
func CheckUringEngine(engine string, modes ...stream.Mode) error {
	if engine == "" {
		return nil
	}
	if err := uring.Engine(engine).Check(); err != nil {
		return Usagef("--uring-engine: %w", err)
	}
	var names []string
	for _, m := range modes {
		if m.UsesRing() {
			return nil
		}
		names = append(names, m.Name)
	}
	return Usagef("--uring-engine %s: of the modes %s none uses io_uring; leave it out", engine, strings.Join(names, ", "))
}
