package main

import (
	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/agent"
	"github.com/zcbench/zcbench/cmd/internal/cli"
)

func agentCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Serve one end of a flow to a controller on standard input and output",
		Long: `agent is started by zcbench where an end of the flow lives. It reads requests
from standard input, one JSON object a line, and ends with its input.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := agent.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return cli.UsageError(err)
			}
			return nil
		},
	}
}
