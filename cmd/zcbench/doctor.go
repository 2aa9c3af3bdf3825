// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan/matrix"
)

// diagnosis is what doctor prints with --json.
type diagnosis struct {
	Host        string `json:"host"`
	ToolVersion string `json:"tool_version"`
	// version of the zcbench that made the record that is replayed
	RecordedBy string          `json:"recorded_by,omitempty"`
	Dev        *wire.Interface `json:"dev,omitempty"`
	Checks     []wire.Check    `json:"checks"`
	Modes      []wire.Ladder   `json:"modes"`

	replayed bool // from a record: anybody's words
}

func doctorCommand() *cobra.Command {
	var hostSpec, dev, recordTo, replayFrom string
	var peer peerFlags
	var asJSON, fix bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a host can run, and how to fix the rest",
		Long: `doctor tries everything that the modes need, rather than comparing version numbers,
and leaves the host as it was. It sends a few bytes over 127.0.0.1. Without root it checks
what it can and says what it could not.

With --dev it lists what every mode needs from kernel, host and NIC, with what was
found, the kernel's answer and the fix. --fix prints the fixes as a script, without
running it. What a run sets and restores by itself (header split, RSS, rules, and
the flags of zcbench run) needs no fix.

--peer HOST names the host at the other end of the wire. Then doctor sends a few
megabytes from there to this one, by the address, the port and the full-size packets
of a run, and reports what stopped them: routes, firewalls, or an MTU that the path
between the hosts does not carry.

--record writes the host's answers about the interface to a file, without addresses,
names and serial numbers: attach it when you report that zcbench is wrong about a
NIC. --replay shows what doctor would say on the host of such a file.

docs/settings.md describes the JSON; of several interfaces it is a list.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := host.ParseSpec(hostSpec); err != nil {
				return cli.UsageError(err)
			}
			if err := peer.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("record") {
				return record(cmd, hostSpec, dev, recordTo, asJSON)
			}
			all, err := diagnoses(cmd, hostSpec, dev, replayFrom, peer)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if asJSON {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				if len(all) == 1 {
					return enc.Encode(all[0])
				}
				return enc.Encode(all)
			}
			for i, d := range all {
				if i > 0 {
					fmt.Fprintln(w)
				}
				if fix {
					d.printFixes(w)
				} else {
					d.print(w)
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&hostSpec, "host", "local", "host to check: "+host.Forms())
	f.StringVar(&dev, "dev", "", "interface to check, or several: eth0,eth1")
	peer.add(cmd)
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	f.BoolVar(&fix, "fix", false, "print a script that would fix what is missing")
	f.StringVar(&recordTo, "record", "", "write the host's answers about --dev to this new file, for a bug report")
	f.StringVar(&replayFrom, "replay", "", "answer from such a file instead of a host")
	cmd.MarkFlagsMutuallyExclusive("json", "fix")
	cmd.MarkFlagsMutuallyExclusive("record", "fix")
	cmd.MarkFlagsMutuallyExclusive("replay", "record")
	cmd.MarkFlagsMutuallyExclusive("record", "peer")
	cmd.MarkFlagsMutuallyExclusive("replay", "peer")
	cmd.MarkFlagsMutuallyExclusive("replay", "host")
	cmd.MarkFlagsMutuallyExclusive("replay", "dev")
	return cmd
}

// bringHelper brings the program that makes memory of GPUs to the host, for the rungs of those:
// without it they say what they lack.
func bringHelper(cmd *cobra.Command, h *host.Host) {
	if err := h.Carry(cmd.Context(), helper.GPU, helper.Finder(helper.GPU)); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "zcbench: GPUs cannot be tried: %v; %s\n", err, fault.Fix(err))
	}
}

// diagnoses looks at a host, once for each interface that is named, or at a record of one.
func diagnoses(cmd *cobra.Command, spec, dev, replayFrom string, peer peerFlags) (all []*diagnosis, err error) {
	if cmd.Flags().Changed("replay") {
		d, err := replay(replayFrom)
		return []*diagnosis{d}, err
	}
	devs := []string{dev}
	if strings.Contains(dev, ",") {
		if devs, err = matrix.Devs(dev); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	for _, dev := range devs {
		d, err := diagnose(cmd, spec, dev, peer)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func diagnose(cmd *cobra.Command, spec, dev string, peer peerFlags) (*diagnosis, error) {
	ctx := cmd.Context()
	h, err := host.Dial(ctx, spec, host.Options{ToolVersion: version.Tool(), KeepLeases: true}) // it changes nothing
	if err != nil {
		return nil, err
	}
	defer h.Close()
	bringHelper(cmd, h)
	d := &diagnosis{Host: h.Spec.Name, ToolVersion: version.Tool()}
	if err := h.Call(ctx, wire.OpCheck, wire.ModesParams{Dev: dev}, &d.Checks); err != nil {
		return nil, err
	}
	if err := h.Call(ctx, wire.OpLadders, wire.ModesParams{Dev: dev}, &d.Modes); err != nil {
		return nil, err
	}
	if dev != "" {
		if d.Dev, err = interfaceOf(ctx, h, spec, dev); err != nil {
			return nil, err
		}
	}
	if peer.host != "" {
		checks, err := peer.try(ctx, h, dev)
		if err != nil {
			return nil, err
		}
		d.Checks = append(d.Checks, checks...)
	}
	return d, nil
}

// interfaceOf finds an interface of a host.
func interfaceOf(ctx context.Context, h *host.Host, spec, dev string) (*wire.Interface, error) {
	var all []wire.Interface
	if err := h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.Name == dev {
			return &i, nil
		}
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return nil, cli.Usagef("%s has no interface %s; there are: %s", spec, dev, strings.Join(names, ", "))
}

func (d *diagnosis) print(w io.Writer) {
	fmt.Fprintf(w, "host %s, zcbench %s\n", d.Host, d.ToolVersion)
	if d.replayed {
		fmt.Fprintf(w, "recorded by zcbench %s\n", d.RecordedBy)
	}
	fmt.Fprintln(w)
	if i := d.Dev; i != nil {
		state := "down"
		if i.Up {
			state = "up"
		}
		addrs := fmt.Sprintf("addresses %v", i.Addrs)
		if d.replayed {
			addrs = "addresses not recorded"
		}
		screen.Line(w, "", "  ", fmt.Sprintf("interface %s: %s, MTU %d, %s", i.Name, state, i.MTU, addrs))
		fmt.Fprintln(w)
	}
	for _, c := range d.Checks {
		printCheck(w, "", c)
	}
	for _, m := range d.Modes {
		d.printLadder(w, m)
	}
	fmt.Fprintln(w)
	screen.Line(w, "", "  ", fmt.Sprintf("can run here: rx %s; tx %s", d.running(stream.RX, false),
		d.running(stream.TX, false)))
	if rx, tx := d.running(stream.RX, true), d.running(stream.TX, true); rx != "none" || tx != "none" {
		screen.Line(w, "", "  ", fmt.Sprintf("only a run can tell: rx %s; tx %s", rx, tx))
	}
}

// printCheck prints a check, and what to do about one that is not ok.
func printCheck(w io.Writer, indent string, c wire.Check) {
	name, below := fmt.Sprintf("%s%-8s %-28s ", indent, c.Status, c.Name), strings.Repeat(" ", len(indent)+38)
	if n := screen.Columns(w); n > 0 && n < 2*len(below) {
		below = indent + "         "
	}
	screen.Line(w, name, below, c.Found)
	if c.Status == "ok" {
		return
	}
	for _, x := range []struct{ name, text string }{{"needed", c.Needed}, {"errno", c.Errno}, {"fix", c.Fix}} {
		if x.text != "" {
			if x.name == "fix" && c.Command != "" {
				printCommand(w, below, indent, x.text)
				continue
			}
			screen.Line(w, below+x.name+": ", below+"  ", x.text)
		}
	}
}

// printCommand prints a fix that somebody may copy from the terminal: on one line, further left
// where it does not fit.
func printCommand(w io.Writer, below, indent, text string) {
	if n := screen.Columns(w); n > 0 && len(below)+len("fix: ")+len(text) > n {
		below = indent + "  "
	}
	fmt.Fprintf(w, "%sfix: %s\n", below, text)
}

// printLadder prints what one mode needs: all of it on an interface, else what is
// not there.
func (d *diagnosis) printLadder(w io.Writer, m wire.Ladder) {
	verdict := "supported"
	switch {
	case !m.Supported:
		verdict = "unsupported"
	case m.Doubt != "":
		verdict = "in doubt"
	}
	fmt.Fprintln(w)
	screen.Line(w, fmt.Sprintf("%s %-12s %-11s  ", m.Role, m.Name, verdict), strings.Repeat(" ", 15), m.Summary)
	for _, c := range m.Rungs {
		if d.Dev != nil && len(m.Rungs) > 2 || c.Status != "ok" {
			printCheck(w, "  ", c)
		}
	}
	for _, x := range m.Impossible {
		screen.Line(w, "  impossible with this NIC: ", "    ", x)
	}
}

// running lists the modes of a role that can run, or of which only a run can tell.
func (d *diagnosis) running(role stream.Role, doubtful bool) string {
	var names []string
	for _, m := range d.Modes {
		if m.Role == role && m.Supported && (m.Doubt != "") == doubtful {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// printFixes prints each fix once: commands as they are, advice as comments. A record's commands
// are comments too: they are for another host, and whoever made the file may have written them.
func (d *diagnosis) printFixes(w io.Writer) {
	fmt.Fprintf(w, "# host %s: fixes for what zcbench doctor found missing. Read before running.\n", d.Host)
	if d.replayed {
		fmt.Fprintln(w, "# This comes from a recorded file, which anybody may have written: its commands are comments.")
	}
	said := map[string]bool{}
	fix := func(what string, c wire.Check) {
		text := c.Command
		if d.replayed && text != "" {
			text = "# " + strings.ReplaceAll(text, "\n", " ")
		}
		if text == "" && c.Fix != "" {
			text = "# " + strings.ReplaceAll(c.Fix, "\n", " ")
		}
		if c.Status == "ok" || text == "" || said[text] {
			return
		}
		said[text] = true
		fmt.Fprintf(w, "\n# %s: %s: %s\n%s\n", what, c.Name, strings.ReplaceAll(c.Found, "\n", " "), text)
	}
	for _, c := range d.Checks {
		fix("host", c)
	}
	for _, m := range d.Modes {
		for _, c := range m.Rungs {
			fix(string(m.Role)+" "+m.Name, c)
		}
	}
}
