// SPDX-License-Identifier: MIT

// Command zcsend is the sending end of TCP flows, on its own.
package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
)

func main() { os.Exit(cli.Main(command(), os.Args[1:])) }

func command() *cobra.Command {
	var (
		end  = cli.End{Role: stream.TX}
		wait time.Duration
	)
	cmd := &cobra.Command{
		Use:   "zcsend [flags] ADDR:PORT",
		Short: "Send TCP flows to zcrecv and say how fast they were and what they cost",
		Long: `zcsend connects to zcrecv, sends one flow (or --flows of them), prints throughput and
CPU time, and exits. Throughput counts what the receiver has confirmed to have read.

Any user may run it; devmem needs root, or CAP_NET_ADMIN.

Exit status: 0 done, 1 the run failed or is invalid, 2 wrong usage.`,
		Example: "  zcsend --mode uring-zc 10.0.0.1:5201\n  zcsend --mode sendfile --duration 5s --pace 10G " +
			"[fd00::1]:5201",
		Args:    cobra.ExactArgs(1),
		Version: version.Tool(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckDuration(cmd, end.Duration); err != nil {
				return err
			}
			spec, err := end.Spec(cmd, args[0])
			if err != nil {
				return err
			}
			sch, err := end.Schedule(wait)
			if err != nil {
				return err
			}
			e, err := cli.OpenEnd(cmd, spec, end.JSON)
			if err != nil {
				return err
			}
			return cli.RunEnd(cmd, e, spec, sch, cli.Output{JSON: end.JSON, Verbose: end.Verbose})
		},
	}
	end.AddFlags(cmd)
	cli.First(cmd, "mode", "duration", "flows", "message-size", "pace", "congestion", "sndbuf", "dev", "cpu", "json")
	f := cmd.Flags()
	f.DurationVar(&end.Duration, "duration", 0,
		"how long to send (default: as long as the receiver asks for, else 10s)")
	f.StringVar(&end.Dev, "dev", "",
		"interface that sends the flow, for its counters and for devmem (default: that of the route)")
	f.DurationVar(&wait, "connect-timeout", 15*time.Second,
		"how long to wait for the receiver to listen and be ready; 0: forever")
	return cmd
}
