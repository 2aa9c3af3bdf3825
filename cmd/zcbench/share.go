// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
	"github.com/zcbench/zcbench/results/share"
)

func shareCommand() *cobra.Command {
	var to string
	var dry bool
	cmd := &cobra.Command{
		Use:   "share DIR",
		Short: "Make one small file of a results folder that others may see, and show every line",
		Long: `share makes one file of a results folder, for a bug report or for the table of
hardware (docs/hardware.md): of each cell the medians with their intervals, the number
of runs by verdict, and how many bytes were copied, by the kernel's count; of both hosts
kernel, NIC, driver, firmware, processor and settings.

It has no names of hosts, users, interfaces or files, no addresses, serial numbers,
UUIDs, commands or texts of errors. What may be in it is a list in the program; all
else stays in the folder. Settings whose values may tell something are named without
their values (not_told).

The file is printed before it is written, so that you can read every line. Nothing is
sent anywhere. It is written into the working folder, or to --to, and no file is
overwritten. Its name has the NIC's driver, the kernel and the date.

Exit status: 0 done, 1 it could not be written, 2 wrong usage or input.`,
		Example: "  zcbench share out/decide --dry-run\n  zcbench share out/decide --to mine.json",
		Args:    cobra.ExactArgs(1),
		RunE: cli.Reading(func(cmd *cobra.Command, args []string) error {
			f, err := sharedOf(args[0])
			if err != nil {
				return err
			}
			path := cmp.Or(to, f.Name())
			if _, err := os.Lstat(path); err == nil && !dry {
				return cli.Usagef("%s already exists: choose another name with --to; nothing is overwritten", path)
			}
			text := f.Encode()
			if _, err := cmd.OutOrStdout().Write(text); err != nil {
				return fmt.Errorf("show the file: %w", err)
			}
			if dry {
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing was written; without --dry-run these %d lines go to %s\n",
					lineCount(text), path)
				return nil
			}
			if err := writeNew(path, text); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s has these %d lines. Nothing was sent: docs/hardware.md says where you "+
				"can hand it in.\n", path, lineCount(text))
			for _, doubt := range f.Implausible() {
				fmt.Fprintf(cmd.ErrOrStderr(), "doubt: %s\n", doubt)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "the file to write (default: zcbench-DRIVER-KERNEL-DATE.json, here)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show the file")
	return cmd
}

// sharedOf makes the file of a results folder. What it makes can be read again.
func sharedOf(dir string) (*share.File, error) {
	in, err := results.OpenFolder(dir)
	if err != nil {
		return nil, journalError(dir, err)
	}
	defer in.Close()
	j, err := judge.ReadFigures(in)
	if err != nil {
		return nil, journalError(dir, err)
	}
	f := share.Of(j, environment.Of(in))
	if _, err := share.Parse(f.Encode()); err != nil {
		return nil, cli.Usagef("%s cannot be shared: %w", dir, err)
	}
	return f, nil
}

func lineCount(text []byte) (n int) {
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}

// writeNew makes a file that is not there yet.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return &fault.Error{Op: "make the file", Err: err, How: "choose another name or folder with --to"}
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(path) // ours: it was not there
		return fmt.Errorf("write the file: %w", err)
	}
	return nil
}
