// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/lab"
	"github.com/zcbench/zcbench/lab/kselftests"
)

// labSelftests is a call of zcbench lab selftests.
type labSelftests struct {
	o     lab.SelftestOptions
	build bool
	list  bool
	only  []string
	save  string // file for what the cases said
}

func labSelftestsCommand() *cobra.Command {
	var s labSelftests
	c := &cobra.Command{
		Use:   "selftests",
		Short: "Run the kernel's own driver tests in Python on the soft NIC",
		Long: `Run the tests in Python of the kernel's tools/testing/selftests/drivers/net on the soft
NIC: those of the kernel that the machine boots, from Debian's source package, started
from a second disk with a Debian of their own. The table says of each case whether it
passed, was skipped or failed, and why; what is expected of each is on record, with the
reason, for the kernels of the lab. What a test wrote is in --out.

The first time some 500 MB are fetched and built, which takes minutes; then nothing is.

Exit status: 0 every case is as expected, 1 one is not; 125 the lab could not be built or
booted; 2 wrong usage or input.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd) },
	}
	f := c.Flags()
	f.StringArrayVar(&s.only, "only", nil, "only this test, by its name (repeatable): rss_ctx")
	f.StringVar(&s.o.Out, "out", "out/selftests", "folder for what each test writes")
	f.BoolVar(&s.build, "build", false, "build alone, and print the folder with the programs iou-zcrx and ncdevmem")
	f.StringVar(&s.save, "record", "", "write what the cases said to this file, in the form of what is on record")
	f.BoolVar(&s.list, "list", false, "print the names of the tests")
	f.StringVar(&s.o.Kernel, "kernel", "", "suite or release prefix (default "+lab.Suites[0]+")")
	f.BoolVar(&s.o.NoKVM, "no-kvm", false, "emulate even where KVM works")
	f.StringVar(&s.o.Cache, "cache", "", "cache folder (default zcbench/lab in the user's cache folder)")
	f.BoolVar(&s.o.Install, "install", false, installUsage)
	c.MarkFlagsMutuallyExclusive("build", "only")
	c.MarkFlagsMutuallyExclusive("build", "list")
	return c
}

func (s *labSelftests) run(cmd *cobra.Command) (err error) {
	if s.o.Tests, err = kselftests.Select(s.only); err != nil {
		return cli.UsageError(err)
	}
	out, log := cmd.OutOrStdout(), cmd.ErrOrStderr()
	s.o.Log = log
	switch {
	case s.list:
		for _, t := range s.o.Tests {
			fmt.Fprintln(out, t.Name)
		}
		return nil
	case s.build:
		return s.buildAlone(cmd, out)
	}
	fmt.Fprintln(log, "lab: checking what the kernel's selftests need")
	var all []kselftests.Judged
	n := 0
	s.o.Begin = func(t kselftests.Test) {
		n++
		fmt.Fprintf(log, "lab: [%d/%d] %s\n", n, len(s.o.Tests), t.Name)
	}
	s.o.Done = func(_ kselftests.Test, took time.Duration, judged []kselftests.Judged) {
		fmt.Fprintf(log, "lab:   %s, %.0f s\n", kselftests.Sum(judged), took.Seconds())
		all = append(all, judged...)
	}
	release, err := lab.RunSelftests(cmd.Context(), s.o)
	if len(all) > 0 { // what was run is shown, whatever happened then
		showSelftests(out, release, all)
		fmt.Fprintf(log, "what the tests wrote: %s\n", s.o.Out)
	}
	if s.save != "" && err == nil {
		err = os.WriteFile(s.save, []byte(kselftests.Record(release, all)), 0o644)
	}
	switch {
	case err != nil:
		return &cli.StatusError{Status: lab.ExitOf(err), Err: err}
	case !kselftests.AsExpected(all):
		return cli.Quiet(1)
	}
	return nil
}

// buildAlone is for those who want the programs.
func (s *labSelftests) buildAlone(cmd *cobra.Command, out io.Writer) error {
	o := lab.BuildOptions{Cache: s.o.Cache, Install: s.o.Install}
	if s.o.Kernel != "" {
		o.Kernels = []string{s.o.Kernel}
	}
	dir, err := lab.Selftests(cmd.Context(), o, s.o.Log)
	if err != nil {
		return &cli.StatusError{Status: lab.ExitOf(err), Err: err}
	}
	fmt.Fprintln(out, dir)
	return nil
}

func showSelftests(out io.Writer, release string, all []kselftests.Judged) {
	kselftests.Table(out, all)
	verdict := "all as expected"
	if !kselftests.AsExpected(all) {
		verdict = "NOT AS EXPECTED, see !"
	}
	fmt.Fprintf(out, "\n%s: %s: %s\n", release, kselftests.Sum(all), verdict)
}
