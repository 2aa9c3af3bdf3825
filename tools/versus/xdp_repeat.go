// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/results/stat"
)

// xdpTry is how well ns per frame repeats in some runs, beside two loops: one only computes, one
// only hands a line of the cache to and fro between the CPUs of generator and receiver. Where these
// do not repeat, nothing does: a hypervisor that moves a CPU shows in the second one alone.
type xdpTry struct {
	Runs   []xdpSample `json:"runs"`
	SpinNs []float64   `json:"spin_ns"` // a step of the one, after each run
	LineNs []float64   `json:"line_ns"` // to and fro, of the other; none where both ends have one CPU
	CV     float64     `json:"cv"`      // of ns_each
	SpinCV float64     `json:"spin_cv"`
	LineCV float64     `json:"line_cv"`
	Stolen float64     `json:"stolen_cores"` // means of the runs
	Others float64     `json:"foreign_cores"`
	Quiet  bool        `json:"quiet"`
}

const (
	runsOfTry = 10
	mostCV    = .03
	keptOfTen = 8 // tries on a quiet machine
	// What a quiet machine has less of, of one CPU.
	quietSteal, quietOthers = .005, .01
)

// repeatXDP reports of each try whether the machine was quiet, and how much ns per frame varied.
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
		fmt.Fprintf(progress, "#%d %v: CV %.2f %%, of computing %.2f %%, of a line to and fro %.2f %%\n", len(all), c,
			100*t.CV, 100*t.SpinCV, 100*t.LineCV)
	}
	if ctx.Err() != nil {
		err = errInterrupted
	}
	if perr := printTries(out, all, o.json); err != nil || perr != nil {
		return errors.Join(err, perr)
	}
	if o.gate && triesJudged(all) == stat.NotMet {
		return errors.New("a target is not met")
	}
	return nil
}

// triesJudged judges whether ns per frame repeats as it should: of the tries on a quiet machine, so
// many of ten. Those on another machine say nothing, and nor do no tries.
func triesJudged(all []*xdpTry) stat.Answer {
	quiet, kept := 0, 0
	for _, t := range all {
		if t.Quiet {
			quiet++
			if t.CV <= mostCV {
				kept++
			}
		}
	}
	switch {
	case quiet == 0:
		return stat.CannotTell
	case 10*kept >= keptOfTen*quiet:
		return stat.Met
	}
	return stat.NotMet
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
		if slices.Equal(l.from, l.to) {
			continue
		}
		line, err := toAndFro(l.from, l.to)
		if err != nil {
			return err
		}
		t.LineNs = append(t.LineNs, line)
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
	for of, values := range map[*float64][]float64{&t.CV: ns, &t.SpinCV: t.SpinNs, &t.LineCV: t.LineNs} {
		if cv := stat.CV(values); cv != nil {
			*of = *cv
		}
	}
	t.Others = max(t.Others, 0)
	t.Quiet = t.Stolen < quietSteal && t.Others < quietOthers
}

// spinOn measures the CPU time of a step of a loop that needs nothing but the processor's clock.
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

// toAndFro measures how long a cache line takes from a CPU to another and back, the median of some
// tens: what interrupts one of these says nothing.
func toAndFro(a, b []int) (ns float64, err error) {
	var line struct {
		_ [128]byte
		n atomic.Uint32
		_ [128]byte
	}
	if runtime.GOMAXPROCS(0) < 3 { // two wait without a word to the scheduler
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	}
	errs := make(chan error, 2)
	each := make([]float64, batches)
	end := func(cpus []int, do func(n uint32)) {
		runtime.LockOSThread() // never unlocked: it is bound to a CPU
		errs <- confine(cpus)
		for n := range uint32(batches * batch) {
			do(2 * n)
		}
		errs <- nil
	}
	go end(b, func(n uint32) {
		for line.n.Load() != n+1 {
		}
		line.n.Store(n + 2)
	})
	from := time.Now()
	go end(a, func(n uint32) {
		line.n.Store(n + 1)
		for line.n.Load() != n+2 {
		}
		if i := n / 2; i%batch == batch-1 {
			now := time.Now()
			each[i/batch], from = float64(now.Sub(from))/batch, now
		}
	})
	for range 4 {
		err = errors.Join(err, <-errs)
	}
	return stat.Median(each), err
}

const batches, batch = 40, 1000

const spins = 100_000_000 // some tenths of a second

//go:noinline
func spin(n int) {
	x := uint64(1)
	for ; n > 0; n-- {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x)
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
	fmt.Fprintln(w, "TRY\tNS EACH\tMIN\tMAX\tCV %\tCOMPUTING CV %\tLINE CV %\tSTOLEN\tOTHERS\tMACHINE\t")
	quiet, kept, uneven := 0, 0, 0
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
		if max(t.SpinCV, t.LineCV) > mostCV {
			uneven++
		}
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\t%.4f\t%.4f\t%s\t\n", i+1, s.Median, s.Min, s.Max,
			100*t.CV, 100*t.SpinCV, 100*t.LineCV, t.Stolen, t.Others, word)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nOf %d tries on a quiet machine, %d had a CV of at most %g %%; target: 8 of 10: "+
		"%s. STOLEN by the hypervisor and OTHERS' load are in cores of the whole machine.\n"+
		"In %d of all %d tries the machine itself varied more: a loop that only computes, or one that hands a "+
		"line of the cache to and fro.\n", quiet, kept, 100*mostCV, triesJudged(all), uneven, len(all))
	return err
}
