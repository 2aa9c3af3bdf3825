// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/interrupt"
)

func agentCommand() *cobra.Command {
	var removeUnused bool
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run one end of a flow for a controller (zcbench starts it itself)",
		Long: `agent is started by zcbench on each host of a flow. It reads requests from standard
input, one JSON object per line, and exits at the end of its input, or when a
controller on another host is silent for longer than it announced.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			agent.Arrive()
			if removeUnused {
				_, err := host.RemoveUnused(".", time.Now())
				return err
			}
			// A controller that is gone must not kill us before all is undone.
			signal.Ignore(syscall.SIGPIPE)
			ctx, stop := interrupt.Context(cmd.Context(), syscall.SIGHUP)
			defer stop()
			// Past the filter and its accounts: what reads this is a controller.
			err := agent.Serve(ctx, cmd.InOrStdin(), os.Stdout)
			if lost := (*fault.Error)(nil); err == nil || errors.As(err, &lost) || ctx.Err() != nil {
				return err
			}
			return cli.UsageError(err)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&removeUnused, "remove-unused", false,
		"instead, remove agents from this folder that have not been started for a month")
	f.MarkHidden("remove-unused") // for the script that copies the program
	return cmd
}
