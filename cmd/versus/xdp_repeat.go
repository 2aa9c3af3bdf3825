// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/zcbench/zcbench/results/stat"
	"golang.org/x/sys/unix"
)

// xdpTry is how well ns per frame repeats in some runs, beside a loop that only computes.
type xdpTry struct {
	Runs   []xdpSample `json:"runs"`
	SpinNs []float64   `json:"spin_ns"` // a step of the loop, after each run
	CV     float64     `json:"cv"`      // of ns_each
	SpinCV float64     `json:"spin_cv"`
	Stolen float64     `json:"stolen_cores"` // means of the runs
	Others float64     `json:"foreign_cores"`
	Quiet  bool        `json:"quiet"`
}

const (
	runsOfTry = 10
	mostCV    = .03
	// What a quiet machine has less of, of one CPU.
	quietSteal, quietOthers = .005, .01
)

// repeatXDP says of each try whether the machine was quiet, and how much ns per frame varied.
func (o *options) repeatXDP(ctx context.Context, l *xdpLink, tries int, c xdpCase, out, progress io.Writer) error {
	var all []*xdpTry
	var err error
	if _, err = l.run(ctx, c, startOurs, o.tools.Duration); err != nil { // warms up
		return fmt.Errorf("%v: %w", c, err)
	}
	for range tries {
		t := &xdpTry{}
		if err = o.try(ctx, l, c, t); err != nil {
			break
		}
		all = append(all, t)
		fmt.Fprintf(progress, "#%d %v: CV %.2f %%, of the loop %.2f %%\n", len(all), c, 100*t.CV, 100*t.SpinCV)
	}
	if ctx.Err() != nil {
		err = errInterrupted
	}
	return errors.Join(err, printTries(out, all, o.json))
}

func (o *options) try(ctx context.Context, l *xdpLink, c xdpCase, t *xdpTry) error {
	for range runsOfTry {
		s, err := l.run(ctx, c, startOurs, o.tools.Duration)
		if err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		spin, err := spinOn(l.to)
		if err != nil {
			return err
		}
		t.Runs, t.SpinNs = append(t.Runs, s), append(t.SpinNs, spin)
	}
	t.judge()
	return nil
}

func (t *xdpTry) judge() {
	n := float64(len(t.Runs))
	var ns []float64
	for _, s := range t.Runs {
		ns = append(ns, s.NsEach)
		t.Stolen, t.Others = t.Stolen+s.Stolen/n, t.Others+s.Others/n
	}
	for of, values := range map[*float64][]float64{&t.CV: ns, &t.SpinCV: t.SpinNs} {
		if cv := stat.CV(values); cv != nil {
			*of = *cv
		}
	}
	t.Others = max(t.Others, 0)
	t.Quiet = t.Stolen < quietSteal && t.Others < quietOthers
}

// spinOn is the CPU time of a step of a loop that needs nothing but the processor's clock.
func spinOn(cpus []int) (ns float64, err error) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: it is bound to CPUs
		err := confine(cpus)
		if err == nil {
			spin(spins / 10)
			from := threadTime()
			spin(spins)
			ns = float64(threadTime()-from) / spins
		}
		done <- err
	}()
	err = <-done // before ns is looked at
	return ns, err
}

const spins = 100_000_000 // some tenths of a second

//go:noinline
func spin(n int) (x uint64) {
	for x = 1; n > 0; n-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func threadTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // cannot fail
	return time.Duration(ts.Nano())
}

func printTries(out io.Writer, all []*xdpTry, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "TRY\tNS EACH\tMIN\tMAX\tCV %\tLOOP'S CV %\tSTOLEN\tOTHERS\tMACHINE\t")
	quiet, kept := 0, 0
	for i, t := range all {
		var ns []float64
		for _, s := range t.Runs {
			ns = append(ns, s.NsEach)
		}
		s, word := stat.Summarize(ns), "not quiet"
		if t.Quiet {
			word = "quiet"
			quiet++
			if t.CV <= mostCV {
				kept++
			}
		}
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.4f\t%.4f\t%s\t\n", i+1, s.Median, s.Min, s.Max, 100*t.CV, 100*t.SpinCV, t.Stolen, t.Others, word)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nOf %d tries on a quiet machine, %d had a CV of at most %g %%. STOLEN by the hypervisor and OTHERS' load are in cores of the whole machine.\n", quiet, kept, 100*mostCV)
	return err
}
