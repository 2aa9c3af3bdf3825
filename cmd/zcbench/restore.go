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
	"github.com/zcbench/zcbench/plan"
)

func restoreCommand() *cobra.Command {
	var hostSpec string
	var asJSON bool
	var p plan.RestoreParams
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Undo the settings that a killed run has left on a host",
		Long: `restore reads the journals (leases) of zcbench processes that died before they could
undo their settings: of the interface (header split, RSS, rules, MTU ...) and of the
host (sysctls, governor ...). Every run does the same when it starts. Leases of
running processes are kept.

A setting that somebody else has changed since is reported and left alone; --force
restores it anyway.

restore refuses a journal if another user could have written it, if it is damaged, or
if an older zcbench wrote it without checksums: it shows the journal, but does nothing.
--adopt accepts journals that are yours and restores what can be read of them; look at
them with --dry-run first. restore never accepts a journal that belongs to another
user: if you trust it, make it yours (chown). It restores only settings that a run may
change, and needs root (CAP_NET_ADMIN).

Exit status: 0 everything is as it was found, 1 something is left or could not be
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
	f.StringVar(&hostSpec, "host", "local", "host to restore: "+host.Forms())
	f.BoolVar(&p.DryRun, "dry-run", false, "only print what would be done")
	f.BoolVar(&p.Force, "force", false, "also restore what something else has changed since")
	f.BoolVar(&p.Adopt, "adopt", false,
		"also use journals that are refused: of older versions, damaged, or in a folder that others can write to")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func restoreOn(ctx context.Context, spec string, p plan.RestoreParams) ([]lease.Report, error) {
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
