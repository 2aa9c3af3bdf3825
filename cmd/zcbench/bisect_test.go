// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
)

// bisect is a step of examples/bisect/run.sh by a shell, with commands that say how they end.
type bisect struct {
	shell string
	tmp   string // where it may leave nothing
	env   []string
}

// newBisect has a build, a boot and a run that succeed, and a compare that answers with status
// SELF for the good folder itself, and with SAYS and STATUS for the new one.
func newBisect(t *testing.T, shell string, env ...string) *bisect {
	t.Helper()
	bin, b := t.TempDir(), &bisect{shell: shell, tmp: t.TempDir()}
	for name, script := range map[string]string{
		"make": `[ "$*" = "-s kernelrelease" ] && echo 7.0.0-test`,
		"ssh":  `echo "$RUNS"`,
		"zcbench": `[ "$1 $2 $3" = "compare --ktap /good" ] || exit 2
case $4 in /good) exit "${SELF:-0}" ;; esac
echo "$SAYS"
exit "${STATUS:-0}"`,
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH"), "TMPDIR=" + b.tmp, "BUILD=true", "BOOT=true",
		"GOOD=/good", "HOST=dut", "RUNS=7.0.0-test",
		`RUN=mkdir -p "$NEW"; touch "$NEW/journal.jsonl"`}, env...)
	return b
}

func (b *bisect) start(t *testing.T) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	out = &bytes.Buffer{}
	argv := append(strings.Fields(b.shell), "../../examples/bisect/run.sh")
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return cmd, out
}

// clean says what is left behind.
func (b *bisect) clean(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(b.tmp + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// shells are those that may be a system's sh.
func shells() (out []string) {
	for _, s := range []string{"dash", "bash --posix", "busybox sh"} {
		if _, err := exec.LookPath(strings.Fields(s)[0]); err == nil {
			out = append(out, s)
		}
	}
	return out[:min(len(out), long.Rounds(1, len(out)))]
}

// A kernel is bad when a comparison says so, and only then; what is wrong with the call stops the
// bisect, which takes statuses from 128 on.
func TestBisectStep(t *testing.T) {
	second := `RUN=[ "$RESUME" ] && touch "$NEW/second"; mkdir -p "$NEW"; touch "$NEW/journal.jsonl"`
	for _, x := range []struct {
		env  string // lines
		want int
		says string
	}{
		{"", 0, ""},
		{"STATUS=1\nSAYS=not ok 1 tcp/tcp", 1, "not ok 1 tcp/tcp"},
		{"STATUS=4", 125, ""},
		{"STATUS=125", 125, ""},
		{"STATUS=1\nSAYS=no space left", 255, "zcbench compare ended with 1"},
		{"STATUS=2", 255, "zcbench compare ended with 2"},
		{"SELF=125", 0, ""},
		{"SELF=4", 255, "GOOD=/good has no run that counts"},
		{"SELF=2\nBUILD=echo built", 255, "run.sh: zcbench cannot compare GOOD=/good with itself; the bisect stops"},
		{"BUILD=", 255, "want BUILD, BOOT, RUN and GOOD"},
		{"GOOD=", 255, "want BUILD, BOOT, RUN and GOOD"},
		{"BOOTS=two", 255, "BOOTS=two: want a number"},
		{"BOOTS=0", 255, "BOOTS=0: want a number"},
		{"BOOTS=2\n" + second, 0, ""},
		{"BUILD=exit 2", 125, ""}, // as of make
		{"BUILD=no-such-command", 255, "BUILD: a command is not there"},
		{"BOOT=exit 255", 125, ""}, // as of ssh
		{"BOOT=/dev/null", 255, "BOOT: a command is not there or cannot be run (exit status 126)"},
		{"RUNS=6.9.0", 125, "dut does not run what was built: 7.0.0-test"},
		{"HOST=\nRUNS=", 0, ""},
		{"RUN=true", 125, "nothing was measured"},
		{"RUN=mkdir -p $NEW; touch $NEW/journal.jsonl; exit 1", 0, ""},
		{"RUN=mkdir -p $NEW; touch $NEW/journal.jsonl; exit 124", 0, ""},
		{"RUN=exit 2", 255, "RUN: wrong usage or input (exit status 2)"},
		{"RUN=exit 3", 125, ""},
		{"RUN=exit 255", 125, ""}, // ssh lost the host
		{"RUN=exit 127", 255, "RUN: a command is not there"},
		{"RUN=kill -TERM $$", 143, "RUN was ended by a signal"},
		{"RUN=kill -KILL $$", 125, ""},
	} {
		for _, shell := range shells() {
			b := newBisect(t, shell, strings.Split(x.env, "\n")...)
			cmd, out := b.start(t)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != x.want || !strings.Contains(out.String(), x.says) {
				t.Errorf("%s, %q: exit status %d, want %d, %q\n%s", shell, x.env, got, x.want, x.says, out)
			}
			b.clean(t)
		}
	}
}

// The user's Ctrl-C, and a SIGTERM, stop the bisect, whatever the step makes of it, and nothing
// is left.
func TestBisectStopped(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		for _, shell := range shells() {
			for _, run := range []string{"sleep 60",
				"trap 'exit 1' INT TERM HUP; while :; do sleep .1; done"}[:long.Rounds(1, 2)] {
				began := filepath.Join(t.TempDir(), "began")
				b := newBisect(t, shell, `RUN=touch "$BEGAN"; `+run, "BEGAN="+began)
				cmd, out := b.start(t)
				if !await.So(func() bool { _, err := os.Stat(began); return err == nil }) {
					t.Fatalf("%s: RUN does not begin\n%s", shell, out)
				}
				syscall.Kill(-cmd.Process.Pid, sig)
				cmd.Wait()
				if got := cmd.ProcessState.ExitCode(); got != want {
					t.Errorf("%s, %v, %s: exit status %d, want %d\n%s", shell, sig, run, got, want, out)
				}
				b.clean(t)
			}
		}
	}
}
