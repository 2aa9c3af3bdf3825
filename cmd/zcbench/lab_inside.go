// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/lab"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/lab/kselftests"
)

// labInsideCommand builds the command that lab selftests runs in the guest.
func labInsideCommand() *cobra.Command {
	var limit time.Duration
	c := &cobra.Command{
		Use:    "inside [flags] -- PROGRAM [ARG...]",
		Short:  "What lab selftests runs in the lab: a program of the second disk, in the receiver's namespace",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if os.Getenv(guest.Env) == "" {
				return cli.Usagef("this runs in the lab's guest; here it is: zcbench lab selftests")
			}
			ctx, stop := context.WithTimeout(cmd.Context(), limit)
			defer stop()
			exit, err := inside(ctx, args)
			if err == nil && ctx.Err() != nil {
				exit = lab.ExitTimeout
			}
			if exit == 0 && err == nil {
				return nil
			}
			return &cli.StatusError{Status: exit, Err: err}
		},
	}
	c.Flags().DurationVar(&limit, "limit", kselftests.DefaultLimit, "time limit")
	return c
}

// inside runs a program of the disk.
func inside(ctx context.Context, args []string) (int, error) {
	root, err := guest.MountDisk()
	if err != nil {
		return lab.ExitTrouble, err
	}
	sut, tg := guest.Ends[0], guest.Ends[1]
	env := kselftests.Env(sut.Dev, tg.NS, addresses(sut), addresses(tg))
	p := &exec.Cmd{Path: args[0], Args: args, Dir: "/", Env: env} // of the disk: nothing is looked up here
	p.Stdout, p.Stderr = os.Stdout, os.Stderr                     // its very own: what the test starts may outlive it
	return guest.OnDisk(ctx, root, sut.NS, p)
}

// addresses returns the addresses of an end, without the length of the prefix.
func addresses(e guest.End) (a [2]string) {
	for i, s := range []string{e.V4, e.V6} {
		a[i] = netip.MustParsePrefix(s).Addr().String()
	}
	return a
}
