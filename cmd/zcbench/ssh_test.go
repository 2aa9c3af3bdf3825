// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/helper"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// twoHosts are two hosts with a link and an sshd each. The controller is beside
// the second one.
type twoHosts struct {
	*sshtest.Server
	pair    *veth.Pair
	sut, tg string
}

func newTwoHosts(t *testing.T) *twoHosts {
	t.Helper()
	needRoot(t)
	built.Dir(t)
	pair := newPair(t)
	manage(t, pair)
	s := sshtest.Start(t, pair.SUT.Netns, "192.0.2.1")
	s.Also(pair.TG.Netns, "192.0.2.2")
	t.Setenv("ZCBENCH_SSH", s.SSH())
	return &twoHosts{s, pair, "ssh:root@192.0.2.1", "ssh:root@192.0.2.2"}
}

// manage gives the two hosts a link for ssh alone.
func manage(t *testing.T, pair *veth.Pair) {
	t.Helper()
	for _, x := range []struct {
		ns      *veth.Netns
		command string
	}{
		{pair.SUT.Netns, "ip link add name ssh0 type veth peer name ssh1 && ip link set ssh1 netns " +
			pair.TG.Netns.Path() + " && ip addr add 192.0.2.1/24 dev ssh0 && ip link set ssh0 up"},
		{pair.TG.Netns, "ip addr add 192.0.2.2/24 dev ssh1 && ip link set ssh1 up"},
	} {
		inNetns(t, x.ns, x.command)
	}
}

// inNetns runs a command of the shell in a namespace, which must succeed.
func inNetns(t *testing.T, ns *veth.Netns, command string) string {
	t.Helper()
	var out []byte
	err := ns.Do(func() (err error) {
		out, err = exec.Command("sh", "-c", command).CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

func (h *twoHosts) start(t *testing.T, args ...string) (p *built.Process) {
	t.Helper()
	if err := h.pair.TG.Netns.Do(func() error { p = built.Start(t, "zcbench", args...); return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// agents are the processes of the program that was copied to the hosts.
func (h *twoHosts) agents() []int {
	var out []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		if exe, _ := os.Readlink(d + "/exe"); strings.HasPrefix(exe, h.Home) {
			pid := 0
			fmt.Sscan(filepath.Base(d), &pid)
			out = append(out, pid)
		}
	}
	return out
}

func (h *twoHosts) run(out, duration string) []string {
	return []string{"run", "--sut", h.sut, "--tg", h.tg, "--rx", "uring", "--tx", "sendfile", "--touch", "verify",
		"--pace", "1G", "--ramp-up", "200ms", "--duration", duration, "--out", out}
}

func TestIntegrationRunSSH(t *testing.T) {
	h := newTwoHosts(t)
	out := filepath.Join(t.TempDir(), "out")
	path := "tg:" + h.pair.TG.Dev + ",sut:" + h.pair.SUT.Dev
	p := h.start(t, append(h.run(out, "400ms"), "--repetitions", "2", "--path", path)...)
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	j := journal(t, out)
	if len(j.Records) != 2 {
		t.Fatalf("%d records", len(j.Records))
	}
	for _, r := range j.Records {
		if r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 || *r.SUT.TotalBytes == 0 ||
			*r.SUT.TotalBytes != *r.TG.TotalBytes {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
		followed(t, r, path)
		if r.SUT.Name != h.sut || r.TG.Name != h.tg || r.SUT.Env.Dev != h.pair.SUT.Dev ||
			r.TG.Env.Dev != h.pair.TG.Dev {
			t.Errorf("SUT %s %s, TG %s %s", r.SUT.Name, r.SUT.Env.Dev, r.TG.Name, r.TG.Env.Dev)
		}
		for _, m := range r.SUT.Metrics {
			if m.Name == "clock_offset_uncertainty_ns" && (m.Value <= 0 || m.Value > 50e6) {
				t.Errorf("the clocks are known to within %v ns", m.Value)
			}
		}
	}
	mustEnd(t, h.agents())

	p = h.start(t, "doctor", "--host", h.sut, "--dev", h.pair.SUT.Dev)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Out.String(), "host "+h.sut) ||
		!strings.Contains(p.Out.String(), h.pair.SUT.IPv4.String()) {
		t.Errorf("doctor: exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	demo := filepath.Join(t.TempDir(), "demo")
	p = h.start(t, "demo", "--sut", h.sut, "--tg", h.tg, "--rx", "tcp", "--tx", "tcp", "--repetitions", "2",
		"--duration", "200ms", "--out", demo)
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, demo)) || len(journal(t, demo).Records) < 3 {
		t.Errorf("demo: exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	if kept, _ := filepath.Glob(h.Home + "/.cache/zcbench/agent/*/*"); len(kept) != 1 {
		t.Errorf("the hosts keep %v", kept)
	}
}

// followed holds that a run read the interfaces of its path, of two hosts with a link between them,
// and took nothing for lost there.
func followed(t *testing.T, r results.Record, path string) {
	t.Helper()
	p := r.SUT.Path
	if p == nil || len(p.Between) != 2 || p.Interfaces[0].Name+","+p.Interfaces[1].Name != path {
		t.Errorf("path %+v; %v", p, r.Warnings)
		return
	}
	for i := range p.Between {
		if s := &p.Between[i]; s.Sent == nil || *s.Sent == 0 || *s.LostLeast > 0 || *s.LostMost < 0 ||
			*s.UntoldLeast > 0 {
			t.Errorf("%s: %+v", p.Step(s), s)
		} else {
			t.Logf("%s: %d sent, skew %d, lost %d to %d", p.Step(s), *s.Sent, *s.Skew, *s.LostLeast, *s.LostMost)
		}
	}
}

// A source that needs the helper finds it on a host that never had it: there the
// helper says what only it can say.
func TestIntegrationSSHHelper(t *testing.T) {
	long.Test(t)
	h := newTwoHosts(t)
	path := filepath.Join(built.Dir(t), helper.NVML)
	cmd := exec.Command("go", "build", "-o", path, "github.com/zcbench/zcbench/cmd/zcnvml")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer os.Remove(path)
	p := h.start(t, "run", "--sut", h.sut, "--tg", h.tg, "--power", "sut:nvml", "--duration", "200ms")
	got := p.Wait(await.Hang)
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has GPUs")
	}
	if got != 2 || !strings.Contains(p.Err.String(), "power source nvml: dlopen libnvidia-ml.so.1") {
		t.Errorf("exit status %d\n%s", got, &p.Err)
	}
	if kept, _ := filepath.Glob(h.Home + "/.cache/zcbench/agent/*/zcnvml"); len(kept) != 1 {
		t.Errorf("the host has %v", kept)
	}
}

// The doctor brings zcgpu to a host that never had it, whose rungs of GPUs are made by it.
func TestIntegrationSSHDoctorHelper(t *testing.T) {
	h := newTwoHosts(t)
	b, err := os.ReadFile(filepath.Join(built.Dir(t), "zcrecv"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(built.Dir(t), helper.GPU) // any program of this machine's kind
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	p := h.start(t, "doctor", "--host", h.sut)
	got := p.Wait(await.Hang)
	if kept, _ := filepath.Glob(h.Home + "/.cache/zcbench/agent/*/" + helper.GPU); got != 0 || len(kept) != 1 {
		t.Errorf("exit status %d, the host has %v\n%s", got, kept, &p.Err)
	}
	if err := os.Chmod(path, 0o757); err != nil {
		t.Fatal(err)
	}
	p = h.start(t, "doctor", "--host", h.sut)
	if got := p.Wait(await.Hang); got != 0 || !strings.Contains(p.Err.String(), "GPUs cannot be tried: ") {
		t.Errorf("one that everybody writes: exit status %d\n%s", got, &p.Err)
	}
}

// sshOf are the ssh processes of p, the SUT's first.
func (h *twoHosts) sshOf(t *testing.T, p *built.Process) []int {
	t.Helper()
	out := make([]int, 2)
	for _, pid := range agentsOf(t, p) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		for i, dest := range []string{h.sut, h.tg} {
			if strings.Contains(string(b), "\x00"+strings.TrimPrefix(dest, "ssh:")+"\x00") {
				out[i] = pid
			}
		}
	}
	return out
}

// waitForFlow waits until the SUT has received so many bytes more.
func waitForFlow(t *testing.T, pair *veth.Pair, bytes int64) {
	t.Helper()
	read := func() (n int64) {
		pair.SUT.Netns.Do(func() error {
			b, _ := os.ReadFile("/proc/thread-self/net/dev")
			for line := range strings.Lines(string(b)) {
				if name, rest, _ := strings.Cut(strings.TrimSpace(line), ":"); name == pair.SUT.Dev {
					fmt.Sscan(rest, &n)
				}
			}
			return nil
		})
		return n
	}
	before := read()
	await.Until(t, "a flow", func() bool { return read() >= before+bytes })
}

// waitForConnection waits until the agents of both hosts are connected with each other.
// What their interface has received says nothing: the agents came that way.
func (h *twoHosts) waitForConnection(t *testing.T) {
	t.Helper()
	connected := func(pid int) bool { return built.Has(pid, built.Established) }
	await.Until(t, "a flow", func() bool {
		all := h.agents()
		return len(all) == 2 && connected(all[0]) && connected(all[1])
	})
}

// heldUp reports whether a run is invalid for the reason that its ends did not get their
// CPUs in time: they were late, or had none of a short window and others did.
func heldUp(reason, warnings string) bool {
	return strings.Contains(reason, "its edges ") ||
		strings.Contains(reason, "no payload was transferred in the window") &&
			strings.Contains(warnings, "foreign load")
}

// onlyLate reports whether all that is bad in a session's runs is that other work kept
// the CPUs from their windows, or turns.
func onlyLate(t *testing.T, out string) bool {
	t.Helper()
	lates := 0
	for _, r := range journal(t, out).Records {
		late := r.Verdict == results.Invalid && (heldUp(r.Reason, strings.Join(r.Warnings, " ")) ||
			r.Turns != nil && r.Spoilt())
		if r.Verdict != results.OK && !late {
			return false
		}
		if late {
			lates++
		}
		t.Logf("%s: %s %s", r.Cell.ID, r.Verdict, r.Reason)
	}
	return lates > 0
}

// mustBeInTime wants so many runs of a session that nothing kept from their CPUs: what a test sees
// in windows is seen in those.
func mustBeInTime(t *testing.T, out string, least int) {
	t.Helper()
	inTime := 0
	for _, r := range journal(t, out).Records {
		if r.Verdict == results.OK {
			inTime++
		}
	}
	if inTime < least {
		t.Errorf("%d runs were in time, and at least %d must be", inTime, least)
	}
}

// settings are what a layout sets on both hosts.
func (h *twoHosts) settings(t *testing.T) string {
	t.Helper()
	var both []string
	for _, e := range []veth.End{h.pair.SUT, h.pair.TG} {
		err := e.Netns.Do(func() error {
			out, err := exec.Command("unshare", "-m", "sh", "-c",
				"mount -t sysfs sysfs /sys && cat /sys/class/net/"+e.Dev+"/queues/rx-0/rps_cpus").Output()
			both = append(both, strings.TrimSpace(string(out)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(both, " ")
}

// Whatever is killed in the middle of a run: all ends long before the run would, and the
// controller, if it lives, says what happened and has it in the journal. What was set on the
// hosts is as it was.
func TestIntegrationRunSSHKilled(t *testing.T) {
	for _, who := range []string{"controller", "SUT's ssh", "TG's ssh"}[:long.Rounds(1, 3)] {
		t.Run(who, func(t *testing.T) {
			h := newTwoHosts(t)
			out := filepath.Join(t.TempDir(), "out")
			found := h.settings(t)
			p := h.start(t, append(h.run(out, "10m"), "--layout", "1cpu")...)
			h.waitForConnection(t)
			if h.settings(t) == found {
				t.Error("the layout set nothing")
			}
			agents, ssh := h.agents(), h.sshOf(t, p)
			if len(agents) != 2 || ssh[0] == 0 || ssh[1] == 0 {
				t.Fatalf("agents %v, ssh %v", agents, ssh)
			}
			switch who {
			case "SUT's ssh":
				unix.Kill(ssh[0], unix.SIGKILL)
			case "TG's ssh":
				unix.Kill(ssh[1], unix.SIGKILL)
			default:
				p.Signal(syscall.SIGKILL)
			}
			got := p.Wait(await.Hang)
			mustEnd(t, agents)
			if now := h.settings(t); now != found {
				t.Errorf("the hosts have RPS %s, had %s", now, found)
			}
			if who == "controller" {
				mustEnd(t, ssh)
				return
			}
			if got != 1 || !strings.Contains(p.Err.String(), "the connection is lost") ||
				!strings.Contains(p.Err.String(), "fix: ") {
				t.Errorf("exit status %d\n%s%s", got, &p.Out, &p.Err)
			}
			recs := journal(t, out).Records
			if len(recs) != 1 || recs[0].Verdict != results.Failed || !strings.Contains(recs[0].Reason,
				who[:strings.Index(who, "'")]+": host ssh:root@192.0.2.") {
				t.Errorf("records: %+v", recs)
			}
		})
	}
}
