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
	"github.com/zcbench/zcbench/results"
)

// shortRun is a run on this machine alone, which needs no rights and leaves the CPUs to
// others.
const shortRun = `zcbench run --sut local --tg local --ramp-up 100ms --ramp-down 50ms --sample-interval 0 --pace 1G --message-size 128K --gate foreign_cores=off --gate replace=0`

// underWay waits until a session of this machine has a journal and a run of it flows: its
// agents have sockets of the Internet that are connected. They are those that it returns.
func underWay(t *testing.T, p *built.Process, out string) (agents []int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(out, results.JournalFile))
		if agents = agentsOf(t, p); len(data) > 0 && len(agents) == 2 && built.Has(agents[0], built.Established) && built.Has(agents[1], built.Established) {
			return agents
		}
	}
	t.Fatal("no run began")
	return nil
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
			out, duration := filepath.Join(t.TempDir(), "out"), "1m"
			if x.goesOn {
				duration = "800ms"
			}
			p := built.Shell(t, x.before+`exec `+shortRun+` --duration "$2" --repetitions 2 --out "$1"`, out, duration)
			agents := underWay(t, p, out)
			p.Signal(x.signal)
			if x.signal == syscall.SIGHUP {
				for _, a := range agents {
					syscall.Kill(a, x.signal)
				}
			}
			status := p.Wait(30 * time.Second)
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
	term := built.OpenTerminal(t, 80)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	table, err := os.Create(filepath.Join(dir, "table"))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	cmd := built.ShellCommand(t, `trap '' HUP; exec `+shortRun+` --duration 800ms --repetitions 2 --out "$1"`, out)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Tty, table, term.Tty
	cmd.SysProcAttr = term.Leader()
	p := built.StartCommand(t, cmd)
	underWay(t, p, out)
	term.Close()
	p.Wait(30 * time.Second)
	finished(t, out, 2)
	if shown, err := os.ReadFile(table.Name()); err != nil || !strings.Contains(string(shown), "Gbit/s") {
		t.Errorf("%v: %s", err, shown)
	}
	if !strings.Contains(term.Shown(), "2 runs") {
		t.Errorf("the terminal showed %q", term.Shown())
	}
}

// The tee that took the output of a session under nohup goes with the terminal.
func TestLostPipe(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := built.ShellCommand(t, `trap '' HUP; exec `+shortRun+` --duration 500ms --repetitions 2 --out "$1"`, out)
	cmd.Stdout, cmd.Stderr = w, w
	p := built.StartCommand(t, cmd)
	w.Close()
	underWay(t, p, out)
	r.Close()
	if status := p.Wait(30 * time.Second); status != 1 {
		t.Errorf("exit status %d: the table is lost, and that is no success", status)
	}
	finished(t, out, 2)
	if _, err := os.Stat(filepath.Join(out, results.ReportFile)); err != nil {
		t.Error(err)
	}
}
