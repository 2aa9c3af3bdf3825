// SPDX-License-Identifier: MIT

// Package slurmtest runs a real Slurm of two nodes on this machine, for tests: each slurmd in a
// network namespace, with configuration, keys, state and sockets of the test's own.
package slurmtest

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// Cluster is a Slurm with the nodes n1 and n2, and its slurmctld beside n1.
type Cluster struct {
	Dir string // of everything

	t      testing.TB
	at     *veth.Netns // of slurmctld
	daemon []*daemon
}

type daemon struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// programs and the Debian packages that have them.
var programs = map[string]string{"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd",
	"srun": "slurm-client"}

// Start starts the daemons of n1 and n2, which have those addresses for Slurm in namespaces of
// their own. The test's end stops them.
func Start(t testing.TB, n1, n2 *veth.Netns, addr1, addr2 string) *Cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: starts slurmctld and slurmd in network namespaces")
	}
	for name, pkg := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here: apt-get install %s (make test-long does)", name, pkg)
		}
	}
	// Not t.TempDir: its names are too long for sockets.
	dir, err := os.MkdirTemp("", "zcslurm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // munged looks at it
		t.Fatal(err)
	}
	c := &Cluster{Dir: dir, t: t, at: n1}
	t.Cleanup(c.stop)
	c.write("munge.key", rand.Text()+rand.Text(), 0o600)
	c.configure(addr1, addr2)
	c.start(n1, "", "munged", "--foreground", "--force", "--key-file="+dir+"/munge.key", "--socket="+c.socket(),
		"--pid-file="+dir+"/munged.pid", "--seed-file="+dir+"/munge.seed")
	c.await("munged", func() bool { _, err := os.Stat(c.socket()); return err == nil })
	c.start(n1, "ctl", "slurmctld", "-D", "-f", c.Conf())
	c.start(n1, "n1", "slurmd", "-D", "-f", c.Conf())
	c.start(n2, "n2", "slurmd", "-D", "-f", c.Conf())
	c.await("two idle nodes", func() bool {
		out, err := c.try("sinfo", "-h", "-N", "-o", "%T")
		return err == nil && out == "idle\nidle"
	})
	return c
}

// Conf returns the path of the cluster's configuration, for SLURM_CONF.
func (c *Cluster) Conf() string { return c.Dir + "/slurm.conf" }

func (c *Cluster) socket() string { return c.Dir + "/munge.socket" }

func (c *Cluster) write(name, text string, mode os.FileMode) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), mode); err != nil {
		c.t.Fatal(err)
	}
}

func (c *Cluster) configure(addr1, addr2 string) {
	c.t.Helper()
	for _, d := range []string{"state", "spool-n1", "spool-n2"} {
		if err := os.Mkdir(filepath.Join(c.Dir, d), 0o700); err != nil {
			c.t.Fatal(err)
		}
	}
	c.write("slurm.conf", fmt.Sprintf(`ClusterName=zcbench
SlurmctldHost=ctl(%[2]s)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.socket
CredType=cred/munge
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool-%%n
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd-%%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SlurmdParameters=config_overrides
KillWait=30
NodeName=n1 NodeHostname=n1 NodeAddr=%[2]s Port=16818 CPUs=%[4]d
NodeName=n2 NodeHostname=n2 NodeAddr=%[3]s Port=16818 CPUs=%[4]d
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=10 State=UP
`, c.Dir, addr1, addr2, runtime.NumCPU()), 0o644)
}

// start starts a daemon in a namespace, with a host name of its own if it is given one.
func (c *Cluster) start(ns *veth.Netns, host string, argv ...string) {
	c.t.Helper()
	if host != "" {
		argv = append([]string{"unshare", "--uts", "sh", "-c", `hostname "$0"; exec "$@"`, host}, argv...)
	}
	d := &daemon{log: filepath.Join(c.Dir, fmt.Sprintf("log-%d", len(c.daemon))), done: make(chan struct{})}
	f, err := os.Create(d.log)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Stdout, d.cmd.Stderr = f, f
	d.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := ns.Do(d.cmd.Start); err != nil {
		c.t.Fatal(err)
	}
	c.daemon = append(c.daemon, d)
	go func() { d.cmd.Wait(); close(d.done) }()
}

// await waits for what must come. A daemon that ended meanwhile says why; a machine that lacks
// what slurmd needs cannot run it.
func (c *Cluster) await(what string, there func() bool) {
	c.t.Helper()
	if !await.So(func() bool {
		if there() {
			return true
		}
		for _, d := range c.daemon {
			select {
			case <-d.done:
				log := c.tail(d)
				if strings.Contains(log, "cgroup") {
					c.t.Skipf("slurmd does not run with the control groups of this machine: %s", log)
				}
				c.t.Fatalf("no %s: %v ended: %s", what, d.cmd.Args, log)
			default:
			}
		}
		return false
	}) {
		c.t.Fatalf("no %s within %v: %s", what, await.Hang, c.Logs())
	}
}

func (c *Cluster) tail(d *daemon) string {
	b, _ := os.ReadFile(d.log)
	return string(b[max(0, len(b)-2000):])
}

// Logs returns the ends of what the daemons said.
func (c *Cluster) Logs() (s string) {
	for _, d := range c.daemon {
		s += fmt.Sprintf("\n%v:\n%s", d.cmd.Args, c.tail(d))
	}
	return s
}

func (c *Cluster) try(argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.Conf())
	var out []byte
	err := c.at.Do(func() (err error) { out, err = cmd.CombinedOutput(); return err })
	return strings.TrimSpace(string(out)), err
}

// Run runs one of Slurm's commands beside slurmctld, and returns what it prints.
func (c *Cluster) Run(argv ...string) string {
	c.t.Helper()
	out, err := c.try(argv...)
	if err != nil {
		c.t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return out
}

// AwaitNone waits until there is no job any more, also none that completes. One that takes the
// limit, and await.Hang at the least, hangs.
func (c *Cluster) AwaitNone(limit time.Duration) {
	c.t.Helper()
	for left := limit; !await.So(c.none); left -= await.Hang {
		if left <= await.Hang {
			out, err := c.try("squeue", "-h")
			c.t.Fatalf("after %v there is: %s %v%s", max(limit, await.Hang), out, err, c.Logs())
		}
	}
}

// none reports whether there is no job.
func (c *Cluster) none() bool {
	out, err := c.try("squeue", "-h")
	return err == nil && out == ""
}

// stop ends the jobs and then the daemons, the last one first.
func (c *Cluster) stop() {
	if len(c.daemon) > 1 {
		c.try("scancel", "--user=root")
		await.So(func() bool { out, err := c.try("squeue", "-h"); return err != nil || out == "" })
	}
	for _, d := range slices.Backward(c.daemon) {
		d.cmd.Process.Signal(unix.SIGTERM)
		deaf := await.Later(10*time.Second, func() { unix.Kill(-d.cmd.Process.Pid, unix.SIGKILL) })
		<-d.done
		deaf.Stop()
	}
}
