// SPDX-License-Identifier: MIT

package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// dialBad dials an agent of bad manners.
func dialBad(t *testing.T, how string, l host.Limits) *host.Host {
	t.Helper()
	o := options()
	o.Limits, o.Binary = l, agentThat(t, how)
	h, err := host.Dial(t.Context(), "local", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// impatient are limits of an agent's end that pass. What else it may take, it takes.
func impatient(end, change time.Duration) host.Limits {
	l := patient
	l.End, l.Change = end, change
	return l
}

// An agent that says without end that it is about to end is killed, whether it holds something or
// not, and whether that comes at its end or before. How soon, TestCloseOfFloods says.
func TestEndingFlood(t *testing.T) {
	for _, how := range []string{"floods", "floods at its end"} {
		for _, holds := range []bool{false, true} {
			t.Run(how, func(t *testing.T) {
				h := dialBad(t, how, impatient(500*time.Millisecond, time.Hour))
				if holds {
					hold(t, h)
				}
				if how == "floods" {
					if err := unix.Kill(h.PID(), unix.SIGUSR1); err != nil {
						t.Fatal(err)
					}
					await.Until(t, "that the flood is noticed", func() bool { return h.Err() != nil })
				}
				err := closed(t, h)
				if how == "floods" {
					err = h.Err()
				}
				if err == nil || !strings.Contains(err.Error(), "it keeps announcing its end without ending") &&
					!strings.Contains(err.Error(), "was killed") || fault.Fix(err) == "" {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// closed closes a host, and returns what that returns.
func closed(t *testing.T, hosts ...*host.Host) (err error) {
	t.Helper()
	await.Return(t, "Close", func() { err = host.CloseAll(hosts...) })
	return err
}

// Who holds nothing that would have to be taken back is not waited for, however
// politely it asks; who does, not for ever. How long, TestCloseOfThePolite says.
func TestCloseOfWhoNeverEnds(t *testing.T) {
	for holds, change := range map[bool]time.Duration{false: time.Hour, true: 2 * time.Second} {
		t.Run(fmt.Sprintf("holds %v", holds), func(t *testing.T) {
			t.Parallel() // it waits
			h := dialBad(t, "never ends", impatient(1200*time.Millisecond, change))
			if holds {
				hold(t, h)
			}
			if err := closed(t, h); err == nil || !strings.Contains(err.Error(), "was killed") ||
				!strings.Contains(fault.Fix(err), "zcbench restore") {
				t.Error(err)
			}
		})
	}
}

// A frozen agent of this machine is noticed, whoever waits for it, and Close does
// not wait.
func TestFrozenAgent(t *testing.T) {
	t.Parallel() // it waits
	o := options()
	o.Limits.Silence = 0 // the usual: until it is frozen, and when it is revived, it must not seem to be
	h, err := host.Dial(t.Context(), "local", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	unix.Kill(h.PID(), unix.SIGSTOP)
	await.Return(t, "the call's end", func() { err = h.Call(t.Context(), wire.OpModes, nil, nil) })
	if err == nil || !strings.Contains(err.Error(), "host local: the agent is lost: no answer for 10s") ||
		!strings.Contains(fault.Fix(err), "zcbench restore") {
		t.Errorf("%v, fix %q", err, fault.Fix(err))
	}
	if err := closed(t, h); err != nil {
		t.Error(err)
	}
	if alive(h.PID()) {
		t.Error("it lives")
	}
	if err := h.Revive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Call(t.Context(), wire.OpModes, nil, nil); err != nil {
		t.Error(err)
	}
}

// A controller that was itself stopped, as Ctrl-Z does, for longer than its patience
// takes no agent for lost.
func TestStoppedController(t *testing.T) {
	t.Parallel() // it waits
	cmd := exec.Command(os.Args[0], "controller")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	said := bufio.NewReader(out)
	if line, _ := said.ReadString('\n'); line != "ready\n" {
		t.Fatal(line)
	}
	for range long.Rounds(1, 4) {
		unix.Kill(cmd.Process.Pid, unix.SIGSTOP)
		await.Pause("for longer than its patience", patience+patience/3)
		unix.Kill(cmd.Process.Pid, unix.SIGCONT)
		await.Pause("for some of its turns", patience/3)
	}
	in.Write([]byte("\n"))
	if line, _ := said.ReadString('\n'); line != "<nil>\n" {
		t.Error(line)
	}
}

// The caller's own end leaves the agent alone, a limit that has passed does not.
func TestCallLimit(t *testing.T) {
	h := dial(t, "local")
	hold(t, h)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	await.Later(100*time.Millisecond, func() { cancel(errors.New("enough")) })
	if err := h.Call(ctx, wire.OpRun, wire.Schedule{}, nil); err == nil ||
		!strings.Contains(err.Error(), "enough") || h.Err() != nil {
		t.Errorf("%v; %v", err, h.Err())
	}
	g := dial(t, "local")
	hold(t, g)
	if err := g.CallWithin(t.Context(), 200*time.Millisecond, wire.OpRun, wire.Schedule{}, nil); err == nil ||
		!strings.Contains(err.Error(), `did not answer "run" within 200ms`) || g.Err() == nil {
		t.Errorf("%v; %v", err, g.Err())
	}
}

// Two hosts that are slow to end are killed both. That it is at once, TestCloseAllAtOnce says.
func TestCloseAll(t *testing.T) {
	limits := impatient(300*time.Millisecond, time.Hour)
	a, b := dialBad(t, "never ends", limits), dialBad(t, "never ends", limits)
	if err := closed(t, a, nil, b); err == nil || strings.Count(err.Error(), "was killed") != 2 {
		t.Error(err)
	}
}
