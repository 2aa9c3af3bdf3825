// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/lab"
)

// labCommand builds zcbench lab.
func labCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Zero-copy receive without a NIC: a virtual machine with a software NIC",
		Args:  cobra.NoArgs, // an unknown command is an error
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	c.AddCommand(labBuildCommand(), labExecCommand(), labUpCommand(), labDemoCommand(), labProveCommand(),
		labInsideCommand(), labSelftestsCommand())
	return c
}

func labBuildCommand() *cobra.Command {
	var o lab.BuildOptions
	c := &cobra.Command{
		Use:   "build",
		Short: "Download kernels and a toolchain, and build the software NIC",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			built, err := lab.Build(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return &cli.StatusError{Status: lab.ExitOf(err), Err: err}
			}
			for _, b := range built {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\t%s\n", b.Suite, b.Release, b.Vmlinuz, b.Module)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.Kernels, "kernel", nil, "Debian suite or start of a kernel release, or all (default "+
		lab.Suites[0]+")")
	f.BoolVar(&o.Refresh, "refresh", false, "look for newer versions even if the cache has some")
	f.StringVar(&o.Cache, "cache", "", "cache folder (default: zcbench/lab in your cache folder)")
	f.BoolVar(&o.Install, "install", false, installUsage)
	return c
}

// installUsage is of the flag --install.
const installUsage = "as root on Debian or Ubuntu: install missing packages; starts no service"

// vmFlags adds the flags of the machine. They have no defaults, because a machine that is up may be
// anything that no flag asks about.
func vmFlags(c *cobra.Command, o *lab.MachineOptions) {
	f := c.Flags()
	f.StringVar(&o.Kernel, "kernel", "", "Debian suite or start of a kernel release (default "+lab.Suites[0]+")")
	f.IntVar(&o.CPUs, "cpus", 0, fmt.Sprintf("processors (default %d)", lab.DefaultCPUs))
	f.IntVar(&o.MemMiB, "mem", 0, fmt.Sprintf("memory, MiB (default %d)", lab.DefaultMemMiB))
	f.StringVar(&o.Card, "gvnic", "",
		`what the NIC of --nic gve-real does besides: faults and a capture, such as "lose=100 pcap=out.pcap"`)
	f.StringVar(&o.Module, "softnic", "", `module parameters of the software NIC, such as "inline_dma=1"`)
	f.StringVar(&o.NIC, "nic", "",
		"imitate this driver's control plane, or use a NIC that has a driver of Linux's own: "+
			strings.Join(lab.NICs(), ", "))
	c.RegisterFlagCompletionFunc("nic", cobra.FixedCompletions(lab.NICs(), cobra.ShellCompDirectiveNoFileComp))
	f.IntVar(&o.MTU, "mtu", 0, "MTU of both ends (default 4148: one page of payload)")
	f.BoolVar(&o.NoKVM, "no-kvm", false, "emulate even if KVM works")
	f.StringVar(&o.Cache, "cache", "", "cache folder (default: zcbench/lab in your cache folder)")
	f.BoolVar(&o.Install, "install", false, installUsage)
	c.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"cpus", "mem", "mtu"} {
			if given := f.Lookup(name); given.Changed && given.Value.String() == "0" {
				return cli.Usagef("--%s 0: leave the flag out for the default", name)
			}
		}
		return nil
	}
}

// deviceFlags adds the flags of machines for programs of the user's own.
func deviceFlags(c *cobra.Command, o *lab.MachineOptions) {
	f := c.Flags()
	f.StringArrayVar(&o.QEMU, "qemu", nil,
		"extra argument for QEMU (repeatable): --qemu=-device --qemu=ipmi-bmc-sim,id=bmc")
	f.StringArrayVar(&o.Load, "load", nil,
		"load this module of Debian's kernel and those it depends on (repeatable; downloads 110 MB once)")
	f.BoolVar(&o.CountTime, "count-time", false,
		"let the guest's clocks count instructions, so that times do not depend on the host's load (slow)")
}

func timeoutFlag(c *cobra.Command, o *lab.ExecOptions) {
	c.Flags().DurationVar(&o.Timeout, "timeout", lab.DefaultTimeout, "time limit from the start of the command")
}

func labExecCommand() *cobra.Command {
	var o lab.ExecOptions
	c := &cobra.Command{
		Use:   "exec [flags] -- CMD [ARG...]",
		Short: "Boot the lab and run a static program in it",
		Long: `exec boots the lab, runs CMD in it and exits with CMD's status. An emulated machine
is booted only once; later ones start from its saved state. Inside "zcbench lab up",
CMD runs in the machine that is up, unless a flag asks for another.

The two ends of the software NIC are in the network namespaces sut (sn0, 10.77.0.1,
fd00:77::1) and tg (sn1, 10.77.0.2, fd00:77::2). Files that CMD leaves under $OUT are
copied back.

Exit status: CMD's own; 124 it ran out of time, 125 the lab could not be built or
booted, or the guest's kernel complained, 126 CMD cannot be run, 127 CMD was not
found, 2 wrong usage or input of zcbench itself.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args = args
			if err := fillEnv(o.Env); err != nil {
				return err
			}
			o.Stdout, o.Stderr = cli.Passthrough(cmd.OutOrStdout()), cli.Passthrough(cmd.ErrOrStderr())
			o.Log, o.Resume = cmd.ErrOrStderr(), !o.OwnBoot
			exit, err := lab.Exec(cmd.Context(), o)
			if exit == 0 && err == nil {
				return nil
			}
			return &cli.StatusError{Status: exit, Err: err}
		},
	}
	f := c.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.Out, "out", "", "folder for what the guest leaves under its $OUT (default: $OUT, else "+
		lab.DefaultOut+")")
	f.StringArrayVar(&o.Files, "file", nil, "copy this file or folder to the same path in the guest (repeatable)")
	f.StringArrayVar(&o.Env, "env", nil, "set NAME=VALUE for CMD, or pass NAME on as it is here (repeatable)")
	f.BoolVar(&o.OwnBoot, "own-boot", false, "boot a separate machine, even if one is up (zcbench lab up) or saved")
	vmFlags(c, &o.MachineOptions)
	deviceFlags(c, &o.MachineOptions)
	timeoutFlag(c, &o)
	return c
}

func labUpCommand() *cobra.Command {
	var o lab.UpOptions
	c := &cobra.Command{
		Use:   "up [flags] -- HOSTCMD [ARG...]",
		Short: "Keep the lab up while a command of this host runs",
		Long: `up boots the lab and keeps it up while HOSTCMD runs on this host. Each "zcbench lab
exec" that HOSTCMD starts runs in that machine, one at a time, instead of booting one:

    zcbench lab up -- go test -exec "zcbench lab exec --" ./a ./b

Each command gets a fresh software NIC, and no files or processes of others. If one
makes the kernel complain, crashes it, or runs out of time, only that command fails:
another machine is booted for the next. The machine ends with HOSTCMD.

Exit status: HOSTCMD's own; 125 the lab could not be built, 126 HOSTCMD cannot be
run, 127 HOSTCMD was not found, 2 wrong usage or input of zcbench itself.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args, o.Log = args, cmd.ErrOrStderr()
			exit, err := lab.Up(cmd.Context(), o)
			if exit == 0 && err == nil {
				return nil
			}
			return &cli.StatusError{Status: exit, Err: err}
		},
	}
	c.Flags().SetInterspersed(false)
	vmFlags(c, &o.MachineOptions)
	deviceFlags(c, &o.MachineOptions)
	return c
}

// fillEnv gives the names that stand alone the values that they have here, so that
// none needs to stand on a command line, which everybody can read.
func fillEnv(env []string) error {
	for i, kv := range env {
		name, _, set := strings.Cut(kv, "=")
		value, here := os.LookupEnv(name)
		switch {
		case name == "":
			return cli.Usagef("--env %q: want NAME=VALUE or NAME", kv)
		case set:
		case !here:
			return cli.Usagef("--env %s: not set here; give NAME=VALUE", name)
		default:
			env[i] = name + "=" + value
		}
	}
	return nil
}
