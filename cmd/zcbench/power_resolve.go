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
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results/stat"
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

// usualRuns is how many runs of each cell an experiment has where its file does not say.
const usualRuns = 10

// sayResolution prints what a source resolves, and reports whether it tells the difference in as
// many runs as an experiment has.
func sayResolution(w io.Writer, r power.Resolution, watts float64) (can bool) {
	runs, ok := stat.RunsFor(1, watts/r.U)
	can = ok && runs <= usualRuns
	text := fmt.Sprintf("%s: %.4g W now, and the mean of %v is known to +-%.2g W (95 %%)", r.Source, r.MeanW, r.Window,
		1.96*r.U)
	if r.StepW > 0 {
		text += fmt.Sprintf(", in steps of %.3g W", r.StepW)
	}
	switch {
	case can:
		text += fmt.Sprintf(". It tells %g W in 8 of 10 cases with %d runs of each cell, if cells vary by no more "+
			"than it does.", watts, runs)
	case ok:
		text += fmt.Sprintf(". To tell %g W takes %d runs of each cell", watts, runs)
	default:
		text += fmt.Sprintf(". It does not tell %g W, whatever the number of runs", watts)
	}
	if !can {
		text += longerWindows(r, watts)
	}
	if r.Average > 0 {
		text += fmt.Sprintf(" It averages over %v: give it that long before each window (--power-guard).", r.Average)
	}
	screen.Text(w, "", "  ", text)
	return can
}

// longerWindows says how long windows must be instead.
func longerWindows(r power.Resolution, watts float64) string {
	for times := 2.0; times <= 64; times *= 2 {
		if n, ok := stat.RunsFor(1, watts/r.Longer(times)); ok && n <= usualRuns {
			return fmt.Sprintf(", or %d with windows of %v (--duration).", n, time.Duration(times)*r.Window)
		}
	}
	return "; longer windows do not help enough."
}
