// SPDX-License-Identifier: MIT

package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/version"
)

// peerFlags are those of the path to another host, as run has them.
type peerFlags struct {
	host string
	ipv6 bool
	port int
}

func (p *peerFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.host, "peer", "", "host at the other end, which sends: try the path from it to --host: "+
		host.Forms())
	f.BoolVar(&p.ipv6, "ipv6", false, "with --peer: use the IPv6 address of --host")
	f.IntVar(&p.port, "port", 0, "with --peer: data port; 0: any free port")
}

func (p *peerFlags) check(cmd *cobra.Command) error {
	if p.host == "" {
		if cmd.Flags().Changed("peer") || cmd.Flags().Changed("ipv6") || cmd.Flags().Changed("port") {
			return cli.Usagef("--ipv6 and --port are about the path to another host: name it with --peer")
		}
		return nil
	}
	if p.port < 0 || p.port > 65535 {
		return cli.Usagef("--port %d: want 0 to 65535", p.port)
	}
	if _, err := host.ParseSpec(p.host); err != nil {
		return cli.UsageError(err)
	}
	return nil
}

// try sends from the peer to h.
func (p *peerFlags) try(ctx context.Context, h *host.Host, dev string) ([]wire.Check, error) {
	tg, err := host.Dial(ctx, p.host, host.Options{ToolVersion: version.Tool(), KeepLeases: true})
	if err != nil {
		return nil, err
	}
	defer tg.Close()
	return bench.TryPath(ctx, h, tg, bench.PathTrial{Dev: dev, IPv6: p.ipv6, Port: p.port}), nil
}
