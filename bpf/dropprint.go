// SPDX-License-Identifier: MIT

package bpf

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// PrintDrops writes a table of what was dropped within wall, with a column for the network
// namespace where more than one may be in it, and below it what is no loss.
func PrintDrops(w io.Writer, t DropTable, wall time.Duration, namespaces bool) error {
	if t.Warning != "" {
		fmt.Fprintf(w, "%s\n", plaintext.Line(t.Warning))
	}
	lost := 0
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range t.Drops {
		if d.NotLost != "" {
			continue
		}
		if lost++; lost == 1 {
			fmt.Fprintln(tab, "packets\tper s\tskbs\treason\tplace\tinterface\tto"+cell(namespaces, "%s", "\tnetns"))
		}
		fmt.Fprintf(tab, "%d\t%.1f\t%d\t%s\t%s\t%s\t%s%s\n", d.Packets, float64(d.Packets)/wall.Seconds(), d.SKBs,
			plaintext.Line(d.Reason),
			plaintext.Line(d.Place), plaintext.Line(d.Interface), d.to(),
			cell(namespaces, "%s", "\t"+plaintext.Line(d.Netns)))
	}
	if t.Unnamed > 0 {
		fmt.Fprintf(tab, "%d\t%.1f\t\tfor more reasons, places and ports than fit\n", t.Unnamed,
			float64(t.Unnamed)/wall.Seconds())
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, d := range t.Drops {
		if d.NotLost != "" {
			fmt.Fprintf(w, "not lost: %d packets, %s at %s: %s\n", d.Packets, plaintext.Line(d.Reason),
				plaintext.Line(d.Place), d.NotLost)
		}
	}
	return nil
}

// to formats the transport protocol and the port of the destination.
func (d *Drop) to() string {
	switch {
	case d.Port != 0:
		return fmt.Sprintf("%s %d", d.Protocol, d.Port)
	case d.Protocol != "":
		return d.Protocol
	}
	return "-"
}
