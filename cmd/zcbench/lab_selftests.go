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
		Short: "Run the kernel's own driver tests on the software NIC",
		Long: `selftests runs the Python tests of the kernel's tools/testing/selftests/drivers/net on
the software NIC, in the version of the kernel that is booted (Debian's source
package), from a second disk with its own Debian. The table lists each case as passed,
skipped or failed, and why. Expected results, with reasons, are recorded for the lab's
kernels. The output of the tests is in --out.

The first run downloads and builds about 500 MB, which takes minutes.

Exit status: 0 every case is as expected, 1 one is not, 125 the lab could not be built
or booted, 2 wrong usage or input.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd) },
	}
	f := c.Flags()
	f.StringArrayVar(&s.only, "only", nil, "run only this test, such as rss_ctx (repeatable)")
	f.StringVar(&s.o.Out, "out", "out/selftests", "folder for the tests' output")
	f.BoolVar(&s.build, "build", false, "only build, and print the folder with the programs iou-zcrx and ncdevmem")
	f.StringVar(&s.save, "record", "", "write the results to this file, in the format of the recorded ones")
	f.BoolVar(&s.list, "list", false, "print the names of the tests")
	f.StringVar(&s.o.Kernel, "kernel", "", "Debian suite or start of a kernel release (default "+lab.Suites[0]+")")
	f.BoolVar(&s.o.NoKVM, "no-kvm", false, "emulate even if KVM works")
	f.StringVar(&s.o.Cache, "cache", "", "cache folder (default: zcbench/lab in your cache folder)")
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
		fmt.Fprintf(log, "test output: %s\n", s.o.Out)
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

// buildAlone builds the programs without running them, for those who want the programs.
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
