// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"golang.org/x/sys/unix"
)

// How long the parts of the step may take.
const (
	killedAfter = 60 * time.Second // the run that is killed has set something by then
	backAfter   = 45 * time.Second // what was set is back: some NICs take seconds
	lookEvery   = 300 * time.Millisecond
)

// restore kills a run that has settings on the hosts, restores them, and compares.
func (f *firstHour) restore(cmd *cobra.Command, b *bundle) []step {
	what := "one kill -9"
	k := &killing{f: f, said: &bytes.Buffer{}}
	// What was begun is ended: an interrupt must not leave settings behind.
	err := k.play(context.WithoutCancel(cmd.Context()), cmd)
	text := k.said.Bytes()
	if len(text) > 0 {
		err = errors.Join(err, b.write("restore.txt", text))
	}
	if err != nil {
		return []step{failed(stepRestore, what, cmp.Or(k.found, "it could not be tried"), err, f.again(stepRestore))}
	}
	if k.differs != nil {
		s := failed(stepRestore, what, k.found, nil, f.again(stepRestore))
		s.Reason = strings.Join(k.differs, "; ")
		s.Fix = "set these back by hand, or restart the host, and hand in restore.txt"
		return []step{s}
	}
	return []step{{Step: stepRestore, What: what, Came: fine, Found: k.found, Again: f.again(stepRestore)}}
}

// killing is how a run is killed, and what becomes of its settings.
type killing struct {
	f       *firstHour
	said    *bytes.Buffer // what was done, for the bundle
	found   string
	differs []string // what is not as it was

	before map[ends.Role]*survey.Snapshot
	moves  map[string]bool // facts that change by themselves
}

func (k *killing) say(format string, args ...any) { fmt.Fprintf(k.said, format+"\n", args...) }

func (k *killing) play(ctx context.Context, cmd *cobra.Command) (err error) {
	pair, err := k.f.look(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	if err := k.remember(ctx, pair); err != nil {
		return err
	}
	args := k.f.killed(k.before[ends.SUT])
	k.say("killed: %s", quoted(append([]string{"zcbench"}, args...)...))
	set, err := k.kill(ctx, pair, args)
	if err != nil {
		return err
	}
	left, err := k.changed(ctx, pair)
	if err != nil {
		return err
	}
	k.say("set when it was killed:\n  %s\nleft behind:\n  %s", strings.Join(set, "\n  "), strings.Join(left, "\n  "))
	far := pair.SUT.Spec.Far() || pair.TG.Spec.Far()
	if far { // agents there notice that they were left, and put it back themselves
		if left, err = k.await(ctx, pair, 20*time.Second); err != nil {
			return err
		}
	}
	byItself := far && len(left) == 0
	owes, err := k.undo(ctx)
	if err != nil {
		return err
	}
	if k.differs, err = k.await(ctx, pair, backAfter); err != nil {
		return err
	}
	k.say("not as it was:\n  %s", strings.Join(k.differs, "\n  "))
	switch {
	case k.differs != nil || owes:
		if owes && len(k.differs) == 0 {
			k.differs = []string{"zcbench restore says that something is left: restore.txt"}
		}
		k.found = fmt.Sprintf("not as it was before: %s", settings(len(k.differs)))
	case byItself:
		k.found = settings(len(set)) + " taken back by the agents themselves, which lost their controller"
	default:
		k.found = settings(len(left)) + " left by the killed run; all is as it was after zcbench restore"
	}
	return nil
}

func settings(n int) string {
	if n == 1 {
		return "1 setting"
	}
	return fmt.Sprintf("%d settings", n)
}

// remember takes note of what the hosts are like, and of what does not stand still there.
func (k *killing) remember(ctx context.Context, pair *bench.LookedAt) (err error) {
	if k.before, err = pair.Found(ctx); err != nil {
		return err
	}
	k.moves = map[string]bool{}
	for range 3 {
		time.Sleep(lookEvery)
		now, err := pair.Found(ctx)
		if err != nil {
			return err
		}
		for role := range now {
			for _, d := range survey.Diff(k.before[role], now[role]) {
				k.moves[string(role)+d.Name] = true
			}
		}
	}
	return nil
}

// changed lists what is not as it was.
func (k *killing) changed(ctx context.Context, pair *bench.LookedAt) (out []string, err error) {
	now, err := pair.Found(ctx)
	if err != nil {
		return nil, err
	}
	for _, role := range ends.Roles {
		for _, d := range survey.Diff(k.before[role], now[role]) {
			if !k.moves[string(role)+d.Name] {
				out = append(out, fmt.Sprintf("%s %s: %s, was %s", role.Label(), d.Name, textOf(d.B), textOf(d.A)))
			}
		}
	}
	return out, nil
}

func textOf(v *string) string {
	if v == nil {
		return "nothing"
	}
	return *v
}

// await waits until all is as it was, and returns what is not.
func (k *killing) await(ctx context.Context, pair *bench.LookedAt, most time.Duration) (left []string, err error) {
	for end := time.Now().Add(most); ; time.Sleep(lookEvery) {
		if left, err = k.changed(ctx, pair); err != nil || len(left) == 0 || time.Now().After(end) {
			return left, err
		}
	}
}

// killed is the run that is killed: by a mode that takes a queue of the NIC over, where one was
// proved, since that sets the most; else by tcp, with GRO switched.
func (f *firstHour) killed(found *survey.Snapshot) []string {
	args := append([]string{"run"}, f.hosts()...)
	args = append(args, "--tx", "tcp", "--duration", "2m", "--pace", "500M", "--rx")
	for _, mode := range []string{"zcrx", "devmem"} {
		if f.proved[mode] {
			return append(args, mode)
		}
	}
	gro := "on"
	if v, _ := found.Value("nic/feature rx-gro"); strings.HasPrefix(v, "on") {
		gro = "off"
	}
	return append(args, "tcp", "--gro", gro)
}

// kill starts the run, waits until it has set something, and kills it with its agents on this
// machine: processes that we started, by their numbers.
func (k *killing) kill(ctx context.Context, pair *bench.LookedAt, args []string) (set []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	run := exec.Command(self, args...)
	run.Stdout, run.Stderr = &said, &said
	run.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // an interrupt at the terminal is ours to deal with
	run.WaitDelay = time.Second
	if err := run.Start(); err != nil {
		return nil, fmt.Errorf("start the run: %w", err)
	}
	ended := make(chan struct{})
	go func() { run.Wait(); close(ended) }()
	for end := time.Now().Add(killedAfter); ; {
		select {
		case <-ended:
			return nil, fmt.Errorf("the run that was to be killed ended by itself: %s", sentence(said.String()))
		case <-time.After(lookEvery):
		}
		if set, err = k.changed(ctx, pair); err != nil || len(set) > 0 || time.Now().After(end) {
			break
		}
	}
	if len(set) > 0 {
		time.Sleep(2 * time.Second) // the rest is set one by one
		set, err = k.changed(ctx, pair)
	}
	pids := append(startedBy(run.Process.Pid), run.Process.Pid)
	k.say("kill -9 %v", pids)
	// Stopped first: whoever is left must not notice that the others are gone.
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range pids {
			unix.Kill(pid, sig)
		}
	}
	<-ended
	if err == nil && len(set) == 0 {
		err = fmt.Errorf("the run had set nothing after %v: %s", killedAfter, sentence(said.String()))
	}
	return set, err
}

// startedBy lists the processes that a process has started, which is one of ours.
func startedBy(pid int) (out []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil && child > 1 && !slices.Contains(out, child) {
				out = append(out, child)
			}
		}
	}
	return out
}

// undo does what zcbench restore does, on both hosts, and reports whether something is left.
func (k *killing) undo(ctx context.Context) (owes bool, err error) {
	for _, role := range ends.Roles {
		if role == ends.TG && sameHost(k.f.sut, k.f.tg) {
			break
		}
		reports, err := restoreOn(ctx, k.f.host(role), plan.RestoreParams{})
		if err != nil {
			return owes, fmt.Errorf("restore %s: %w", k.f.host(role), err)
		}
		k.say("zcbench restore --host %s:", k.f.host(role))
		printReports(k.said, reports)
		owes = owes || owing(reports)
	}
	return owes, nil
}

// sameHost reports whether two names are of one machine, whose settings are restored at once.
func sameHost(a, b string) bool {
	x, xerr := host.ParseSpec(a)
	y, yerr := host.ParseSpec(b)
	return xerr == nil && yerr == nil && !x.Far() && !y.Far()
}
