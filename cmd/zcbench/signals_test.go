// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/results"
)

// shortRun is a run on this machine alone, which needs no rights and leaves the CPUs to
// others.
const shortRun = `zcbench run --sut local --tg local --ramp-up 100ms --ramp-down 50ms --sample-interval 0 --pace ` +
	`1G --message-size 128K --gate foreign_cores=off --gate replace=0`

// underWay waits until a session of this machine has a journal and a run of it flows: its
// agents have sockets of the Internet that are connected. They are those that it returns; none
// where the session has ended before that was seen.
func underWay(t *testing.T, p *built.Process, out string) (agents []int) {
	t.Helper()
	await.Until(t, "a run that flows", func() bool {
		data, _ := os.ReadFile(filepath.Join(out, results.JournalFile))
		agents = agentsOf(t, p)
		return !running(p.Process.Pid) || len(data) > 0 && len(agents) == 2 &&
			built.Has(agents[0], built.Established) && built.Has(agents[1], built.Established)
	})
	if !running(p.Process.Pid) {
		return nil
	}
	return agents
}

// struck starts a session of two runs and does something to it and to its agents while a run flows.
// On a busy machine the session may have made both runs by then: it is started anew, with
// longer runs.
func struck(t *testing.T, start func(out, duration string) *built.Process,
	strike func(p *built.Process, agents []int)) (p *built.Process, out string) {
	t.Helper()
	for d := 800 * time.Millisecond; d <= longest; d *= 2 {
		out = filepath.Join(t.TempDir(), "out")
		p = start(out, d.String())
		if agents := underWay(t, p, out); agents != nil {
			if strike(p, agents); runLines(out) < 2 {
				return p, out
			}
		}
		p.Process.Kill()
		p.Wait(await.Hang)
		t.Logf("two runs of %v were over before they were seen", d)
	}
	t.Fatal("no run was seen")
	return nil, ""
}

// finished requires that a session came to its end, with so many runs of which none was
// called off.
func finished(t *testing.T, out string, runs int) {
	t.Helper()
	j := journal(t, out)
	for _, r := range j.Records {
		if strings.Contains(r.Reason, "interrupt") || r.Verdict == results.Failed {
			t.Errorf("%s: %s: %s", r.RunID, r.Verdict, r.Reason)
		}
	}
	if len(j.Records) != runs {
		t.Errorf("%d runs of %d", len(j.Records), runs)
	}
}

// A session that is started by nohup ends neither with SIGHUP to it nor to its agents; one
// without ends as ever. So with SIGINT, which shells ignore for what they start with &.
func TestIgnoredSignals(t *testing.T) {
	for _, x := range []struct {
		name, before string
		signal       syscall.Signal
		goesOn       bool
	}{
		{"nohup", "trap '' HUP; ", syscall.SIGHUP, true},
		{"background", "trap '' INT; ", syscall.SIGINT, true},
		{"hangup", "", syscall.SIGHUP, false},
		{"interrupt", "", syscall.SIGINT, false},
		{"nohup, Ctrl-C", "trap '' HUP; ", syscall.SIGINT, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p, out := struck(t, func(out, duration string) *built.Process {
				if !x.goesOn {
					duration = "10m"
				}
				return built.Shell(t, x.before+`exec `+shortRun+` --duration "$2" --repetitions 2 --out "$1"`, out,
					duration)
			}, func(p *built.Process, agents []int) {
				p.Process.Signal(x.signal) // which has ended if it cannot: struck sees that
				if x.signal == syscall.SIGHUP {
					for _, a := range agents {
						syscall.Kill(a, x.signal)
					}
				}
			})
			status := p.Wait(await.Hang)
			if x.goesOn {
				finished(t, out, 2)
			} else if status != 1 || !strings.Contains(p.Err.String(), "signal received") {
				t.Errorf("exit status %d: %s%s", status, &p.Out, &p.Err)
			}
		})
	}
}

// A terminal that goes away while its programs ignore SIGHUP: what they say goes nowhere,
// and what they do goes on.
func TestLostTerminal(t *testing.T) {
	var term *built.Terminal
	table := filepath.Join(t.TempDir(), "table")
	p, out := struck(t, func(out, duration string) *built.Process {
		term = built.OpenTerminal(t, 80)
		f, err := os.Create(table)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		cmd := built.ShellCommand(t, `trap '' HUP; exec `+shortRun+` --duration "$2" --repetitions 2 --out "$1"`, out,
			duration)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Tty, f, term.Tty
		cmd.SysProcAttr = term.Leader()
		return built.StartCommand(t, cmd)
	}, func(*built.Process, []int) { term.Close() })
	p.Wait(await.Hang)
	finished(t, out, 2)
	if shown, err := os.ReadFile(table); err != nil || !strings.Contains(string(shown), "Gbit/s") {
		t.Errorf("%v: %s", err, shown)
	}
	if !strings.Contains(term.Shown(), "2 runs") {
		t.Errorf("the terminal showed %q", term.Shown())
	}
}

// The tee that took the output of a session under nohup goes with the terminal.
func TestLostPipe(t *testing.T) {
	var r *os.File
	p, out := struck(t, func(out, duration string) *built.Process {
		var w *os.File
		var err error
		if r, w, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		cmd := built.ShellCommand(t, `trap '' HUP; exec `+shortRun+` --duration "$2" --repetitions 2 --out "$1"`, out,
			duration)
		cmd.Stdout, cmd.Stderr = w, w
		return built.StartCommand(t, cmd)
	}, func(*built.Process, []int) { r.Close() })
	if status := p.Wait(await.Hang); status != 1 {
		t.Errorf("exit status %d: the table is lost, and that is no success", status)
	}
	finished(t, out, 2)
	if _, err := os.Stat(filepath.Join(out, results.ReportFile)); err != nil {
		t.Error(err)
	}
}
