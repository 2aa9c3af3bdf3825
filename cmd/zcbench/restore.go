// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/lease"
)

func restoreCommand() *cobra.Command {
	var hostSpec string
	var asJSON bool
	var p wire.RestoreParams
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Put back what a run that was killed had set on a host",
		Long: `restore works off the journals of processes that died before they could restore
what they had set: on the interface (header split, RSS, rules, MTU...) and on the
host (sysctls, governor...). Every start of a run does the same. A lease whose
process lives is left to it.

A setting that somebody else has changed meanwhile is reported and left; --force
restores it all the same.

A journal is refused where another user could have written it, where it is damaged,
or where an older zcbench wrote it without checksums. What it says is shown, and
nothing of it done. --adopt takes over those that are ours, and restores what can
be read of them; look first, with --dry-run. What another user owns is never taken
over: make it yours first (chown), if it can be trusted. The same settings as for
a run are allowed.

Exit status: 0 all is as it was found, 1 something is left or could not be
restored, 2 wrong usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := host.ParseSpec(hostSpec); err != nil {
				return cli.UsageError(err)
			}
			reports, err := restoreOn(cmd.Context(), hostSpec, p)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(reports)
			} else {
				printReports(cmd.OutOrStdout(), reports)
			}
			if err == nil && !p.DryRun && owing(reports) {
				return cli.Quiet(cli.Failed)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&hostSpec, "host", "local", "host to restore: "+host.Forms)
	f.BoolVar(&p.DryRun, "dry-run", false, "only say what would be done")
	f.BoolVar(&p.Force, "force", false, "restore also what somebody else has changed meanwhile")
	f.BoolVar(&p.Adopt, "adopt", false, "restore also from journals that are refused: of older versions, damaged, or in a folder that others could write to")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func restoreOn(ctx context.Context, spec string, p wire.RestoreParams) ([]lease.Report, error) {
	h, err := host.Dial(ctx, spec, host.Options{ToolVersion: version.Tool(), KeepLeases: true, Patient: true})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var reports []lease.Report
	return reports, h.Call(ctx, wire.OpRestore, p, &reports)
}

func printReports(w io.Writer, reports []lease.Report) {
	for _, r := range reports {
		for _, l := range r.Lines() {
			fmt.Fprintln(w, l)
		}
	}
	if len(reports) == 0 {
		fmt.Fprintln(w, "nothing to restore")
	}
}

func owing(reports []lease.Report) bool {
	for _, r := range reports {
		if r.State == lease.Owing || r.Failed() {
			return true
		}
	}
	return false
}
