// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/version"
)

// build is what version prints with --json.
type build struct {
	ToolVersion string   `json:"tool_version"`
	GoVersion   string   `json:"go_version"`
	Platform    string   `json:"platform"`
	MinKernel   string   `json:"min_kernel_io_uring"` // of any mode that uses io_uring
	Engines     []engine `json:"uring_engines"`       // the default first
}

// engine is an io_uring engine that is built in.
type engine struct {
	Name    uring.Engine `json:"name"`
	Version string       `json:"version,omitempty"` // of the module; empty for our own
	Lacks   []string     `json:"lacks,omitempty"`   // what it cannot do, in the kernel's words
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and which io_uring implementations are built in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(b)
			}
			b.print(cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func thisBuild() build {
	b := build{ToolVersion: version.Tool(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		MinKernel: uring.MinKernel}
	for _, e := range uring.Engines() {
		b.Engines = append(b.Engines, engine{Name: e, Version: version.Module(e.Module()), Lacks: e.Lacks()})
	}
	return b
}

func (b build) print(w io.Writer) {
	fmt.Fprintf(w, "zcbench %s\n", b.ToolVersion)
	fmt.Fprintf(w, "  built with      %s %s\n", b.GoVersion, b.Platform)
	for i, e := range b.Engines {
		name := "io_uring engine"
		if i > 0 {
			name = ""
		}
		line := strings.TrimSpace(string(e.Name) + " " + e.Version)
		if i == 0 {
			line += " (default)"
		}
		if len(e.Lacks) > 0 {
			line += ", without " + strings.Join(e.Lacks, ", ")
		}
		fmt.Fprintf(w, "  %-15s %s\n", name, line)
	}
	fmt.Fprintf(w, "  kernel          io_uring modes need Linux %s or later, zcrx 6.15; what this one can do: "+
		"zcbench doctor\n", b.MinKernel)
}
