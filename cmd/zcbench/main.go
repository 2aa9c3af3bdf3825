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
		Use:   "zcbench",
		Short: "Measure zero-copy receive on Linux: which way gives the most throughput per core, and is it really zero copy?",
		Long: `zcbench runs one TCP flow, or several, between two hosts, the SUT (receiver) and the TG
(sender), through different receive and send paths, and says what each costs.

Exit status: 0 done, 1 a run failed or is invalid (demo: failed), 2 wrong usage
or input.`,
		Version: version.Tool(),
	}
	cmd.AddCommand(demoCommand(), runCommand(), matrixCommand(), rerunCommand(), compareCommand(), doctorCommand(), restoreCommand(), reportCommand(), exportCommand(), powerCommand(), probeCommand(), countersCommand(), lossFreeCommand(), profileCommand(), labCommand(), agentCommand(), versionCommand())
	return cmd
}
