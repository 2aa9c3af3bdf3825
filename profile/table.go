// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes classes, and the top functions, for a terminal: shares of the busy time, and
// milliseconds of it. Idle time is said once.
func (c Costs) Table(w io.Writer, top int) error {
	b := bufio.NewWriter(w)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	percent := func(ns float64) float64 {
		if c.BusyNs == 0 {
			return 0
		}
		return 100 * ns / c.BusyNs
	}
	fmt.Fprintf(t, "%%\tms\tclass\t\n")
	for _, k := range c.Classes {
		fmt.Fprintf(t, "%.1f\t%.1f\t%s\t\n", percent(k.Ns), k.Ns/1e6, k.Class)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(b)
	t = tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "self %%\tms\twith callees %%\tms\tclass\twhere\tfunction\t\n")
	shown := c.Functions[:min(top, len(c.Functions))]
	for _, f := range shown {
		if f.SelfNs == 0 {
			break
		}
		fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t%.1f\t%s\t%s\t%s\t\n", percent(f.SelfNs), f.SelfNs/1e6, percent(f.TotalNs),
			f.TotalNs/1e6, f.Class, f.Where, f.String())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return b.Flush()
}
