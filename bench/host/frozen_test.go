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
	"github.com/zcbench/zcbench/internal/long"
	"golang.org/x/sys/unix"
)

// dialImpatient is dial with limits for tests.
func dialImpatient(t *testing.T, l host.Limits) *host.Host {
	t.Helper()
	o := options()
	o.Limits = l
	h, err := host.Dial(t.Context(), "local", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

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

// cpu is the CPU time of this process so far.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// An agent that says without end that it is about to end neither delays the end nor
// keeps the controller busy, whether it holds something or not, and whether that
// comes at its end or before.
func TestEndingFlood(t *testing.T) {
	for _, how := range []string{"floods", "floods at its end"} {
		for _, holds := range []bool{false, true} {
			t.Run(how, func(t *testing.T) {
				h := dialBad(t, how, host.Limits{End: 500 * time.Millisecond})
				if holds {
					hold(t, h)
				}
				if how == "floods" {
					if err := unix.Kill(h.PID(), unix.SIGUSR1); err != nil {
						t.Fatal(err)
					}
					for end := time.Now().Add(20 * time.Second); h.Err() == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
					}
				}
				begin, spent := time.Now(), cpu(t)
				err := h.Close()
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
				if spent := cpu(t) - spent; spent > 2*time.Second {
					t.Errorf("%v of CPU time", spent)
				}
				if how == "floods" {
					err = h.Err()
				}
				if err == nil || !strings.Contains(err.Error(), "it keeps announcing its end without ending") && !strings.Contains(err.Error(), "was killed") || fault.Fix(err) == "" {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// Who holds nothing that would have to be taken back is not waited for, however
// politely it asks; who does, not for ever.
func TestCloseOfWhoNeverEnds(t *testing.T) {
	for holds, most := range map[bool]time.Duration{false: 2500 * time.Millisecond, true: 5 * time.Second} {
		t.Run(fmt.Sprintf("holds %v", holds), func(t *testing.T) {
			t.Parallel() // it waits
			h := dialBad(t, "never ends", host.Limits{End: 1200 * time.Millisecond, Change: 3 * time.Second})
			if holds {
				hold(t, h)
			}
			begin := time.Now()
			err := h.Close()
			took := time.Since(begin)
			if took > most || holds && took < 2500*time.Millisecond {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "was killed") || !strings.Contains(fault.Fix(err), "zcbench restore") {
				t.Error(err)
			}
		})
	}
}

// A frozen agent of this machine is noticed, whoever waits for it, and Close does
// not wait.
func TestFrozenAgent(t *testing.T) {
	h := dialImpatient(t, host.Limits{Silence: 2 * time.Second, Alive: 100 * time.Millisecond})
	unix.Kill(h.PID(), unix.SIGSTOP)
	begin := time.Now()
	err := h.Call(t.Context(), wire.OpModes, nil, nil)
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	if err == nil || !strings.Contains(err.Error(), "host local: the agent is lost: no answer for 2s") || !strings.Contains(fault.Fix(err), "zcbench restore") {
		t.Errorf("%v, fix %q", err, fault.Fix(err))
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(begin); d > 30*time.Second || alive(h.PID()) {
		t.Errorf("closed after %v; it lives: %v", d, alive(h.PID()))
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
	for range long.Rounds(2, 5) {
		unix.Kill(cmd.Process.Pid, unix.SIGSTOP)
		time.Sleep(patience + patience/3)
		unix.Kill(cmd.Process.Pid, unix.SIGCONT)
		time.Sleep(patience / 3) // for some of its turns
	}
	in.Write([]byte("\n"))
	if line, _ := said.ReadString('\n'); line != "<nil>\n" {
		t.Error(line)
	}
}

// The caller's own end leaves the agent alone, a limit that has passed does not.
func TestCallLimit(t *testing.T) {
	h := dialImpatient(t, host.Limits{})
	hold(t, h)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := h.Call(ctx, wire.OpRun, wire.Schedule{}, nil); err == nil || !strings.Contains(err.Error(), "enough") || h.Err() != nil {
		t.Errorf("%v; %v", err, h.Err())
	}
	g := dialImpatient(t, host.Limits{})
	hold(t, g)
	if err := g.CallWithin(t.Context(), 200*time.Millisecond, wire.OpRun, wire.Schedule{}, nil); err == nil || !strings.Contains(err.Error(), `did not answer "run" within 200ms`) || g.Err() == nil {
		t.Errorf("%v; %v", err, g.Err())
	}
}

// Two hosts that are slow to end are so at once.
func TestCloseAll(t *testing.T) {
	t.Parallel() // it waits
	limits := host.Limits{End: 2500 * time.Millisecond}
	a, b := dialBad(t, "never ends", limits), dialBad(t, "never ends", limits)
	begin := time.Now()
	if err := host.CloseAll(a, nil, b); err == nil || strings.Count(err.Error(), "was killed") != 2 {
		t.Error(err)
	}
	if took := time.Since(begin); took >= 2*limits.End {
		t.Errorf("took %v", took)
	}
}
