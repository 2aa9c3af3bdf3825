// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
)

// usualWindow is a run's window.
const usualWindow = 10 * time.Second

// parseWatts reads watts, as 20 or 20W.
func parseWatts(s string) (float64, error) {
	w, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "W"), 64)
	if err != nil || !(w > 0) || w > 1e6 {
		return 0, cli.Usagef("--can-resolve %q: want a difference in watts, such as 20W", s)
	}
	return w, nil
}

// resolve reads the sources for as long as a run's window, and says which of them tell so small a
// difference. It fails where none does.
func (f *powerFlags) resolve(cmd *cobra.Command, sources []power.Source) error {
	watts, err := parseWatts(f.resolves)
	if err != nil {
		return err
	}
	window := usualWindow
	if f.duration > 0 {
		window = f.duration
	}
	sampler := power.Start(sources, f.interval)
	defer sampler.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "reading for %v, as long as a run's window (--duration) ...\n", window)
	begun := counter.Monotonic()
	select {
	case <-time.After(window + window/10): // a meter's last reading may be some time ago
	case <-cmd.Context().Done():
		return context.Cause(cmd.Context())
	}
	can := false
	for _, t := range sampler.Traces(begun, counter.Monotonic()) {
		r, err := power.Resolve(t, power.Window{FromNs: begun, ToNs: begun + window.Nanoseconds()})
		if err != nil {
			fmt.Fprintln(cmd.OutOrStdout(), err)
			continue
		}
		can = sayResolution(cmd.OutOrStdout(), r, watts) || can
	}
	if !can {
		return fmt.Errorf("no source tells a difference of %g W in windows of %v", watts, window)
	}
	return nil
}

// sayResolution prints what a source resolves, and reports whether that is the difference in
// question, by the runs that a verdict takes.
func sayResolution(w io.Writer, r power.Resolution, watts float64) (can bool) {
	runs := r.Runs(watts)
	least := runs == r.Runs(1e9)
	text := fmt.Sprintf("%s: %.4g W now, and the mean of %v is known to +-%.2g W (95 %%)", r.Source, r.MeanW, r.Window,
		1.96*r.U)
	if r.StepW > 0 {
		text += fmt.Sprintf(", in steps of %.3g W", r.StepW)
	}
	if least {
		text += fmt.Sprintf(". It tells %g W, with the %d runs of each cell that a verdict takes.", watts, runs)
	} else {
		text += fmt.Sprintf(". To tell %g W takes %d runs of each cell", watts, runs)
		if d, ok := r.WindowFor(watts); ok {
			text += fmt.Sprintf(", or windows of %v (--duration).", d)
		} else {
			text += "; longer windows do not help: its steps are as coarse."
		}
	}
	if r.Average > 0 {
		text += fmt.Sprintf(" It averages over %v: give it that long before each window (--power-guard).", r.Average)
	}
	fmt.Fprint(w, cli.Indented("", "  ", text))
	return least
}
