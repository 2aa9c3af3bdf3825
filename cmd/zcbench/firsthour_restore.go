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
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
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
	k := &killing{f: f, said: &bytes.Buffer{}, on: restoreOn, stopped: cmd.Context().Done()}
	// What was begun is ended: an interrupt must not leave settings behind, but it may not be
	// silent.
	defer context.AfterFunc(cmd.Context(), func() { fmt.Fprintln(cmd.ErrOrStderr(), f.restoring()) })()
	err := k.play(context.WithoutCancel(cmd.Context()), cmd)
	text := k.said.Bytes()
	if len(text) > 0 {
		err = errors.Join(err, b.write("restore.txt", text))
	}
	s := failed(stepRestore, what, cmp.Or(k.found, "it could not be tried"), err, f.again(stepRestore))
	switch {
	case k.differs != nil:
		why := k.differs
		if err != nil {
			why = append(why, fault.Reason(err))
		}
		s.Reason = strings.Join(why, "; ")
		s.Fix = "set these back by hand, or restart the host, and hand in restore.txt"
	case errors.Is(err, errStopped):
		s.Came = unmade
	case err == nil:
		s = step{Step: stepRestore, What: what, Came: fine, Found: k.found, Again: f.again(stepRestore)}
	}
	return []step{s}
}

// restoring is what an interrupt of the step is answered with.
func (f *firstHour) restoring() string {
	text := "zcbench: interrupted: what the killed run has set is restored first (a minute or two). A second\n" +
		"interrupt would leave it on the hosts. Then:"
	for _, role := range f.hostsToRestore() {
		text += "\n  " + quoted("zcbench", "restore", "--host", f.host(role))
	}
	return text
}

// hostsToRestore are the roles of hosts, each host once.
func (f *firstHour) hostsToRestore() []ends.Role {
	if sameHost(f.sut, f.tg) {
		return ends.Roles[:1]
	}
	return ends.Roles[:]
}

var errStopped = errors.New("interrupted")

// looker takes snapshots of both hosts.
type looker interface {
	Found(context.Context) (map[ends.Role]*survey.Snapshot, error)
}

// killing is how a run is killed, and what becomes of its settings.
type killing struct {
	f       *firstHour
	said    *bytes.Buffer // what was done, for the bundle
	found   string
	differs []string // what is not as it was
	on      func(context.Context, string, plan.RestoreParams) ([]lease.Report, error)
	stopped <-chan struct{} // an interrupt: no more is begun

	before map[ends.Role]*survey.Snapshot
	moves  map[string]bool // facts that change by themselves
}

func (k *killing) say(format string, args ...any) { fmt.Fprintf(k.said, format+"\n", args...) }

func (k *killing) play(ctx context.Context, cmd *cobra.Command) (err error) {
	pair, err := k.f.look(ctx, cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	if err := k.clear(ctx); err != nil {
		return err
	}
	if err := k.remember(ctx, pair); err != nil {
		return err
	}
	args := k.f.killed(k.before[ends.SUT])
	k.say("killed: %s", quoted(append([]string{"zcbench"}, args...)...))
	far := pair.SUT.Spec.Far() || pair.TG.Spec.Far()
	return k.through(ctx, pair, far, func() ([]string, error) { return k.kill(ctx, pair, args) })
}

// clear takes back what runs before this one have left, which is no doing of the one that is
// killed.
func (k *killing) clear(ctx context.Context) error {
	k.say("before:")
	did, owes, err := k.undo(ctx)
	if err == nil && owes {
		err = &fault.Error{Op: "an earlier run has left settings that zcbench restore does not put back: restore.txt",
			How: "put these back first: zcbench restore says how"}
	}
	if did && err == nil {
		time.Sleep(3 * time.Second) // some NICs take seconds
	}
	return err
}

// through kills a run and looks at what it has left. From its start on all is undone, whatever
// fails: the settings of the hosts are what matters.
func (k *killing) through(ctx context.Context, pair looker, far bool, kill func() ([]string, error)) error {
	set, err := kill()
	var left []string
	if err == nil {
		left, err = k.changed(ctx, pair)
		k.say("set when it was killed:\n  %s\nleft behind:\n  %s", strings.Join(set, "\n  "), strings.Join(left,
			"\n  "))
	}
	if err == nil && far { // agents there notice that they were left, and put it back themselves
		left, err = k.await(ctx, pair, 20*time.Second)
	}
	_, owes, uerr := k.undo(ctx)
	var lerr error
	k.differs, lerr = k.await(ctx, pair, k.patience(uerr))
	if lerr == nil {
		k.say("not as it was:\n  %s", strings.Join(k.differs, "\n  "))
	}
	if owes && len(k.differs) == 0 {
		k.differs = []string{"zcbench restore says that something is left: restore.txt"}
	}
	early := ""
	if err != nil {
		early = "it ended early; "
	}
	switch {
	case k.differs != nil:
		k.found = early + "not as it was before: " + settings(len(k.differs))
	case lerr != nil || uerr != nil:
		k.found = early + "whether all is as it was is not known: zcbench restore on each host"
	case err != nil:
		k.found = early + "all is as it was"
	case far && len(left) == 0:
		k.found = settings(len(set)) + " taken back by the agents themselves, which lost their controller"
	default:
		k.found = settings(len(left)) + " left by the killed run; all is as it was after zcbench restore"
	}
	return errors.Join(err, uerr, lerr)
}

// patience is how long what was set may take to be back; it will not be by itself.
func (k *killing) patience(failed error) time.Duration {
	if failed != nil {
		return time.Second
	}
	return backAfter
}

func settings(n int) string {
	if n == 1 {
		return "1 setting"
	}
	return fmt.Sprintf("%d settings", n)
}

// remember takes note of what the hosts are like, and of what does not stand still there.
func (k *killing) remember(ctx context.Context, pair looker) (err error) {
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
func (k *killing) changed(ctx context.Context, pair looker) (out []string, err error) {
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
func (k *killing) await(ctx context.Context, pair looker, most time.Duration) (left []string, err error) {
	for end := time.Now().Add(most); ; time.Sleep(lookEvery) {
		if left, err = k.changed(ctx, pair); err != nil || len(left) == 0 || time.Now().After(end) {
			return left, err
		}
	}
}

// queueModes take a queue of the NIC over, that which sets the most first.
var queueModes = []string{"zcrx", "devmem"}

// killed is the run that is killed: by a mode that takes a queue of the NIC over, where one was
// proved, since that sets the most; else by tcp, with GRO switched.
func (f *firstHour) killed(found *survey.Snapshot) []string {
	args := append([]string{"run"}, f.hosts()...)
	args = append(args, "--tx", "tcp", "--duration", "2m", "--pace", "500M", "--rx")
	for _, mode := range queueModes {
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
func (k *killing) kill(ctx context.Context, pair looker, args []string) (set []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	select {
	case <-k.stopped:
		return nil, errStopped
	default:
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
	stopped := false
	for end := time.Now().Add(killedAfter); ; {
		select {
		case <-ended:
			return nil, fmt.Errorf("the run that was to be killed ended by itself: %s", sentence(said.String()))
		case <-k.stopped:
			stopped = true
		case <-time.After(lookEvery):
		}
		if set, err = k.changed(ctx, pair); err != nil || len(set) > 0 || stopped || time.Now().After(end) {
			break
		}
	}
	if len(set) > 0 {
		time.Sleep(2 * time.Second) // the rest is set one by one
		set, err = k.changed(ctx, pair)
	}
	pids, kerr := killWhole(run.Process)
	k.say("kill -9 %v", pids)
	<-ended
	switch {
	case err != nil || kerr != nil:
		return set, errors.Join(err, kerr)
	case stopped && len(set) == 0:
		return nil, errStopped
	case len(set) == 0:
		return nil, fmt.Errorf("the run had set nothing after %v: %s", killedAfter, sentence(said.String()))
	}
	return set, nil
}

// killWhole kills a process that we started and what it has started. It is stopped first: then it
// neither starts nor reaps any, so that their numbers stay theirs, and none notices that the others
// are gone.
func killWhole(p *os.Process) (pids []int, err error) {
	if err := p.Signal(unix.SIGSTOP); err != nil {
		return nil, fmt.Errorf("the run that was to be killed: %w", err)
	}
	for end := time.Now().Add(time.Second); !stopsAt(p.Pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	pids = counter.Children(p.Pid)
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range pids {
			unix.Kill(pid, sig)
		}
	}
	return append(pids, p.Pid), p.Signal(unix.SIGKILL)
}

// stopsAt reports whether all threads of a process have stopped.
func stopsAt(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if at := bytes.LastIndex(text, []byte(") ")); err == nil && at >= 0 && !bytes.ContainsRune([]byte("TtZX"),
			rune(text[at+2])) {
			return false
		}
	}
	return true
}

// undo does what zcbench restore does, on both hosts, even if one fails. It reports whether there
// was something to do, and whether something is left.
func (k *killing) undo(ctx context.Context) (did, owes bool, err error) {
	for _, role := range k.f.hostsToRestore() {
		k.say("zcbench restore --host %s:", k.f.host(role))
		reports, rerr := k.on(ctx, k.f.host(role), plan.RestoreParams{})
		if rerr != nil {
			k.say("%v", rerr)
			err = errors.Join(err, fmt.Errorf("restore %s: %w", k.f.host(role), rerr))
			continue
		}
		printReports(k.said, reports)
		did, owes = did || len(reports) > 0, owes || owing(reports)
	}
	return did, owes, err
}

// sameHost reports whether two names are of one machine, whose settings are restored at once.
func sameHost(a, b string) bool {
	x, xerr := host.ParseSpec(a)
	y, yerr := host.ParseSpec(b)
	return xerr == nil && yerr == nil && !x.Far() && !y.Far()
}
