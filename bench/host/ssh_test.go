// SPDX-License-Identifier: MIT

package host_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
)

// far is a host behind sshd, and the namespace next to it that the controller is in.
type far struct {
	*sshtest.Server
	pair *veth.Pair
	t    *testing.T
}

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func newFar(t *testing.T, env ...string) *far {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and starts sshd in them")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pair.Close() })
	program(t)
	f := &far{sshtest.Start(t, pair.SUT.Netns, pair.SUT.IPv4.String(), env...), pair, t}
	t.Setenv("ZCBENCH_SSH", f.SSH())
	return f
}

// dial dials from the namespace beside the host's.
func (f *far) dial(spec string, o host.Options) (h *host.Host, err error) {
	if o.Binary == "" {
		o.Binary = program(f.t)
	}
	derr := f.pair.TG.Netns.Do(func() error { h, err = host.Dial(f.t.Context(), spec, o); return nil })
	if derr != nil {
		f.t.Fatal(derr)
	}
	if err == nil {
		f.t.Cleanup(func() { h.Close() })
	}
	return h, err
}

func (f *far) mustDial(spec string) *host.Host {
	f.t.Helper()
	return f.mustDialWith(spec, options())
}

func (f *far) mustDialWith(spec string, o host.Options) *host.Host {
	f.t.Helper()
	h, err := f.dial(spec, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// refused dials, which must fail, and checks the words and that there is a fix.
func (f *far) refused(spec string, words ...string) {
	f.t.Helper()
	f.refusedWith(spec, options(), words...)
}

func (f *far) refusedWith(spec string, o host.Options, words ...string) {
	f.t.Helper()
	_, err := f.dial(spec, o)
	if err == nil {
		f.t.Fatalf("%s: dialled", spec)
	}
	f.t.Logf("%v\n  fix: %s", err, fault.Fix(err))
	for _, w := range append(words, "host "+spec+": ") {
		if !strings.Contains(err.Error(), w) {
			f.t.Errorf("%q lacks %q", err, w)
		}
	}
	if fault.Fix(err) == "" || strings.Contains(err.Error(), "\n") {
		f.t.Errorf("no fix, or not one line: %q", err)
	}
}

// kept are the programs in the far host's cache.
func (f *far) kept() []string {
	out, _ := filepath.Glob(f.Home + "/.cache/zcbench/agent/*/*")
	hidden, _ := filepath.Glob(f.Home + "/.cache/zcbench/agent/*/.*")
	return append(out, hidden...)
}

func TestIntegrationSSH(t *testing.T) {
	f := newFar(t)
	local := dial(t, "local")
	var first os.FileInfo
	for i, spec := range []string{"ssh:root@box", "ssh:" + f.Addr, "ssh://box:22", "ssh:box:22"} {
		h := f.mustDial(spec)
		if h.Spec.Name != spec || h.Info.PID == h.PID() || h.Info.NetNS == local.Info.NetNS || !h.SameMachine(local) {
			t.Errorf("%s: %+v, process %d", spec, h.Info, h.PID())
		}
		// One kernel, one clock: the true offset is 0.
		if o := h.OffsetNs; o > h.UncertaintyNs+1 || -o > h.UncertaintyNs+1 || h.UncertaintyNs <= 0 {
			t.Errorf("%s: offset %d ns, uncertainty %d ns: the truth, 0, is not within", spec, o, h.UncertaintyNs)
		}
		t.Logf("%s: clock offset %d ns, known to within %d ns", spec, h.OffsetNs, h.UncertaintyNs)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		gone(t, h.Info.PID)
		kept := f.kept()
		if len(kept) != 1 {
			t.Fatalf("the cache has %v", kept)
		}
		if st, err := os.Stat(kept[0]); err != nil {
			t.Fatal(err)
		} else if i == 0 {
			first = st
		} else if !os.SameFile(st, first) {
			t.Errorf("%s: the program was copied again", spec)
		}
	}
	if v6 := f.pair.SUT.IPv6; v6 != nil {
		f.refused("ssh:root@"+v6.String(), "ssh: ", "Connection refused") // it listens on IPv4 only
	}
}

// gone waits for a process to end.
func gone(t *testing.T, pid int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
}

func TestIntegrationSSHRefuses(t *testing.T) {
	f := newFar(t).placed()
	t.Run("no such host", func(t *testing.T) {
		f.on(t).refused("ssh:no-such-host.invalid",
			"Could not resolve hostname")
	})
	t.Run("nobody listens", func(t *testing.T) { f.on(t).refused("ssh:box:23", "Connection refused") })
	t.Run("wrong host key", func(t *testing.T) {
		f.KnowHost("other.pub")
		defer f.KnowHost("host_key.pub")
		f.on(t).refused("ssh:box", "Host key verification failed")
	})
	t.Run("unknown host key", func(t *testing.T) {
		f.Write("known_hosts", "")
		defer f.KnowHost("host_key.pub")
		f.on(t).refused("ssh:box", "Host key verification failed")
	})
	t.Run("no key", func(t *testing.T) {
		f.Write("authorized_keys", "")
		defer f.Write("authorized_keys", f.public())
		f.on(t).refused("ssh:box", "Permission denied (publickey)")
	})
	t.Run("other version", func(t *testing.T) {
		_, err := f.on(t).dial("ssh:box", host.Options{ToolVersion: "v9.9.9"})
		if err == nil || !strings.Contains(err.Error(), "versions differ: controller v9.9.9") ||
			!strings.Contains(err.Error(), "agent "+version.Tool()) || fault.Fix(err) == "" {
			t.Errorf("another version: %v", err)
		}
	})
	t.Run("no ssh here", func(t *testing.T) {
		t.Setenv("ZCBENCH_SSH", "no-such-program -F x")
		_, err := f.on(t).dial("ssh:box", options())
		if e := (*host.SpecError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "openssh-client") {
			t.Errorf("no ssh: %v", err)
		}
	})
	t.Run("bad folder", func(t *testing.T) {
		t.Setenv("ZCBENCH_AGENT_DIR", "/tmp/$(reboot)")
		if _, err := f.on(t).dial("ssh:box", options()); err == nil ||
			!strings.Contains(err.Error(), "ZCBENCH_AGENT_DIR") {
			t.Errorf("%v", err)
		}
	})
}

func (f *far) on(t *testing.T) *far { return &far{f.Server, f.pair, t} }

func (f *far) public() string {
	b, err := os.ReadFile(filepath.Join(f.Dir, "id.pub"))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// Hosts on which our program cannot be, or run.
func TestIntegrationSSHHosts(t *testing.T) {
	bin := t.TempDir()
	with := func(extra ...string) []string {
		return append([]string{strings.Replace(path, "PATH=", "PATH="+bin+":", 1)}, extra...)
	}
	fake := func(t *testing.T, name, script string) {
		sshtest.Program(t, bin, name, script)
		t.Cleanup(func() { os.Remove(filepath.Join(bin, name)) })
	}
	f := newFar(t, with()...)
	t.Run("architecture", func(t *testing.T) {
		fake(t, "uname", `case $1 in -m) echo vax;; *) exec /bin/uname "$@";; esac`)
		f.on(t).refused("ssh:box", "Linux/vax")
	})
	t.Run("system", func(t *testing.T) {
		fake(t, "uname", `case $1 in -s) echo FreeBSD;; *) exec /bin/uname "$@";; esac`)
		f.on(t).refused("ssh:box", "FreeBSD/")
	})
	t.Run("kernel", func(t *testing.T) {
		fake(t, "uname", `case $1 in -r) echo 2.6.32-754.el6;; *) exec /bin/uname "$@";; esac`)
		f.on(t).refused("ssh:box", "2.6.32-754.el6", "older than")
	})
	t.Run("no sha256sum", func(t *testing.T) {
		fake(t, "sha256sum", "echo sha256sum: not found >&2; exit 127")
		f.on(t).refused("ssh:box", "copy the program there", "sha256sum: not found")
	})
	if len(f.kept()) != 0 {
		t.Errorf("refused hosts were left %v", f.kept())
	}
	f.placed()
	// Who is not root there gets the agent by sudo -n, if asked.
	t.Run("sudo", func(t *testing.T) {
		fake(t, "id", "echo 1000")
		fake(t, "sudo", `[ "$1 $2" = "-n --" ] || exit 9; shift 2; exec env -u SSH_CONNECTION ZCBENCH_BY=sudo "$@"`)
		h, err := f.on(t).dial("ssh+sudo:box", options())
		if err != nil {
			t.Fatal(err)
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.Info.PID))
		if err != nil || !strings.Contains(string(env), "ZCBENCH_BY=sudo") {
			t.Errorf("the agent does not run by sudo: %v", err)
		}
		if !strings.Contains(string(env), "\x00SSH_CONNECTION="+f.pair.TG.IPv4.String()+" ") {
			t.Errorf("it does not know the connection that sshd told of: %q", env)
		}
	})
	t.Run("sudo wants a password", func(t *testing.T) {
		fake(t, "id", "echo 1000")
		fake(t, "sudo", "echo sudo: a password is required >&2; exit 1")
		f.on(t).refused("ssh+sudo:box", "a password is required")
	})
	t.Run("no sudo", func(t *testing.T) {
		fake(t, "id", "echo 1000")
		fake(t, "sudo", "echo sh: 1: exec: sudo: not found >&2; exit 127")
		f.on(t).refused("ssh+sudo:box", "sudo: not found")
	})
	t.Run("root needs no sudo", func(t *testing.T) {
		fake(t, "sudo", "exit 1")
		f.on(t).mustDial("ssh+sudo:box")
	})
	t.Run("not a shell", func(t *testing.T) {
		f.Write("authorized_keys", `command="echo this account is for git; exit 1" `+f.public())
		defer f.Write("authorized_keys", f.public())
		_, err := f.on(t).dial("ssh:box", options())
		if err == nil || !strings.Contains(err.Error(), "this account is for git") {
			t.Errorf("%v", err)
		}
	})
	t.Run("chatty without end", func(t *testing.T) {
		f.Write("authorized_keys", `command="yes" `+f.public())
		defer f.Write("authorized_keys", f.public())
		_, err := f.on(t).dial("ssh:box", options())
		if err == nil || !strings.Contains(err.Error(), "login shell printed") {
			t.Errorf("%v", err)
		}
	})
}

// A login shell that prints before it does what it is told harms nothing.
func TestIntegrationSSHNoisyShell(t *testing.T) {
	f := newFar(t)
	shell := filepath.Join(f.Dir, "shell")
	sshtest.Program(t, f.Dir, "shell", `printf '{"id":1,"result":{}}\nzcbench-link x ready 0 Linux x86_64 `+
		`6.1\nWelcome, no newline'; exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`)
	os.Chmod(shell, 0o755)
	f.Write("authorized_keys", fmt.Sprintf("command=%q %s", shell, f.public()))
	h := f.mustDial("ssh:box")
	var c wire.Clock
	if err := h.Call(t.Context(), wire.OpClock, nil, &c); err != nil || c.MonotonicNs == 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Every shell that people log in with gets the commands right. The short run takes one of each
// kind.
func TestIntegrationSSHShells(t *testing.T) {
	f := newFar(t)
	shells := []string{"sh", "fish", "tcsh", "bash", "dash", "zsh", "csh", "ksh", "busybox"}
	if !long.Wanted() {
		shells = shells[:3]
	}
	for _, sh := range shells {
		t.Run(sh, func(t *testing.T) {
			p, err := exec.LookPath(sh)
			if err != nil {
				t.Skipf("%s is not installed", sh)
			}
			if sh == "busybox" {
				p += " sh"
			}
			f := f.on(t)
			f.Write("authorized_keys", fmt.Sprintf("command=\"exec %s -c \\\"$SSH_ORIGINAL_COMMAND\\\"\" %s", p,
				f.public()))
			os.RemoveAll(f.Home + "/.cache")
			h, err := f.dial("ssh:box", options())
			if err != nil {
				t.Fatal(err)
			}
			h.Close()
		})
	}
}

// running opens an end on h and lets it wait; the error of the run comes back.
func running(t *testing.T, h *host.Host, addr string) (port string, ended chan error) {
	t.Helper()
	var o wire.Opened
	if err := h.Call(t.Context(), wire.OpOpen,
		wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", MessageBytes: 1 << 16}, Addr: addr,
			Flows: wire.OneFlow(-1)}, &o); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- h.Call(t.Context(), wire.OpRun, wire.Schedule{}, nil) }()
	await.Pause("so that the run is under way; before, its call ends the same", 50*time.Millisecond)
	return o.Addr, ended
}

// A link that breaks in whatever way ends both ends, and the near one says so.
func TestIntegrationSSHLinkLost(t *testing.T) {
	parent := func(pid int) int {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		var ppid int
		_, rest, _ := strings.Cut(string(b), ") ")
		fmt.Sscan(strings.Fields(rest)[1], &ppid)
		return ppid
	}
	f := newFar(t).placed()
	for _, c := range []struct {
		name    string
		sever   func(f *far, h *host.Host)
		want    string
		silence time.Duration
	}{
		{"ssh killed", func(_ *far, h *host.Host) { unix.Kill(h.PID(), unix.SIGKILL) },
			"the connection is lost: ssh: signal: killed", hung},
		{"sshd killed", func(_ *far, h *host.Host) { unix.Kill(parent(h.Info.PID), unix.SIGKILL) },
			"the connection is lost: ssh: ", hung},
		{"agent killed", func(_ *far, h *host.Host) { unix.Kill(h.Info.PID, unix.SIGKILL) },
			"the connection is lost: ssh: ", hung},
		{"link down", func(f *far, _ *host.Host) {
			if err := f.pair.TG.Netns.Do(func() error {
				return exec.Command("ip", "link", "set", f.pair.TG.Dev,
					"down").Run()
			}); err != nil {
				t.Fatal(err)
			}
		}, "the connection is lost: ", 6 * time.Second}, // the usual: before, it must not seem lost
	} {
		t.Run(c.name, func(t *testing.T) {
			f := f.on(t)
			o := options()
			o.SharedWithSSH, o.Limits.Silence = true, c.silence // there is one link
			h := f.mustDialWith("ssh:box", o)
			addr, ended := running(t, h, f.Addr+":0")
			c.sever(f, h)
			err := await.Chan(t, "the end of the run's call", ended)
			if err == nil || !strings.Contains(err.Error(), "host ssh:box: "+c.want) || fault.Fix(err) == "" {
				t.Errorf("the run's call: %v", err)
			}
			t.Log(err)
			gone(t, h.Info.PID)
			err = f.pair.SUT.Netns.Do(func() (err error) {
				await.So(func() bool {
					var l net.Listener
					if l, err = net.Listen("tcp", addr); err == nil {
						l.Close()
					}
					return err == nil
				})
				return err
			})
			if err != nil {
				t.Errorf("the data port is still there: %v", err)
			}
			if err := h.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}
