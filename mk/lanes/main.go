// SPDX-License-Identifier: MIT

// Lanes runs parts of the tests at the same time, and makes one stream of what they say.
//
//	lanes PROGRAM [+]NAME[,NAME...]...
//
// starts "PROGRAM NAME" for every name; those that commas join come one after another. A group
// with a + waits until one of those without is at its end, in the order given, so that no more run
// at the same time than there are without. Each prints what go test -json prints; lanes
// prints their lines whole, as they come, with the lane's name at each package: "uring
// [sid]", since several lanes may run the tests of one package. Standard error is
// passed on with the name before each line. It ends with 1 if a lane did not end
// with 0. When it is told to end, so are the lanes, and what is left of them is killed.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// timesEnv, when set, asks for a line on standard error about the time of each lane. gotestsum
// takes such lines for errors, though it does not fail for them.
const timesEnv = "ZCBENCH_LANE_TIMES"

// grace is how long lanes that are told to end have before they are killed.
const grace = 15 * time.Second

func main() {
	if len(os.Args) < 3 || !slices.ContainsFunc(os.Args[2:], startsAtOnce) {
		fmt.Fprintln(os.Stderr, "usage: lanes PROGRAM [+]NAME[,NAME...]...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if !run(ctx, os.Args[1], os.Args[2:], os.Stdout, os.Stderr) {
		os.Exit(1)
	}
}

// startsAtOnce tells of a group that it waits for no other.
func startsAtOnce(group string) bool { return !strings.HasPrefix(group, "+") }

// run starts every group of lanes, and those with a + when there is room, waits for all and reports
// whether each lane ended with 0.
func run(ctx context.Context, program string, groups []string, stdout, stderr io.Writer) bool {
	out, errs := &lines{w: stdout}, &lines{w: stderr}
	var failed atomic.Bool
	var wg sync.WaitGroup
	later := make(chan string, len(groups))
	one := func(group string) {
		for name := range strings.SplitSeq(group, ",") {
			start := time.Now()
			cpu, err := lane(ctx, program, name, out, errs)
			took := fmt.Sprintf("after %.0f s, %.0f s of CPU time", time.Since(start).Seconds(), cpu.Seconds())
			if err != nil {
				failed.Store(true)
				errs.print(fmt.Appendf(nil, "%s: ended with a failure (%v) %s\n", name, err, took))
			} else if os.Getenv(timesEnv) != "" {
				errs.print(fmt.Appendf(nil, "%s: ended %s\n", name, took))
			}
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
	return !failed.Load()
}

// lane runs one lane to its end and says how much CPU time it took. All its processes are in a
// group of their own, so that they can be told to end together.
func lane(ctx context.Context, program, name string, out, errs *lines) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	cmd := exec.CommandContext(ctx, program, name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	stdout, stderr := &splitter{}, &splitter{}
	stdout.take = func(line []byte) { out.print(label(line, name)) }
	stderr.take = func(line []byte) { errs.print(append([]byte(name+": "), line...)) }
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what did not end by itself
	}
	stdout.flush()
	stderr.flush()
	if cmd.ProcessState == nil {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// label puts the lane's name behind the package of an event. What is no event stays as
// it is.
func label(line []byte, name string) []byte {
	var event map[string]json.RawMessage
	var pkg string
	if json.Unmarshal(line, &event) != nil || json.Unmarshal(event["Package"], &pkg) != nil {
		return line
	}
	event["Package"], _ = json.Marshal(pkg + " [" + name + "]")
	b, err := json.Marshal(event)
	if err != nil {
		return line
	}
	return append(b, '\n')
}

// splitter cuts what is written to it into lines, each with its newline.
type splitter struct {
	take func([]byte)
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	r := bufio.NewReader(bytes.NewReader(s.rest))
	done := 0
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		done += len(line)
		s.take(line)
	}
	s.rest = append(s.rest[:0], s.rest[done:]...)
	return len(p), nil
}

// flush takes a last line that no newline ends.
func (s *splitter) flush() {
	if len(s.rest) > 0 {
		s.take(append(s.rest, '\n'))
		s.rest = nil
	}
}

// lines writes whole lines of many writers.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) print(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.w.Write(line)
}
