// SPDX-License-Identifier: MIT

// Lanes runs the tests: parts of them, which are called lanes, at the same time, then those that
// want the machine for themselves; it says how far it is, and at the end what came of it.
//
//	lanes [-name NAME] PROGRAM [+]LANE[,LANE...]... [-- LANE...]
//
// starts "PROGRAM LANE" for every lane; those that commas join come one after another. A group
// with a + waits until one of those without is at its end, in the order given, so that no more run
// at the same time than there are without. Lanes after -- are of timed tests (package
// internal/kind): they come last, one after another. There a test that fails is run once more,
// alone, by "PROGRAM LANE" with the variable ZCBENCH_TEST_AGAIN, "PACKAGE TEST"; one that passes
// then is listed as flaky. A timed test that failed while others had the CPUs is undecided, and is
// not run again.
//
// Each lane prints what go test -json prints, and may print anything to standard error. With
// ZCBENCH_TEST_JSON lanes keeps the events in that file, with the lane's name at each package:
// "uring [sid]", since several lanes may run the tests of one package. It ends with 1 if a test or
// a lane failed. When it is told to end, so are the lanes, and what is left of them is killed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/internal/starved"
)

// jsonEnv names the file for the events, if there is to be one.
const jsonEnv = "ZCBENCH_TEST_JSON"

func main() {
	os.Exit(runMain())
}

func runMain() int {
	name := flag.String("name", "", "of this kind of run: how long it took, the next one is told")
	flag.Parse()
	groups, last := flag.Args(), []string(nil)
	if i := slices.Index(groups, "--"); i >= 0 {
		groups, last = groups[:i], groups[i+1:]
	}
	if len(groups) < 2 || !slices.ContainsFunc(groups[1:], startsAtOnce) {
		fmt.Fprintln(os.Stderr, "usage: lanes [-name NAME] PROGRAM [+]LANE[,LANE...]... [-- LANE...]")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP,
		syscall.SIGPIPE)
	defer stop()
	var events io.Writer = io.Discard
	if path := os.Getenv(jsonEnv); path != "" {
		f, err := os.Create(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lanes:", err)
			return 2
		}
		defer f.Close()
		events = f
	}
	before := usual(*name)
	r := newRunner(groups[0], os.Stdout, os.Stderr, events)
	done := r.progress(before, terminal(os.Stderr))
	r.run(ctx, groups[1:], last)
	done()
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "interrupted: the counts are of what has run")
	}
	ok := r.summary() && ctx.Err() == nil
	if ok && *name != "" {
		if err := remember(*name, r.took(), r.tests()); err != nil {
			fmt.Fprintln(os.Stderr, "how long this took is not noted for the next run:", err)
		}
	}
	if !ok {
		return 1
	}
	return 0
}

// startsAtOnce reports whether a group waits for no other.
func startsAtOnce(group string) bool { return !strings.HasPrefix(group, "+") }

// A runner runs lanes and keeps the account of their tests.
type runner struct {
	program      string
	stdout, errs *lines
	events       *lines
	begun        time.Time
	account      account
	watch        watch

	mu    sync.Mutex
	lanes []*laneRun // that ran, or run
	load  *starved.Load
}

func newRunner(program string, stdout, stderr, events io.Writer) *runner {
	both := &screen{to: stderr}
	return &runner{program: program, watch: watchOthers, begun: time.Now(),
		stdout: &lines{both, stdout}, errs: &lines{both, stderr}, events: &lines{&screen{}, events}}
}

// run starts every group of lanes, and those with a + when there is room, waits for all, and then
// runs the last lanes one after another.
func (r *runner) run(ctx context.Context, groups, last []string) {
	var wg sync.WaitGroup
	later := make(chan string, len(groups))
	one := func(group string) {
		for name := range strings.SplitSeq(group, ",") {
			r.lane(ctx, name, "", r.account.of(name))
		}
	}
	for _, group := range groups {
		if name, ok := strings.CutPrefix(group, "+"); ok {
			later <- name
			continue
		}
		wg.Go(func() {
			one(group)
			for group := range later {
				one(group)
			}
		})
	}
	close(later)
	wg.Wait()
	r.timed(ctx, last)
}

func (r *runner) took() time.Duration { return time.Since(r.begun) }

func (r *runner) tests() int {
	c := r.account.counts()
	return c.passed + c.failed + c.skipped
}
