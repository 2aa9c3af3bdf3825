// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/screen"
)

// PrintLatency writes a table of the stages that saw packets, times in us.
func PrintLatency(w io.Writer, stages []StageHist) error {
	var ages, durations bool
	t := screen.Aligned(strings.Repeat(">", 11))
	t.Head("stage", "is", "count", "mean us", "p50 us", "p90 us", "p99 us", "p99.9 us", "max us", "negative",
		"unstamped")
	for _, s := range stages {
		h := &s.Hist
		n := h.Count()
		if !s.Seen() {
			continue
		}
		what := "age"
		if ownEvent(s.Stage) {
			what, durations = "duration", true
		}
		ages = ages || what == "age"
		row := []string{s.Stage, what, fmt.Sprint(n)}
		for _, ns := range []float64{h.Mean(), h.Quantile(.5), h.Quantile(.9), h.Quantile(.99), h.Quantile(.999),
			float64(h.Max)} {
			row = append(row, cell(n > 0, "%.2f", ns/1e3))
		}
		t.Row(append(row, fmt.Sprint(h.Negative), fmt.Sprint(h.Unstamped))...)
	}
	if err := t.Write(w); err != nil || !ages || !durations {
		return err
	}
	for line := range strings.Lines(agesAndDurations) {
		screen.Line(w, "", "", strings.TrimSpace(line))
	}
	return nil
}

// Seen reports whether the stage saw a packet.
func (s StageHist) Seen() bool { return s.Hist.Count()+s.Hist.Negative+s.Hist.Unstamped > 0 }

// SeenPackets reports whether packets that the probe is to look at came to the stage. The runs of
// softirqs are the whole machine's.
func (s StageHist) SeenPackets() bool { return s.Seen() && s.Stage != "softirq-run" }

// agesAndDurations says what the two kinds of stages are, where a table has both.
const agesAndDurations = "" +
	"age: of a packet, from t0 to the stage. duration: of what happens there, from an event of its own:\n" +
	"softirq-run since the softirq was raised, wake-return since data arrived. They do not add up."

// ownEvent reports whether a stage's times begin with an event of its own, not with the receive
// stamp.
func ownEvent(name string) bool {
	return slices.ContainsFunc(stages, func(s stage) bool { return s.name == name && s.needs != nil })
}

// PrintHistogram draws a stage, a line for each power of two.
func PrintHistogram(w io.Writer, s StageHist) error {
	var octave [64]uint64
	var most uint64
	first, last := -1, -1
	for i, n := range s.Hist.Bucket {
		if n == 0 {
			continue
		}
		o := max(bits.Len64(Edge(i)), 1) - 1
		octave[o] += n
		most = max(most, octave[o])
		if first < 0 {
			first = o
		}
		last = o
	}
	if first < 0 {
		return nil
	}
	const width = 40
	if _, err := fmt.Fprintf(w, "%s, ns\n", s.Stage); err != nil {
		return err
	}
	for o := first; o <= last; o++ {
		lo := uint64(1) << o
		if o == 0 {
			lo = 0
		}
		hi := fmt.Sprint(uint64(2) << o)
		if s.Hist.Max >= Edge(Buckets) && o == last {
			hi = "inf" // the last bucket takes all that is longer
		}
		bar := int(math.Ceil(float64(octave[o]) / float64(most) * width))
		if _, err := fmt.Fprintf(w, "[%11d, %11s) %10d |%-*s|\n", lo, hi, octave[o], width,
			strings.Repeat("@", bar)); err != nil {
			return err
		}
	}
	return nil
}

// PrintCalls writes the table of system calls, as `perf trace -s` has it, and
// what they come to per second and, if bytes are known, per 10^6 bytes.
func PrintCalls(w io.Writer, calls []Call, wall time.Duration, bytes uint64) error {
	t := screen.Aligned(strings.Repeat(">", 10))
	t.Head("syscall", "calls", "errors", "total ms", "min ms", "avg ms", "max ms", "stddev %", "per second", "per MB")
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	for _, c := range calls {
		t.Row(c.Name, fmt.Sprint(c.Calls), fmt.Sprint(c.Errors), fmt.Sprintf("%.3f", ms(c.Sum)),
			cell(c.Max > 0, "%.4f", ms(c.Min)), fmt.Sprintf("%.4f", ms(c.Mean())), cell(c.Max > 0, "%.4f", ms(c.Max)),
			cell(c.Calls > 1, "%.2f", 100*c.Stddev()), fmt.Sprintf("%.1f", float64(c.Calls)/wall.Seconds()),
			cell(bytes > 0, "%.3f", float64(c.Calls)/(float64(bytes)/1e6)))
	}
	return t.Write(w)
}

// PrintCosts writes what probes cost. Cells of what was not timed are empty.
func PrintCosts(w io.Writer, costs []Cost) error {
	t := screen.Aligned(strings.Repeat(">", 10))
	t.Head("stage", "hook", "runs", "ns", "empty ns", "net ns", "hash design ns", "ratio", "Hz", "% of a core")
	for _, c := range costs {
		row := []string{c.Hook.Stage, c.Hook.Backend + "/" + c.Hook.Function, fmt.Sprint(c.Runs)}
		if c.Runs == 0 {
			t.Row(append(row, make([]string, 7)...)...)
			continue
		}
		net := cell(c.FloorNs > 0, "%.0f", max(c.Ns-c.FloorNs, 0))
		if c.Whole {
			net = fmt.Sprintf("%.0f", c.Ns)
		}
		t.Row(append(row, fmt.Sprintf("%.0f", c.Ns), cell(!c.Whole && c.FloorNs > 0, "%.0f", c.FloorNs), net,
			cell(c.Reference > 0, "%.0f", c.Reference), cell(c.Reference > 0, "%.2f", c.Ns/c.Reference),
			fmt.Sprintf("%.0f", c.Hz), cell(c.Whole || c.FloorNs > 0, "%.2f", 100*c.Core))...)
	}
	return t.Write(w)
}

// cell formats a cell of a table, empty unless there is something to show.
func cell(there bool, format string, v ...any) string {
	if !there {
		return ""
	}
	return fmt.Sprintf(format, v...)
}

// PrintHooks writes what could not be loaded, and why, for each reason, with what to do about it
// where something is known, in lines that fit a terminal. It belongs below the figures.
func PrintHooks(w io.Writer, hooks []Hook) error {
	lines := Absent(hooks)
	if lines == nil {
		return nil
	}
	_, err := io.WriteString(w, "\nmissing\n")
	fix := false
	for _, line := range lines {
		err = errors.Join(err, screen.Text(w, "  - ", "    ", line))
		fix = fix || strings.HasPrefix(line, refuses)
	}
	if fix {
		err = errors.Join(err, screen.Text(w, "  fix: ", "       ", refusedFix))
	}
	return err
}

// refuses begins the reason of a program that the kernel does not let its user load in this way,
// though it takes others.
const (
	refuses    = "the kernel refuses "
	refusedFix = "where the kernel refuses, leave these stages out (the others are right without them), or use " +
		"another kernel: " +
		"those of distributions take such programs, as does that of zcbench lab"
)

// Absent names the hooks whose program is missing and that no other replaces, with
// the reason: a line for each.
func Absent(hooks []Hook) (lines []string) {
	var reasons []string
	at := map[string][]string{}
	for _, h := range hooks {
		if h.there() || h.Replaced {
			continue
		}
		if at[h.Reason] == nil {
			reasons = append(reasons, h.Reason)
		}
		place := h.Stage
		if h.Function != "" {
			place += " (" + h.Function + ")"
		}
		at[h.Reason] = append(at[h.Reason], place)
	}
	for _, r := range reasons {
		lines = append(lines, r+": "+strings.Join(at[r], ", "))
	}
	return lines
}
