package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/agent"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/interrupt"
	"github.com/zcbench/zcbench/stream"
)

func agentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Serve one end of a flow to a controller on standard input and output",
		Long: `agent is started by zcbench where an end of the flow lives. It reads requests
from standard input, one JSON object a line, and ends with its input, and when a
controller on another host is silent for longer than it promised.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// A controller that is gone must not kill us before all is undone.
			signal.Ignore(syscall.SIGPIPE)
			ctx, stop := interrupt.Context(cmd.Context(), syscall.SIGHUP)
			defer stop()
			// Past the filter and its accounts: what reads this is a controller.
			err := agent.Serve(ctx, cmd.InOrStdin(), os.Stdout)
			if lost := (*stream.Error)(nil); err == nil || errors.As(err, &lost) || ctx.Err() != nil {
				return err
			}
			return cli.UsageError(err)
		},
	}
}
