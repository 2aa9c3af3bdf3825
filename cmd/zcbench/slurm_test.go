// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host/slurmtest"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// inSlurm is a Slurm of two nodes that a link joins, with another one for Slurm itself. What
// sbatch starts has the commands in its PATH, and a home of its own.
type inSlurm struct {
	*slurmtest.Cluster
	pair *veth.Pair
	home string
}

func newInSlurm(t *testing.T) *inSlurm {
	t.Helper()
	needRoot(t)
	dir := built.Dir(t)
	pair := newPair(t)
	manage(t, pair)
	// As on nodes of one kind, --dev is the same name on both, whichever is the SUT.
	inNetns(t, pair.TG.Netns,
		fmt.Sprintf("ip link set %[1]s down && ip link set %[1]s name %[2]s && ip link set %[2]s up", pair.TG.Dev,
			pair.SUT.Dev))
	pair.TG.Dev = pair.SUT.Dev
	s := &inSlurm{pair: pair, home: t.TempDir()}
	t.Setenv("HOME", s.home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s.Cluster = slurmtest.Start(t, pair.SUT.Netns, pair.TG.Netns, "192.0.2.1", "192.0.2.2")
	t.Setenv("SLURM_CONF", s.Conf())
	return s
}

// submit submits the script of the examples for pairs of nodes, with a plan whose layout sets
// something on both hosts.
func (s *inSlurm) submit(t *testing.T, pairs, duration, out string) (job string) {
	t.Helper()
	plan := fmt.Sprintf(`name: pairs
factors: {rx: [tcp, uring], tx: tcp, cpu_layout: 1cpu}
duration: %s
ramp_up: 100ms
warmup: false
repetitions: 2
order: blocks
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, replace: 0}
`, duration)
	file := filepath.Join(s.Dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.submitPlan(t, pairs, file, out)
}

// submitPlan submits the script of the examples for pairs of nodes.
func (s *inSlurm) submitPlan(t *testing.T, pairs, plan, out string) (job string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, "pairs.txt"), []byte("# a note\n"+pairs), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../examples/slurm/zcbench-pairs.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	return s.Run("sbatch", "--parsable", "--nodelist=n[1-2]",
		fmt.Sprintf("--array=0-%d%%1", strings.Count(pairs, "\n")-1), "--output="+s.Dir+"/job-%a.log",
		script, s.Dir+"/pairs.txt", plan, out, "--dev", s.pair.SUT.Dev)
}

// said is what the array's tasks printed.
func (s *inSlurm) said() string {
	all := ""
	logs, _ := filepath.Glob(s.Dir + "/job-*.log")
	for _, l := range logs {
		b, _ := os.ReadFile(l)
		all += l + ":\n" + string(b)
	}
	return all
}

// processes are those of our zcbench whose first argument is word.
func (s *inSlurm) processes(word string) (out []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		b, _ := os.ReadFile(d + "/cmdline")
		exe, _ := os.Readlink(d + "/exe")
		if args := bytes.Split(b, []byte{0}); len(args) > 1 && string(args[1]) == word &&
			strings.HasPrefix(exe, commandsDir()) {
			pid := 0
			fmt.Sscan(filepath.Base(d), &pid)
			out = append(out, pid)
		}
	}
	return out
}

// commandsDir is where the commands are that were built.
func commandsDir() string { dir, _, _ := strings.Cut(os.Getenv("PATH"), ":"); return dir }

// One sbatch runs the plan for two pairs, one after another, each with a lease of its own that is
// given back; nothing is copied to nodes that have the program.
func TestIntegrationSlurmPairs(t *testing.T) {
	long.Test(t)
	s := newInSlurm(t)
	found := (&twoHosts{pair: s.pair}).settings(t)
	out := filepath.Join(t.TempDir(), "out")
	s.submit(t, "n1 n2\nn2 n1\n", "400ms", out)
	s.AwaitNone(4 * time.Minute)
	var ended int64
	for _, x := range [][2]string{{"n1", "n2"}, {"n2", "n1"}} {
		dir := filepath.Join(out, x[0]+"-"+x[1])
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("%v\n%s%s", err, s.said(), s.Logs())
		}
		j := journal(t, dir)
		if len(j.Records) != 4 {
			t.Errorf("%s: %d records\n%s", dir, len(j.Records), s.said())
		}
		for _, r := range j.Records {
			if r.SUT.Name != "exec:srun -w "+x[0]+" -N1 -n1 --overlap -u" || r.SUT.TotalBytes == nil ||
				*r.SUT.TotalBytes == 0 || *r.SUT.TotalBytes != *r.TG.TotalBytes {
				t.Errorf("%s: SUT %s, %s %s", dir, r.SUT.Name, r.Verdict, r.Reason)
			}
			if r.StartUTCNs < ended {
				t.Errorf("%s: a run began before the pair before had ended", dir)
			}
		}
		ended = j.Records[len(j.Records)-1].StartUTCNs
		if !onlyGood(t, dir) {
			t.Errorf("%s\n%s", dir, s.said())
		}
	}
	if now := (&twoHosts{pair: s.pair}).settings(t); now != found {
		t.Errorf("the nodes have RPS %s, had %s", now, found)
	}
	if kept, _ := filepath.Glob(s.home + "/.cache/zcbench/agent/*"); len(kept) != 0 {
		t.Errorf("copied: %v", kept)
	}
}

// onlyGood reports whether all that is bad in the runs is that other work disturbed them.
func onlyGood(t *testing.T, dir string) bool {
	for _, r := range journal(t, dir).Records {
		if r.Verdict != "ok" && !heldUp(r.Reason, strings.Join(r.Warnings, " ")) {
			t.Logf("%s: %s %s", r.Cell.ID, r.Verdict, r.Reason)
			return false
		}
	}
	return true
}

// A job that is cancelled in the middle of a run, and one whose srun is killed, which leaves the
// agent behind: the nodes are as they were found, and nobody of ours is left.
func TestIntegrationSlurmCancelled(t *testing.T) {
	long.Test(t)
	s := newInSlurm(t)
	for _, how := range []string{"scancel", "srun killed", "controller killed"} {
		t.Run(how, func(t *testing.T) {
			found := (&twoHosts{pair: s.pair}).settings(t)
			job := s.submit(t, "n1 n2\n", "10m", filepath.Join(t.TempDir(), "out"))
			agents := s.awaitFlow(t)
			if now := (&twoHosts{pair: s.pair}).settings(t); now == found {
				t.Error("the layout set nothing")
			}
			switch how {
			case "scancel":
				s.Run("scancel", job)
			case "srun killed":
				for _, pid := range children(s.processes("matrix")) {
					unix.Kill(pid, unix.SIGKILL)
				}
			default:
				for _, pid := range s.processes("matrix") {
					unix.Kill(pid, unix.SIGKILL)
				}
			}
			mustEnd(t, agents)
			if how == "srun killed" { // the controller goes on with other agents, which finish the leases
				s.awaitFlow(t)
				s.Run("scancel", job)
			}
			s.AwaitNone(90 * time.Second)
			mustEnd(t, s.processes("agent"))
			if now := (&twoHosts{pair: s.pair}).settings(t); now != found {
				t.Errorf("the nodes have RPS %s, had %s\n%s", now, found, s.said())
			}
			for _, e := range []veth.End{s.pair.SUT, s.pair.TG} {
				if left := inNetns(t, e.Netns, "zcbench restore --dry-run"); !strings.Contains(left,
					"nothing to restore") {
					t.Errorf("left: %s", left)
				}
			}
		})
	}
}

// awaitFlow waits until both agents of the job are connected with each other.
func (s *inSlurm) awaitFlow(t *testing.T) (agents []int) {
	t.Helper()
	if !await.So(func() bool {
		agents = s.processes("agent")
		return len(agents) == 2 && built.Has(agents[0], built.Established) && built.Has(agents[1], built.Established)
	}) {
		t.Fatalf("nothing flows: %s%s", s.said(), s.Logs())
	}
	return agents
}

// children are the processes that others have started.
func children(pids []int) (out []int) {
	for _, pid := range pids {
		out = append(out, counter.Children(pid)...)
	}
	return out
}
