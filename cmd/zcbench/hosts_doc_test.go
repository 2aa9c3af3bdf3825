// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/host/sshtest"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
)

// prompt is a command of docs/hosts.md or docs/hosts-reference.md: where it is typed, and the
// command.
var prompt = regexp.MustCompile(`(?m)^    (hosta|hostb|me)[#$] (.*)$`)

// notRun are the documented commands that would change this machine, ask
// somebody, or need what a test has not.
var notRun = []string{"apt-get install ", "ssh-copy-id ", "systemctl stop irqbalance", "git clone ", "make build && "}

// quick makes measurements short.
var quick = []struct {
	long  *regexp.Regexp
	short string
}{
	{regexp.MustCompile(`--duration \S+`), "--duration 300ms --ramp-up 300ms"},
	{regexp.MustCompile(`^zcbench run `), "zcbench run --pace 2G --gate foreign_cores=off --gate replace=0 "},
	{regexp.MustCompile(`--repetitions \S+`), "--repetitions 1"},
	{regexp.MustCompile(`^zcbench decide `),
		"zcbench decide --rx uring --flows 1 --turn 60ms --duration 300ms --repetitions 1 --gate replace=0 --gate " +
			"foreign_cores=off "},
}

// The commands of docs/hosts.md, then of docs/hosts-reference.md, work as they stand there,
// between two namespaces with an sshd each, whose interfaces are called eth1.
func TestIntegrationHostsDoc(t *testing.T) {
	long.Test(t)
	needRoot(t)
	var text []byte
	for _, page := range []string{"hosts.md", "hosts-reference.md"} {
		b, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	w := newDocHosts(t)
	ran := 0
	for _, m := range prompt.FindAllStringSubmatch(string(text), -1) {
		where, command := m[1], m[2]
		// veth has no queue to take
		if slices.ContainsFunc(notRun, func(s string) bool { return strings.HasPrefix(command, s) }) ||
			strings.Contains(command, "--rx zcrx") {
			continue
		}
		for _, q := range quick {
			command = q.long.ReplaceAllString(command, q.short)
		}
		out, err := w.run(where, command)
		if err != nil && !w.onlyLate(command, string(out)) {
			t.Fatalf("%s: %s: %v\n%s", where, command, err, out)
		}
		t.Logf("%s: %s", where, command)
		ran++
		if strings.Contains(command, "route get") && !strings.Contains(string(out), "dev eth1") {
			t.Errorf("%s: %s", command, out)
		}
	}
	if ran < 12 {
		t.Errorf("only %d commands were found and run", ran)
	}
	for _, f := range []string{"out/first/report.html", "out/all/runs.csv", "out/1cpu/journal.jsonl",
		"out/2cpu/journal.jsonl"} {
		if _, err := os.Stat(filepath.Join(w.dir, f)); err != nil {
			t.Error(err)
		}
	}
}

// docHosts is two hosts with an interface eth1 each that has no address yet, an sshd
// on a management address of its own, and a place beside hostb to type at.
type docHosts struct {
	t     *testing.T
	hosts map[string]*veth.Netns
	dir   string
}

func newDocHosts(t *testing.T) *docHosts {
	pair := newPair(t)
	w := &docHosts{t, map[string]*veth.Netns{"hosta": pair.SUT.Netns, "hostb": pair.TG.Netns, "me": pair.TG.Netns},
		t.TempDir()}
	for name, e := range map[string]veth.End{"hosta": pair.SUT, "hostb": pair.TG} {
		w.must(name, "ip link set "+e.Dev+" down && ip link set "+e.Dev+" name eth1 && ip addr flush dev eth1")
	}
	w.must("hosta", "ip link add eth0 type veth peer name far && ip link set far netns "+pair.TG.Netns.Path()+
		" && ip addr add 192.0.2.1/24 dev eth0 && ip link set eth0 up")
	w.must("hostb", "ip link set far name eth0 && ip addr add 192.0.2.2/24 dev eth0 && ip link set eth0 up")
	s := sshtest.Start(t, pair.SUT.Netns, "192.0.2.1")
	s.Also(pair.TG.Netns, "192.0.2.2")
	conf, err := os.ReadFile(s.Client)
	if err != nil {
		t.Fatal(err)
	}
	s.Write("ssh_config", "Host hosta\n  HostName 192.0.2.1\nHost hostb\n  HostName 192.0.2.2\n"+string(conf))
	t.Setenv("ZCBENCH_SSH", s.SSH())
	t.Setenv("PATH", built.Dir(t)+":"+os.Getenv("PATH"))
	return w
}

func (w *docHosts) run(where, command string) (out []byte, err error) {
	derr := w.hosts[where].Do(func() error {
		cmd := exec.CommandContext(w.t.Context(), "sh", "-c", command)
		cmd.Dir = w.dir
		out, err = cmd.CombinedOutput()
		return nil
	})
	if derr != nil {
		err = derr
	}
	return out, err
}

// onlyLate: all that a measurement has to complain of is other work on this machine.
func (w *docHosts) onlyLate(command, said string) bool {
	w.t.Helper()
	if _, dir, ok := strings.Cut(command, "--out "); ok {
		return onlyLate(w.t, filepath.Join(w.dir, strings.Fields(dir)[0]))
	}
	said = strings.Join(strings.Fields(said), " ")
	return strings.HasPrefix(command, "zcbench run ") && heldUp(said, said) &&
		strings.Contains(said, "1 invalid") && !strings.Contains(said, "failed")
}

func (w *docHosts) must(where, command string) {
	w.t.Helper()
	if out, err := w.run(where, command); err != nil {
		w.t.Fatalf("%s: %s: %v\n%s", where, command, err, out)
	}
}
