// SPDX-License-Identifier: MIT

package profile

import (
	"fmt"
	"io"
	"strconv"

	"github.com/zcbench/zcbench/internal/screen"
)

// Table writes classes, and the top functions, for a terminal: shares of the busy time, and
// milliseconds of it. Idle time is said once.
func (c Costs) Table(w io.Writer, top int) error {
	b := screen.NewWriter(w)
	t := screen.Aligned(">>>")
	percent := func(ns float64) float64 {
		if c.BusyNs == 0 {
			return 0
		}
		return 100 * ns / c.BusyNs
	}
	t.Head("%", "ms", "class")
	digits := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	for _, k := range c.Classes {
		t.Row(digits(percent(k.Ns)), digits(k.Ns/1e6), string(k.Class))
	}
	if err := t.Write(b); err != nil {
		return err
	}
	fmt.Fprintln(b)
	t = screen.Aligned(">>>>>>>")
	t.Head("self %", "ms", "with callees %", "ms", "class", "where", "function")
	shown := c.Functions[:min(top, len(c.Functions))]
	for _, f := range shown {
		if f.SelfNs == 0 {
			break
		}
		t.Row(digits(percent(f.SelfNs)), digits(f.SelfNs/1e6), digits(percent(f.TotalNs)), digits(f.TotalNs/1e6),
			string(f.Class), string(f.Where), f.String())
	}
	if err := t.Write(b); err != nil {
		return err
	}
	return b.Flush()
}
