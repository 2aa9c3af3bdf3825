// SPDX-License-Identifier: MIT

package bpf

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
)

// PrintDrops writes a table of what was dropped within wall, with a column for the network
// namespace where more than one may be in it, and below it what is no loss.
func PrintDrops(w io.Writer, t DropTable, wall time.Duration, namespaces bool) error {
	if t.Warning != "" {
		screen.Line(w, "", "  ", plaintext.Line(t.Warning))
	}
	lost := 0
	columns := []string{"packets", "per s", "skbs", "reason", "place", "interface", "to"}
	if namespaces {
		columns = append(columns, "netns")
	}
	tab := screen.Aligned(strings.Repeat("<", len(columns)))
	for _, d := range t.Drops {
		if d.NotLost != "" {
			continue
		}
		if lost++; lost == 1 {
			tab.Head(columns...)
		}
		cells := []string{fmt.Sprint(d.Packets), fmt.Sprintf("%.1f", float64(d.Packets)/wall.Seconds()),
			fmt.Sprint(d.SKBs), plaintext.Line(d.Reason), plaintext.Line(d.Place), plaintext.Line(d.Interface), d.to(),
			plaintext.Line(d.Netns)}
		tab.Row(cells[:len(columns)]...)
	}
	if t.Unnamed > 0 {
		tab.Row(fmt.Sprint(t.Unnamed), fmt.Sprintf("%.1f", float64(t.Unnamed)/wall.Seconds()), "",
			"for more reasons, places and ports than fit")
	}
	if err := tab.Write(w); err != nil {
		return err
	}
	for _, d := range t.Drops {
		if d.NotLost != "" {
			screen.Line(w, "not lost: ", "  ", fmt.Sprintf("%d packets, %s at %s: %s", d.Packets,
				plaintext.Line(d.Reason), plaintext.Line(d.Place), d.NotLost))
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
