// SPDX-License-Identifier: MIT

package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/fault"
)

// here prints what this machine is good for, and what to do on it: zcbench without a command.
func here(cmd *cobra.Command) {
	w := cmd.OutOrStdout()
	fmt.Fprint(w, cli.Indented("", "", cmd.Short+"."))
	fmt.Fprintln(w)
	b := doctor.Look()
	for _, l := range aboutHere(b, kvm()) {
		fmt.Fprint(w, cli.Indented(fmt.Sprintf("%-12s ", l[0]), strings.Repeat(" ", 13), l[1]))
	}
	fmt.Fprintln(w, "\nWhat to do here:")
	nextHere(w, b)
	fmt.Fprintf(w, "\n%s --help lists the commands, %s explain WORD explains a word.\n", cmd.CommandPath(),
		cmd.CommandPath())
}

// kvm reports whether this process may use KVM. Whether that boots a guest, only the lab finds out.
func kvm() bool {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// aboutHere describes a machine in five lines.
func aboutHere(b doctor.Brief, kvm bool) [][2]string {
	user := "you have CAP_NET_ADMIN"
	if !b.Admin {
		user = cmp.Or(b.Lacks, "no CAP_NET_ADMIN") + ": TCP modes on existing hosts and namespaces, no settings"
	}
	ring := "works"
	if b.Ring != nil {
		ring = fault.Reason(b.Ring)
		if fix := fault.Fix(b.Ring); fix != "" {
			ring += "; fix: " + fix
		}
	}
	lab := "no KVM: an emulated machine shows zero-copy receive in a minute or two"
	if kvm {
		lab = "KVM found: a virtual machine shows zero-copy receive (emulated if KVM cannot boot it)"
	}
	left := "no settings left behind by killed runs"
	switch {
	case b.Left < 0:
		left = "settings left behind by killed runs cannot be read"
	case b.Left == 1:
		left = "a killed run left settings behind: zcbench restore"
	case b.Left > 1:
		left = fmt.Sprintf("%d killed runs left settings behind: zcbench restore", b.Left)
	}
	return [][2]string{
		{"machine", fmt.Sprintf("Linux %s, %d CPUs; %s", b.Kernel, b.CPUs, user)},
		{"io_uring", ring},
		{"NICs", aboutCards(b.Cards)},
		{"lab", lab},
		{"settings", left},
	}
}

// aboutCards lists which NICs could receive without a copy.
func aboutCards(cards []doctor.Card) string {
	if len(cards) == 0 {
		return "none: zcrx and devmem have no hardware here"
	}
	var out []string
	for _, c := range cards {
		var what string
		switch {
		case c.Takes:
			what = "can do zcrx and devmem, judging by its driver's name"
		case c.Perhaps:
			what = "may do zcrx and devmem, which its driver does from Linux " + c.Since +
				" on: this kernel, or this driver, is not Linux's own"
		case c.Since != "":
			what = "could do zcrx and devmem from Linux " + c.Since + " on"
		case c.Known:
			what = "no zcrx or devmem with this driver"
		default:
			what = "a driver zcbench does not know"
		}
		name := c.Driver
		if name == "" {
			name = "driver unknown"
		}
		out = append(out, fmt.Sprintf("%s (%s): %s", c.Dev, name, what))
	}
	const most = 4
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, "; ")
}

// cardOf picks the NIC to look at: the first that takes an application's memory, else the first;
// "": there is none.
func cardOf(cards []doctor.Card) (dev string) {
	for _, c := range cards {
		if c.Takes {
			return c.Dev
		}
		dev = cmp.Or(dev, c.Dev)
	}
	return dev
}

// nextHere proposes commands that work here.
func nextHere(w io.Writer, b doctor.Brief) {
	type step struct{ command, what string }
	steps := []step{{"zcbench demo", "the TCP modes this kernel can run, compared in 100 s"}}
	if !b.Admin {
		steps = []step{
			{"zcbench run --sut local --tg local", "one pair of TCP modes over loopback"},
			{"sudo zcbench demo", "the TCP modes this kernel can run, compared in 100 s"},
		}
	}
	if dev := cardOf(b.Cards); dev != "" {
		steps = append(steps, step{"zcbench doctor --dev " + dev,
			"what this NIC can run, and what to do about the rest"})
	} else {
		steps = append(steps, step{"zcbench doctor", "what this host can run, and what to do about the rest"})
	}
	steps = append(steps, step{"zcbench lab demo", "zero-copy receive, proved in a virtual machine"})
	width := 0
	for _, s := range steps {
		width = max(width, len(s.command))
	}
	for _, s := range steps {
		fmt.Fprint(w, cli.Indented(fmt.Sprintf("  %-*s  ", width, s.command), strings.Repeat(" ", width+4), s.what))
	}
}
