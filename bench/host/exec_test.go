// SPDX-License-Identifier: MIT

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// command is a host of the test's own that a command leads to: a home in which the program
// finds itself.
type command struct {
	t         *testing.T
	dir, home string
}

func newCommand(t *testing.T) *command {
	t.Helper()
	c := &command{t: t, dir: t.TempDir(), home: t.TempDir()}
	t.Setenv("HOME", c.home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("ZCBENCH_AGENT_DIR", "")
	return c
}

// leads makes a command of a shell's script, which has the far words in $@.
func (c *command) leads(script string) (spec string) {
	c.t.Helper()
	name := filepath.Join(c.dir, "join")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		c.t.Fatal(err)
	}
	return "exec:" + name + " -i --"
}

// runsWords is the script of a command that runs its words.
const runsWords = `shift 2; exec "$@"`

func (c *command) dial(spec string, o host.Options) (*host.Host, error) {
	if o.Binary == "" {
		o.Binary = program(c.t)
	}
	h, err := host.Dial(c.t.Context(), spec, o)
	if err == nil {
		c.t.Cleanup(func() { h.Close() })
	}
	return h, err
}

func (c *command) mustDial(spec string, o host.Options) *host.Host {
	c.t.Helper()
	h, err := c.dial(spec, o)
	if err != nil {
		c.t.Fatalf("%s: %v; fix: %s", spec, err, fault.Fix(err))
	}
	return h
}

// placed puts the program where it would be after a first start, for tests that are not about
// copying it.
func (c *command) placed() *command {
	(&far{Server: &sshtest.Server{Home: c.home}, t: c.t}).placed()
	return c
}

func (c *command) kept() []string {
	out, _ := filepath.Glob(c.home + "/.cache/zcbench/agent/*/*")
	return out
}

// A command joins us to an agent of our own, which it gets once; also one that joins its words
// for a far shell, and one whose output is a terminal's, as that of srun -u is.
func TestExec(t *testing.T) {
	c := newCommand(t)
	for _, script := range []string{runsWords, `shift 2; exec sh -c "$*"`,
		`shift 2; echo "a note of mine" >&2; "$@" | sed -u 's/$/\r/'`} {
		spec := c.leads(script)
		h := c.mustDial(spec, options())
		if h.Spec.Name != spec || h.Info.PID == 0 {
			t.Errorf("%+v", h.Info)
		}
		if o := h.OffsetNs; o > h.UncertaintyNs+1 || -o > h.UncertaintyNs+1 || h.UncertaintyNs <= 0 {
			t.Errorf("offset %d ns, uncertainty %d ns: the truth, 0, is not within", o, h.UncertaintyNs)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		gone(t, h.Info.PID)
		if kept := c.kept(); len(kept) != 1 {
			t.Fatalf("%s: the cache has %v", script, kept)
		}
	}
}

// Where the far PATH has the same build, nothing is copied; another build, and one that others
// could change, are let alone.
func TestExecFoundThere(t *testing.T) {
	bin, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		mode   os.FileMode
		more   string
		copied int
	}{"the same": {0o755, "", 0}, "of others": {0o757, "", 1}, "another build": {0o755, "x", 1}} {
		t.Run(name, func(t *testing.T) {
			c := newCommand(t)
			file := filepath.Join(c.dir, "zcbench")
			if err := os.WriteFile(file, append(bytes.Clone(bin), x.more...), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, x.mode); err != nil {
				t.Fatal(err)
			}
			h := c.mustDial(c.leads("PATH="+c.dir+":$PATH; "+runsWords), options())
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.Info.PID))
			if kept := c.kept(); len(kept) != x.copied || err != nil || (exe == file) != (x.copied == 0) {
				t.Errorf("copied %v; it runs %s (%v)", kept, exe, err)
			}
		})
	}
}

// A command whose words end with an agent gets no shell's script, and copies nothing.
func TestExecAgentItself(t *testing.T) {
	c := newCommand(t)
	if err := os.Symlink(program(t), filepath.Join(c.dir, "zcbench")); err != nil {
		t.Fatal(err)
	}
	h := c.mustDial(c.leads(runsWords)+" "+filepath.Join(c.dir, "zcbench")+" agent", options())
	if len(c.kept()) != 0 {
		t.Errorf("copied: %v", c.kept())
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// What keeps a command from being a host, and what to do about it, on one line.
func TestExecRefuses(t *testing.T) {
	c := newCommand(t).placed()
	for script, want := range map[string][]string{
		`echo 'Welcome to \033[31mthis host'; ` + runsWords: {"something before our program's words",
			"Welcome", "that is the agent's alone"},
		`shift 2; exec "$@" </dev/null`: {
			"the agent ended at once: it was given no input", "need -i"},
		`echo "srun: error: Invalid node name specified" >&2; exit 1`: {
			"join: exit status 1: srun: error: Invalid node name", "sinfo"},
		`printf '\033]0;x\007bad \302\233 words\n' >&2; exit 3`: {"join: exit status 3: ]0;xbad", ""},
		`exit 0`:                     {"the remote shell exited without a message", ""},
		`echo I am no shell; exit 0`: {"it printed: I am no shell", ""},
		`echo 'stat /bin/sh: exec: "/bin/sh": no such file' >&2; exit 126`: {"exit status 126", "zcbench agent"},
		`shift 2; exec script -qec "$(printf '%s ' "$1" "$2")'$3'" /dev/null`: {"its standard input is a terminal",
			"--pty"},
	} {
		_, err := c.dial(c.leads(script), options())
		if err == nil {
			t.Errorf("%s: dialled", script)
			continue
		}
		if !strings.Contains(err.Error(), want[0]) || !strings.Contains(err.Error(), want[len(want)-2]) ||
			!strings.Contains(fault.Fix(err), want[len(want)-1]) || strings.ContainsAny(err.Error(), "\n\x1b\x07") {
			t.Errorf("%s: %v\n  fix: %s\n  want %q", script, err, fault.Fix(err), want)
		}
	}
	if _, err := c.dial("exec:no-such-program-here -x", options()); err == nil ||
		!strings.Contains(err.Error(), "no-such-program-here") {
		t.Errorf("%v", err)
	}
}

// A program that is copied through a command without input is none: it says so.
func TestExecCopiesNothing(t *testing.T) {
	c := newCommand(t)
	_, err := c.dial(c.leads(`shift 2; exec "$@" </dev/null`), options())
	if err == nil || !strings.Contains(err.Error(), "did not arrive as it was sent") ||
		!strings.Contains(fault.Fix(err), "need -i") || len(c.kept()) != 0 {
		t.Errorf("%v; fix: %s; kept %v", err, fault.Fix(err), c.kept())
	}
}

// A command that is killed, which leaves the agent behind with its input open as srun does, and
// one whose agent is: the near end says so at once, and the agent ends by its silence.
func TestExecLost(t *testing.T) {
	c := newCommand(t).placed()
	in, out := filepath.Join(c.dir, "in"), filepath.Join(c.dir, "out") // what the command relays, as srun does
	o := options()
	o.Limits.Silence = 0 // the usual: before, and afterwards, it must not seem lost
	for name, sever := range map[string]func(h *host.Host){
		"command killed": func(h *host.Host) { unix.Kill(-h.PID(), unix.SIGKILL) },
		"agent killed":   func(h *host.Host) { unix.Kill(h.Info.PID, unix.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &command{t, c.dir, c.home}
			for _, fifo := range []string{in, out} {
				if err := unix.Mkfifo(fifo, 0o600); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(fifo)
				holder, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that neither ever ends
				if err != nil {
					t.Fatal(err)
				}
				defer holder.Close()
			}
			spec := c.leads(`shift 2; exec 3<&0; setsid "$@" <` + in + ` >` + out + ` & p=$!; cat <&3 >` + in +
				` & a=$!; cat <` + out + ` & b=$!; wait $p; s=$?; kill $a $b; exit $s`)
			h := c.mustDial(spec, o)
			sever(h)
			await.Until(t, "that the loss is noticed", func() bool { return h.Err() != nil })
			if err := h.Err(); err == nil || !strings.Contains(err.Error(), "the connection is lost: join: ") ||
				!strings.Contains(fault.Fix(err), "zcbench restore --host 'exec:") {
				t.Errorf("%v; fix: %s", err, fault.Fix(err))
			}
			gone(t, h.Info.PID)
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if err := h.Revive(t.Context()); err != nil {
				t.Errorf("it is not had again: %v", err)
			}
			unix.Kill(h.Info.PID, unix.SIGKILL) // it would not hear of the end of its input
			h.Close()
		})
	}
}

// What a command says while it is waited for stands beside that it does not answer.
func TestExecWaits(t *testing.T) {
	c := newCommand(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := filepath.Join(c.dir, "said")
	go func() {
		await.So(func() bool { _, err := os.Stat(said); return err == nil })
		cancel() // the user's patience ends
	}()
	_, err := host.Dial(ctx,
		c.leads(`echo "srun: Job 7 step creation temporarily disabled, retrying (Requested nodes are busy)" >&2; >`+
			said+`; exec sleep 600`), options())
	if err == nil || !strings.Contains(err.Error(), "join said: srun: Job 7 step creation temporarily disabled") ||
		!strings.Contains(fault.Fix(err), "--overlap") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

// The agent knows that nothing comes by a network where the command's processes are the
// controller's own, and what it does not know it says.
func TestExecGuard(t *testing.T) {
	c := newCommand(t).placed()
	for script, want := range map[string]string{runsWords: "ok",
		`shift 2; exec 3<&0; setsid -f sh -c '"$@" <&3; echo done >&2' x "$@" ; cat /dev/null; sleep 2`: "warn"} {
		h := c.mustDial(c.leads(script), options())
		var checks []wire.Check
		if err := h.Call(t.Context(), wire.OpCheck, wire.ModesParams{Dev: "lo"}, &checks); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(checks, func(k wire.Check) bool { return k.Name == doctor.CheckSSH })
		if at < 0 || checks[at].Status != want {
			t.Errorf("%s: want %s of check %d of %+v", script, want, at, checks)
		}
		h.Close()
	}
}
