// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// againEnv asks a lane for one test, "PACKAGE TEST", and nothing else.
const againEnv = "ZCBENCH_TEST_AGAIN"

// grace is how long lanes that are told to end have before they are killed.
const grace = 15 * time.Second

// A laneRun is one run of a lane.
type laneRun struct {
	name  string
	now   string // the package whose tests run, "" before and after
	ended bool
	took  time.Duration
	cpu   time.Duration
	said  [][]byte // the last lines that it wrote to standard error
	err   error
	// Tests and packages of it that began and did not end.
	unended int
}

// kept is how many lines of a lane's standard error are kept for the end.
const kept = 30

// lane runs one lane to its end, or again one test of it. All its processes are in a group of their
// own, so that they can be told to end together.
func (r *runner) lane(ctx context.Context, name, again string, events func(event)) *laneRun {
	l := &laneRun{name: name}
	r.mu.Lock()
	r.lanes = append(r.lanes, l)
	r.mu.Unlock()
	begun := time.Now()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.ended, l.took = true, time.Since(begun)
	}()
	if ctx.Err() != nil {
		l.err = ctx.Err()
		return l
	}
	cmd := exec.CommandContext(ctx, r.program, name)
	if again != "" {
		cmd.Env = append(os.Environ(), againEnv+"="+again)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	stdout := &splitter{take: func(line []byte) { r.heard(l, line, events) }}
	stderr := &splitter{take: func(line []byte) { r.complained(l, line) }}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what did not end by itself
	}
	stdout.flush()
	stderr.flush()
	if cmd.Process != nil && ctx.Err() == nil && leaves(cmd.Process.Pid) {
		r.complained(l, []byte("it left processes behind, which are killed\n"))
	}
	l.unended = r.account.leave(name, ctx.Err() == nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	l.err = err
	if p := cmd.ProcessState; p != nil {
		l.cpu = p.UserTime() + p.SystemTime()
	}
	return l
}

// leaves ends what is left of a group of processes, and reports whether something was.
func leaves(group int) bool {
	for range 100 { // others may be about to end, or to be waited for
		if syscall.Kill(-group, 0) != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return syscall.Kill(-group, syscall.SIGKILL) == nil
}

// heard takes a line of a lane's standard output: an event, or what some program printed.
func (r *runner) heard(l *laneRun, line []byte, events func(event)) {
	e, ok := parse(line)
	if !ok {
		r.complained(l, line)
		return
	}
	r.mu.Lock()
	if l.now = e.Package; e.Test == "" && e.ends() {
		l.now = ""
	}
	r.mu.Unlock()
	r.events.print(e.labelled(l.name))
	events(e)
	r.account.print(r.stdout)
}

// complained takes a line that is no event. Tools write much to standard error that is no error.
func (r *runner) complained(l *laneRun, line []byte) {
	r.mu.Lock()
	l.said = append(l.said, line)
	l.said = l.said[max(0, len(l.said)-kept):]
	r.mu.Unlock()
	r.errs.print(append([]byte(l.name+": "), line...))
}

// splitter cuts what is written to it into lines, each with its newline.
type splitter struct {
	take func([]byte)
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	b := bufio.NewReader(bytes.NewReader(s.rest))
	done := 0
	for {
		line, err := b.ReadBytes('\n')
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

// A screen is where both streams are seen: on a terminal one line below all others changes.
type screen struct {
	mu    sync.Mutex
	to    io.Writer // that line's
	below string
}

// wipe is what takes the changing line away.
const wipe = "\r\x1b[K"

// status changes the line below, which must have no newline; "" takes it away.
func (s *screen) status(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below = strings.ReplaceAll(text, "\n", " ")
	_, _ = io.WriteString(s.to, wipe+s.below)
}

// lines writes whole lines of many writers to one stream of a screen.
type lines struct {
	*screen
	w io.Writer
}

func (l *lines) print(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.below == "" {
		_, _ = l.w.Write(line)
		return
	}
	_, _ = io.WriteString(l.to, wipe)
	_, _ = l.w.Write(line)
	_, _ = io.WriteString(l.to, l.below)
}
