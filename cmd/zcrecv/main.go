// SPDX-License-Identifier: MIT

// Command zcrecv is the receiving end of TCP flows, on its own.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/modes"
)

func main() { os.Exit(cli.Main(command(), os.Args[1:])) }

func command() *cobra.Command {
	var (
		end     = cli.End{Role: stream.RX}
		listen  string
		answers string
		wait    time.Duration
	)
	cmd := &cobra.Command{
		Use:   "zcrecv [flags]",
		Short: "Receive TCP flows from zcsend and say how fast they were and what they cost",
		Long: `zcrecv listens, receives one flow from zcsend (or --flows of them), prints throughput
and CPU time, and exits. The receive buffer is 256K unless --rx-buffer or
--message-size says otherwise.

Connections that do not start with the flow's cookie are closed and counted. Any
user may run it; zcrx, devmem and --queue need root, or CAP_NET_ADMIN.

Exit status: 0 done, 1 the run failed or is invalid, 2 wrong usage.`,
		Example: "  zcrecv --mode uring --listen 10.0.0.1:5201 --duration 10s\n  zcrecv --listen [::1]:5201 " +
			"--touch verify --json",
		Args:    cobra.NoArgs,
		Version: version.Tool(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckDuration(cmd, end.Duration); err != nil {
				return err
			}
			spec, err := end.Spec(cmd, listen)
			if err != nil {
				return err
			}
			spec.Answers = answers
			sch, err := end.Schedule(wait)
			if err != nil {
				return err
			}
			e, err := cli.OpenEnd(cmd, spec, end.JSON)
			if err != nil {
				return err
			}
			if !end.JSON {
				fmt.Fprintf(cmd.ErrOrStderr(), "zcrecv: listening on %s, mode %s\n", e.Addr(), spec.Mode())
			}
			return cli.RunEnd(cmd, e, spec, sch, cli.Output{JSON: end.JSON, Verbose: end.Verbose})
		},
	}
	end.AddFlags(cmd)
	cli.First(cmd, "mode", "listen", "duration", "flows", "dev", "rx-buffer", "message-size", "touch", "cpu", "json")
	f := cmd.Flags()
	f.StringVar(&listen, "listen", ":5201", "address and port to listen on; port 0: any free one")
	f.DurationVar(&end.Duration, "duration", 0, "how long to receive (default: as long as the sender asks for)")
	f.StringVar(&end.Dev, "dev", "", "interface that receives the flow, for its counters and for zcrx and devmem "+
		"(default: the one with the address)")
	f.StringVar(&answers, "answers", "", "answer requests without a copy, from senders of this mode, and refuse "+
		"others: "+strings.Join(modes.Lenders(), ", ")+" (default: answers are copied)")
	cmd.RegisterFlagCompletionFunc("answers", cobra.FixedCompletions(modes.Lenders(),
		cobra.ShellCompDirectiveNoFileComp))
	f.DurationVar(&wait, "accept-timeout", 0, "how long to wait for the sender; 0: forever")
	return cmd
}
