// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/specflag"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/lab"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/results"
)

// allTimeout is the time limit of lab demo --all: some 130 runs.
const allTimeout = 30 * time.Minute

// labDemo is a call of zcbench lab demo.
type labDemo struct {
	o    lab.ExecOptions
	all  bool
	json bool
	only []string
}

func labDemoCommand() *cobra.Command {
	var d labDemo
	c := &cobra.Command{
		Use:   "demo [flags] [-- DEMO-FLAGS...]",
		Short: "Show zero-copy receive: a verified run of each mode, with proof (90 s)",
		Long: `demo boots a virtual machine and makes one run each of plain TCP, zcrx, zcrx with
long buffers, devmem receive, devmem send to zcrx, and tcp-mmap over a software NIC.
Each run moves 64 MiB, and every byte is compared with what was sent. The last run is
a negative control: its flow is steered to a queue without the application's memory,
so the kernel copies, and the run must be reported as copied. The table shows where
the NIC itself says it put the payload, and what the kernel copied.

--all runs "zcbench demo" in the lab instead, with every receive and send mode of TCP. Flags
after -- are passed to it, such as --repetitions 2. When emulated, its clocks count
instructions (--count-time), because reading all counters would take longer than a
window.

The NIC is software, and without KVM the machine is emulated: speeds mean nothing.

Exit status: 0 every run is as expected, 1 one is not (with --all: the demo's own),
124 it ran out of time, 125 the lab could not be built or booted, or the guest's
kernel complained, 2 wrong usage or input.`,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args) },
	}
	f := c.Flags()
	f.StringVar(&d.o.Out, "out", "out/lab-demo", "folder for the results; must not contain any yet")
	f.BoolVar(&d.all, "all", false,
		"every receive mode of TCP with every send mode of TCP, about 130 runs (10 to 20 minutes emulated)")
	f.BoolVar(&d.o.CountTime, "count-time", false,
		"let the guest's clocks count instructions, so that times do not depend on the host's load (slower)")
	f.BoolVar(&d.json, "json", false, "print the proof as JSON (with --all: the summary)")
	f.StringArrayVar(&d.only, "only", nil, "make only this run, by its name in the table (repeatable)")
	vmFlags(c, &d.o.MachineOptions)
	timeoutFlag(c, &d.o)
	f.Lookup("timeout").Usage += ", with --all " + allTimeout.String()
	return c
}

func (d *labDemo) run(cmd *cobra.Command, args []string) error {
	if d.o.NoZeroCopy() {
		return cli.Usagef("--nic %s: the demo shows zero-copy receive, which that NIC cannot do: leave it out, "+
			"or choose one of %s", d.o.NIC, strings.Join(slices.DeleteFunc(lab.NICs(), func(n string) bool {
			return (&lab.MachineOptions{NIC: n}).NoZeroCopy()
		}), ", "))
	}
	switch {
	case d.all && len(d.only) > 0:
		return cli.Usagef("--only and --all cannot be combined: with --all, choose modes by -- --rx MODE --tx MODE")
	case !d.all && len(args) > 0:
		return cli.Usagef("%q is for the demo that --all runs: add --all, or leave it out", args[0])
	}
	if err := checkCases(d.only); err != nil {
		return err
	}
	if err := results.Vacant(d.o.Out); err != nil {
		return outError(err)
	}
	if d.all {
		return d.runAll(cmd, args)
	}
	return d.runProof(cmd)
}

// runAll runs zcbench demo in the guest.
func (d *labDemo) runAll(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("timeout") {
		d.o.Timeout = allTimeout
	}
	d.o.Args = append([]string{"zcbench", "demo", "--out", guest.OutDir, "--sut", "netns:" + guest.NSReceiver, "--tg",
		"netns:" + guest.NSSender,
		"--gate", "foreign_cores=off", // the NIC itself is a thread of the kernel
		"--duration", "400ms", "--repetitions", "2", "--order", "blocks", fmt.Sprintf("--json=%v", d.json)},
		append(allPairs(args), args...)...)
	d.o.Stdout, d.o.Stderr = cli.Unfailing(cmd.OutOrStdout()), cli.Unfailing(cmd.ErrOrStderr())
	d.o.Log = cmd.ErrOrStderr()
	// In real time an emulated guest takes longer than a window to read its counters.
	d.o.CountEmulated = true
	exit, err := lab.Exec(cmd.Context(), d.o)
	if exit == 0 && err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "results copied to %s\n", d.o.Out)
		return nil
	}
	return &cli.StatusError{Status: exit, Err: err}
}

// allPairs are the flags that name all modes of TCP, of each end of which args name none.
func allPairs(args []string) (out []string) {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		flag := "--" + string(role)
		if !slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") }) {
			out = append(out, flag, strings.Join(specflag.TCPModes(role), ","))
		}
	}
	return out
}

// runProof runs lab prove in the guest and shows what comes of it.
func (d *labDemo) runProof(cmd *cobra.Command) error {
	shown := demoShown{ToolVersion: version.Tool(), nic: d.o.NIC, ownNIC: d.o.LongestBuffer() > 0}
	if len(d.only) == 0 && shown.ownNIC {
		d.only, shown.left = bench.ProofWithin(d.o.LongestBuffer())
	}
	cases := bench.SelectProof(d.only)
	course := newCourse(cmd.ErrOrStderr(), len(cases), &shown)
	defer course.close()
	course.step("checking what the lab needs")
	d.o.Args = []string{"zcbench", "lab", "prove"}
	for _, n := range d.only {
		d.o.Args = append(d.o.Args, "--only="+n)
	}
	d.o.Stdout, d.o.Stderr, d.o.Log = course.events(), course.log(), course.log()
	d.o.Booting, d.o.OwnBoot = course.booting, true // what it shows begins with the boot
	exit, err := lab.Exec(cmd.Context(), d.o)
	course.close()
	fmt.Fprintln(cmd.ErrOrStderr())
	shown.Seconds = course.since().Seconds()
	if err == nil && exit != 0 {
		err = fmt.Errorf("the runs ended early; see the messages above")
	}
	return d.finish(cmd, cases, &shown, exit, err)
}

// finish derives the files of what came back, prints the table and says how it ended.
// Runs that were made are shown, whatever happened to the lab after them.
func (d *labDemo) finish(cmd *cobra.Command, cases []bench.ProofCase, shown *demoShown, exit int, labErr error) error {
	if _, err := os.Stat(filepath.Join(d.o.Out, results.JournalFile)); err != nil {
		return &cli.StatusError{Status: cmp.Or(exit, lab.ExitTrouble), Err: cmp.Or(labErr, err)}
	}
	j, _, err := bench.Derive(d.o.Out)
	shown.Runs = bench.JudgeProof(cases, j.Records)
	shown.AsExpected = bench.AllAsExpected(shown.Runs) && labErr == nil
	if perr := shown.print(cmd.OutOrStdout(), d.json); perr != nil {
		return perr
	}
	if err == nil {
		sayFiles(cmd, d.o.Out)
	}
	switch {
	case labErr != nil:
		return &cli.StatusError{Status: exit, Err: errors.Join(labErr, err)}
	case err != nil:
		return noRoom(err, d.o.Out)
	case !shown.AsExpected:
		fmt.Fprintln(cmd.ErrOrStderr(), "zcbench: not every run is as expected; the table says why")
		return cli.Quiet(cli.Failed)
	}
	return nil
}

// demoShown is what a demo has shown, as --json prints it.
type demoShown struct {
	ToolVersion string `json:"tool_version"`
	Kernel      string `json:"kernel"` // the guest's
	KVM         bool   `json:"kvm"`    // false: emulated
	// Seconds are those of the whole command; of BootS and FirstS since the machine was
	// switched on: until the command ran in it, and until the end of the first run
	// without a copy. 0: it did not come to that.
	Seconds    float64          `json:"seconds"`
	BootS      float64          `json:"boot_s"`
	FirstS     float64          `json:"first_zero_copy_s"`
	AsExpected bool             `json:"as_expected"`
	Runs       []bench.ProofRow `json:"runs"`

	nic    string   // as --nic has it
	ownNIC bool     // it is a device of the lab's, with a real driver
	left   []string // runs that its driver cannot make
}

func (s *demoShown) print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	return s.table(w)
}

// demoRow is the form of the table's lines.
const demoRow = "%-17s %10s %10s %10s %7s %8s  %-s"

func (s *demoShown) table(w io.Writer) error {
	b := screen.NewWriter(w)
	for _, line := range s.answer() {
		screen.Text(b, "", "", line)
	}
	b.WriteByte('\n')
	t := screen.Formatted(demoRow)
	t.Head("", "bytes", "NIC wrote", "NIC wrote", "", "", "")
	t.Head("run", "received", "provider", "kernel", "copied", "verified", "verdict")
	for _, r := range s.Runs {
		t.Row(r.Name, grouped(&r.Bytes), grouped(r.Provider), grouped(r.Kernel), copiedText(r), yesNo(r.Verified),
			string(r.Verdict))
		for _, line := range remarks(r) {
			t.Text("  ", "  ", line)
		}
	}
	t.Write(b)
	b.WriteByte('\n')
	for _, line := range s.legend() {
		screen.Text(b, "", "", line)
	}
	return b.Flush()
}

// answer says what the runs have shown: which modes received without a copy, and whether a copy
// would have been found.
func (s *demoShown) answer() (lines []string) {
	var free, copied, wrong []string
	found := false
	for _, r := range s.Runs {
		switch {
		case !r.AsExpected:
			wrong = append(wrong, r.Name)
		case r.Control != "":
			found = true
		case r.Copied != nil && *r.Copied == 0:
			free = append(free, r.Name)
		case r.Copied != nil && *r.Copied < 1:
			free = append(free, r.Name+" (but for "+copiedText(r)+")")
		default:
			copied = append(copied, r.Name)
		}
	}
	if free != nil {
		lines = append(lines, "Received without a copy, by the kernel's and the NIC's own counts: "+
			strings.Join(free, ", ")+".")
	}
	if wrong != nil {
		lines = append(lines, "Not as expected: "+strings.Join(wrong, ", ")+".")
	}
	if found {
		lines = append(lines, "The negative control, which the kernel must copy, was found out.")
	}
	if copied != nil {
		lines = append(lines, "Copied, as it always is: "+strings.Join(copied, ", ")+".")
	}
	return lines
}

// remarks lists what the row of a run cannot say.
func remarks(r bench.ProofRow) (out []string) {
	if r.Control != "" && r.AsExpected {
		out = append(out, "as expected of this control: "+strings.TrimPrefix(r.Reason, "SUT: "))
	}
	if r.Netmem != nil && *r.Netmem > 0 {
		out = append(out, "the sender's NIC read "+grouped(r.Netmem)+" bytes from memory that the kernel cannot read")
	}
	if r.AsExpected {
		return out
	}
	out = append(out, "NOT AS EXPECTED: "+strings.Join(r.Wrong, "; "))
	if r.Reason != "" {
		out = append(out, "reason: "+r.Reason)
	}
	if r.Fix != "" {
		out = append(out, "fix: "+r.Fix)
	}
	return out
}

func (s *demoShown) legend() []string {
	how := "The guest ran under KVM on a NIC of software"
	if !s.KVM {
		how = "The guest was emulated"
	}
	lines := []string{
		"verified: every byte was compared with what was sent. provider: memory that the mode gave the NIC; " +
			"kernel: the kernel's own pages. " +
			"Both are the NIC's own counts (" + s.counters() + "). " +
			"copied: share of the payload that the kernel says it copied; all: this mode always does.",
		how + ": speeds would mean nothing, so none are shown.",
	}
	if s.left != nil {
		lines = append(lines, "left out: "+strings.Join(s.left, ", ")+": the driver's queues take no such buffers.")
	}
	if s.AsExpected {
		lines = append(
			lines, fmt.Sprintf("Linux %s: %s as expected, and the kernel had no complaint. %.0f s in all, %.1f s "+
				"of them to boot%s.",
				s.Kernel, allRuns(len(s.Runs)), s.Seconds, s.BootS, s.first()))
	}
	return lines
}

// counters names where the NIC's counts come from.
func (s *demoShown) counters() string {
	if s.ownNIC {
		return "of the device behind the driver of --nic " + s.nic
	}
	return "ethtool -S sn0: rxN_provider_bytes, rxN_kernel_bytes"
}

func allRuns(n int) string {
	if n == 1 {
		return "the run is"
	}
	return fmt.Sprintf("all %d runs are", n)
}

// first formats when the first run without a copy was over.
func (s *demoShown) first() string {
	if s.FirstS == 0 {
		return ""
	}
	return fmt.Sprintf(", %.1f s from power-on to the end of the first run without a copy", s.FirstS)
}

// copiedText formats a share without ever rounding a little to nothing, or nearly all to all.
func copiedText(r bench.ProofRow) string {
	switch c := r.Copied; {
	case r.Bytes == 0:
		return "-"
	case c == nil:
		return "all"
	case *c > 0 && *c < 0.1:
		return "< 0.1 %"
	case *c > 99.9 && *c < 100:
		return "> 99 %"
	case *c == 0 || *c == 100:
		return fmt.Sprintf("%.0f %%", *c)
	default:
		return fmt.Sprintf("%.1f %%", *c)
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

// grouped formats a number with commas; "-" for one that was not counted.
func grouped(n *uint64) string {
	if n == nil {
		return "-"
	}
	s := fmt.Sprint(*n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
