package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/host"
	"github.com/zcbench/zcbench/version"
	"github.com/zcbench/zcbench/wire"
)

// diagnosis is what doctor prints with --json.
type diagnosis struct {
	Host        string             `json:"host"`
	ToolVersion string             `json:"tool_version"`
	Dev         *wire.Interface    `json:"dev,omitempty"`
	Checks      []wire.Check       `json:"checks"`
	Modes       []wire.ModeSupport `json:"modes"`
}

func doctorCommand() *cobra.Command {
	var hostSpec, dev string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what a host can run, and what to do about the rest",
		Long: `doctor tries everything the modes need on a host, by doing it and not by looking at
version numbers, and changes nothing. It sends some bytes over 127.0.0.1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := host.ParseSpec(hostSpec); err != nil {
				return cli.UsageError(err)
			}
			d, err := diagnose(cmd, hostSpec, dev)
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(d)
			}
			d.print(cmd.OutOrStdout())
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&hostSpec, "host", "local", "host to look at: local or netns:NAME")
	f.StringVar(&dev, "dev", "", "interface to look at")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func diagnose(cmd *cobra.Command, spec, dev string) (*diagnosis, error) {
	ctx := cmd.Context()
	h, err := host.Dial(ctx, spec, host.Options{ToolVersion: version.Tool(), KeepLeases: true}) // it changes nothing
	if err != nil {
		return nil, err
	}
	defer h.Close()
	d := &diagnosis{Host: h.Spec.Name, ToolVersion: version.Tool()}
	if err := h.Call(ctx, wire.OpCheck, nil, &d.Checks); err != nil {
		return nil, err
	}
	if err := h.Call(ctx, wire.OpModes, wire.ModesParams{Dev: dev}, &d.Modes); err != nil {
		return nil, err
	}
	if dev == "" {
		return d, nil
	}
	var all []wire.Interface
	if err := h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Name == dev {
			d.Dev = &i
			return d, nil
		}
	}
	return nil, cli.Usagef("%s has no interface %s", spec, dev)
}

func (d *diagnosis) print(w io.Writer) {
	fmt.Fprintf(w, "host %s, zcbench %s\n\n", d.Host, d.ToolVersion)
	if i := d.Dev; i != nil {
		state := "down"
		if i.Up {
			state = "up"
		}
		fmt.Fprintf(w, "interface %s: %s, MTU %d, addresses %v\n\n", i.Name, state, i.MTU, i.Addrs)
	}
	for _, c := range d.Checks {
		fmt.Fprintf(w, "%-8s %-28s %s\n", c.Status, c.Name, c.Found)
		if c.Status != "ok" {
			if c.Needed != "" {
				fmt.Fprintf(w, "%38sneeded: %s\n", "", c.Needed)
			}
			if c.Fix != "" {
				fmt.Fprintf(w, "%38sfix: %s\n", "", c.Fix)
			}
		}
	}
	fmt.Fprintf(w, "\nmodes that can run here\n")
	for _, m := range d.Modes {
		verdict := "supported"
		if !m.Supported {
			verdict = "unsupported"
		}
		fmt.Fprintf(w, "  %-2s %-12s %-11s  %s\n", m.Role, m.Name, verdict, m.Summary)
		if !m.Supported {
			fmt.Fprintf(w, "%31s%s\n", "", m.Reason)
			fmt.Fprintf(w, "%31sfix: %s\n", "", m.Fix)
		}
	}
}
