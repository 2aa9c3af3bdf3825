// SPDX-License-Identifier: MIT

// Command zcbench measures ways of receiving (and sending) TCP data between two
// hosts: plain sockets, io_uring, zero copy.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/lab/guest"
)

func main() {
	if guest.IsInit() {
		guest.Main() // this program is the lab's init too
	}
	os.Exit(cli.Main(command(), os.Args[1:]))
}

func command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "zcbench",
		Short: "Find out which way of receiving TCP data on Linux gives the most throughput per " +
			"core and per watt, and whether it really was zero copy",
		Long: `zcbench sends TCP flows from one host, the TG (traffic generator), to another, the
SUT (system under test), through different receive and send modes, and reports
throughput, CPU time and power of each, with proof of what was copied.

Without a command it says what this machine can do, and what to try first.

Exit status: 0 done, 1 a run failed or is invalid (demo: failed), 2 wrong usage
or input.`,
		Version: version.Tool(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			here(cmd)
			return nil
		},
	}
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"measure", "Measure", []*cobra.Command{demoCommand(), decideCommand(), runCommand(), matrixCommand(),
			lossFreeCommand(), tuneCommand(), ksftCommand(), rerunCommand(), firstHourCommand()}},
		{"results", "Read results", []*cobra.Command{compareCommand(), reportCommand(), fleetCommand(),
			exportCommand(), shareCommand()}},
		{"watch", "Observe any traffic and load", []*cobra.Command{probeCommand(), profileCommand(), countersCommand(),
			powerCommand()}},
		{"host", "Maintain hosts", []*cobra.Command{doctorCommand(), restoreCommand(), agentCommand()}},
		{"lab", "Zero copy without a NIC", []*cobra.Command{labCommand()}},
		{"help", "Help", []*cobra.Command{explainCommand(), versionCommand()}},
	} {
		cmd.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
			cmd.AddCommand(c)
		}
	}
	cmd.SetHelpCommandGroupID("help")
	cmd.SetCompletionCommandGroupID("help")
	cmd.AddCommand(manCommand())
	return cmd
}
