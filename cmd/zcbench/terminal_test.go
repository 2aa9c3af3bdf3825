// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/results"
)

// onTerminal runs a command on a terminal and returns all that it showed there.
func onTerminal(t *testing.T, columns int, env []string, line string, words ...string) (status int, shown string) {
	t.Helper()
	term, p := startOnTerminal(t, columns, env, line, words...)
	status = p.Wait(await.Hang)
	return status, term.All(t)
}

func startOnTerminal(t *testing.T, columns int, env []string, line string, words ...string) (*built.Terminal,
	*built.Process) {
	t.Helper()
	term := built.OpenTerminal(t, columns)
	cmd := built.ShellCommand(t, line, words...)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Tty, term.Tty, term.Tty
	cmd.SysProcAttr = term.Leader()
	return term, built.StartCommand(t, cmd)
}

// untilShown is onTerminal for a command that is interrupted when it has shown the word
// twice.
func untilShown(t *testing.T, word string, columns int, env []string, line string, words ...string) (shown string) {
	t.Helper()
	term, p := startOnTerminal(t, columns, env, line, words...)
	if !await.So(func() bool { return strings.Count(term.Shown(), word) >= 2 }) {
		t.Fatalf("no two of %q: %q", word, term.Shown())
	}
	p.Signal(syscall.SIGINT)
	p.Wait(await.Hang)
	return term.All(t)
}

// Every width draws, with a bar: also those that nobody has, and that of a terminal that
// does not know its own.
func TestTerminalWidths(t *testing.T) {
	for columns := range 11 {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			env := []string{fmt.Sprintf("COLUMNS=%d", columns)}
			_, shown := onTerminal(t, columns, env, `exec `+shortRun+` --duration 300ms --repetitions 2 --out "$1"`,
				out)
			finished(t, out, 2)
			if !strings.Contains(shown, "Ctrl-C ends early") || !strings.Contains(shown, "Gbit/s") ||
				strings.Contains(shown, "panic") {
				t.Errorf("showed %q", shown)
			}
		})
	}
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colours are for those who want them, cursor motions for terminals that have a cursor.
func TestTerminalKinds(t *testing.T) {
	const meter = `command=while :; do echo 12.5; sleep 0.1; done`
	for _, x := range []struct {
		env   string
		moves bool
	}{{"TERM=xterm", true}, {"NO_COLOR=1", true}, {"TERM=dumb", false}} {
		t.Run(x.env, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			env := []string{"TERM=xterm", x.env}
			_, shown := onTerminal(t, 80, env, `exec `+shortRun+` --duration 300ms --out "$1"`, out)
			if colour.MatchString(shown) {
				t.Errorf("colours: %q", shown)
			}
			if !x.moves && strings.Contains(shown, "\x1b") {
				t.Errorf("escapes: %q", shown)
			}
			shown = untilShown(t, " 12.50 ", 80, env, `exec zcbench power --duration 10m --every 200ms --source "$1"`,
				meter)
			if strings.Contains(shown, "\x1b[") != x.moves {
				t.Errorf("moves the cursor: %v; showed %q", !x.moves, shown)
			}
		})
	}
}

// Without standard input, output or error nothing that we open takes their place.
func TestClosedStdio(t *testing.T) {
	for _, closed := range []string{"<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			p := built.Shell(t, `exec `+shortRun+` --duration 200ms --repetitions 2 --out "$1" `+closed, out)
			if status := p.Wait(await.Hang); status < 0 || status > 1 {
				t.Errorf("exit status %d: %s%s", status, &p.Out, &p.Err)
			}
			finished(t, out, 2)
			data, err := os.ReadFile(filepath.Join(out, results.JournalFile))
			if err != nil || strings.Contains(string(data), "ROI =") || strings.Count(string(data), "\n") != 5 ||
				runLines(out) != 2 {
				t.Errorf("%v: the journal is %q", err, data)
			}
			if p := built.Shell(t, `exec zcbench version `+closed); p.Wait(await.Hang) != 0 {
				t.Errorf("version: %v", p.ProcessState)
			}
		})
	}
}

// Who may read results is the umask's to say, for every file and folder of them.
func TestUmask(t *testing.T) {
	for _, x := range []struct {
		umask        string
		files, folds os.FileMode
	}{{"077", 0o600, 0o700}, {"027", 0o640, 0o750}, {"002", 0o664, 0o775}, {"022", 0o644, 0o755}} {
		t.Run(x.umask, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "new", "out")
			p := built.Shell(t, `umask `+x.umask+`; `+
				shortRun+` --duration 200ms --out "$1"; zcbench report "$1" && zcbench export --csv --json --benchfmt "$1" &&
				zcbench power --duration 300ms --source "command=echo 1" --csv "$1/watts.csv"`, dir)
			if status := p.Wait(await.Hang); status != 0 {
				t.Fatalf("exit status %d: %s%s", status, &p.Out, &p.Err)
			}
			n := 0
			err := filepath.WalkDir(filepath.Dir(dir), func(path string, d os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				n++
				i, err := d.Info()
				want := x.files
				if d.IsDir() {
					want = x.folds
				}
				if err == nil && i.Mode().Perm() != want {
					t.Errorf("%s: %v, want %v", path, i.Mode().Perm(), want)
				}
				return err
			})
			if err != nil || n < 10 {
				t.Errorf("%d files, %v", n, err)
			}
		})
	}
}

// The demo's lines move and have colours on a terminal that can do so, and its user wants that.
func TestIntegrationDemoOnTerminal(t *testing.T) {
	needRoot(t)
	for _, x := range []struct {
		env             string
		moves, coloured bool
	}{{"NO_COLOR=", true, true}, {"NO_COLOR=1", true, false}, {"TERM=dumb", false, false}} {
		t.Run(x.env, func(t *testing.T) {
			t.Parallel()
			var shown string
			longer(t, 100*time.Millisecond, func(d string) (lacking string) {
				out := filepath.Join(t.TempDir(), d)
				line := `exec zcbench demo --rx tcp --tx tcp,msg-zerocopy --repetitions 1 --duration ` + d +
					` --message-size 1M ` + strings.Join(built.Busy, " ") + ` --out "$1"`
				_, shown = onTerminal(t, 80, []string{"TERM=xterm", x.env}, line, out)
				if strings.Contains(shown, "no payload was transferred") {
					return "payload"
				}
				return ""
			})
			if strings.Contains(shown, "\x1b[K") != x.moves || colour.MatchString(shown) != x.coloured {
				t.Errorf("moves %v, coloured %v: %q", strings.Contains(shown, "\x1b[K"), colour.MatchString(shown),
					shown)
			}
			for _, want := range []string{"Ctrl-C ends early", "CPU s/GB", "ratio", "results: ",
				"report: ", "next:", " lab demo ", " doctor "} {
				if !strings.Contains(strings.Join(strings.Fields(shown), " "), strings.TrimSpace(want)) &&
					!(want == "Ctrl-C ends early" && !x.moves) {
					t.Errorf("no %q in %q", want, shown)
				}
			}
		})
	}
}
