// SPDX-License-Identifier: MIT

package bpf_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/denied"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

func openTasks(t testing.TB, o bpf.TasksOptions) *bpf.Tasks {
	t.Helper()
	needRoot(t)
	tasks, err := bpf.OpenTasks(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tasks.Close() })
	return tasks
}

func readTasks(t testing.TB, tasks *bpf.Tasks) *counter.TaskTimes {
	t.Helper()
	got, err := tasks.Read()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// on returns what passed on a CPU between two readings.
func on(t testing.TB, from, to *counter.TaskTimes, cpu int) counter.CPUTasks {
	t.Helper()
	for _, d := range to.Since(from) {
		if d.CPU == cpu {
			return d
		}
	}
	t.Fatalf("CPU %d was not read", cpu)
	return counter.CPUTasks{}
}

// burner is a busy loop in a process of its own, on the last CPU, which is let run for a share of
// each period.
func burner(t testing.TB, share float64) (pid, cpu int) {
	t.Helper()
	hostOnly(t) // the lab has no program that is not ours
	cpu = lastCPU(t)
	cmd := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid = cmd.Process.Pid
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, pid, -20); err != nil { // before what else runs here
		t.Fatal(err)
	}
	if share >= 1 {
		return pid, cpu
	}
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		const period = 20 * time.Millisecond
		for {
			for _, s := range []struct {
				sig  syscall.Signal
				part float64
			}{{syscall.SIGCONT, share}, {syscall.SIGSTOP, 1 - share}} {
				cmd.Process.Signal(s.sig)
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(s.part * float64(period))):
				}
			}
		}
	}()
	return pid, cpu
}

func lastCPU(t testing.TB) (cpu int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for c := range runtime.NumCPU() * 64 {
		if set.IsSet(c) {
			cpu = c
		}
	}
	return cpu
}

// What another process used of a CPU is read within 1 % of the CPU, against its own clock: also
// while it runs, which nothing tells until it gives the CPU up. Its name is said.
func TestIntegrationTasksOfABurner(t *testing.T) {
	kind.Timed(t)
	for _, share := range []float64{.1, .5, .79, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			tasks := openTasks(t, bpf.TasksOptions{})
			pid, cpu := burner(t, share)
			await.Pause("the shell begins its loop", 100*time.Millisecond)
			for try := 1; ; try++ {
				// This thread may have to wait between two readings.
				c0 := clockOf(t, pid)
				from := readTasks(t, tasks)
				c1 := clockOf(t, pid)
				await.Pause("the window", time.Second)
				c2 := clockOf(t, pid)
				to := readTasks(t, tasks)
				c3 := clockOf(t, pid)
				if rowOf(from, cpu, pid) == rowOf(to, cpu, pid) && rowOf(to, cpu, pid) >= 0 {
					checkBurner(t, on(t, from, to, cpu), pid, c2-c1, c3-c0)
					return
				}
				if try == 10 { // the last of all tries: others took its row
					t.Fatal("so many other tasks ran that it was not told apart")
				}
			}
		})
	}
}

// rowOf returns since when a process has its row; -1: it has none.
func rowOf(at *counter.TaskTimes, cpu, pid int) int64 {
	for _, c := range at.CPUs {
		for _, r := range c.Top {
			if c.CPU == cpu && r.Key == uint64(pid) {
				return r.BeforeNs
			}
		}
	}
	return -1
}

func checkBurner(t *testing.T, d counter.CPUTasks, pid int, least, most int64) {
	t.Helper()
	wall := float64(d.WallNs())
	var ns int64
	for _, r := range d.Top {
		if r.Key == uint64(pid) {
			if ns = r.Ns; r.Name != "sh" {
				t.Errorf("its name is %q", r.Name)
			}
		}
	}
	// Whether the process' clock has softirq and interrupts in it that came while it ran is a
	// matter of the kernel's configuration.
	other := d.Ns[counter.TasksOther]
	top := other[counter.TaskNetOwn] + other[counter.TaskNetUntold] + other[counter.TaskSoft] +
		other[counter.TaskNetOther] + d.Hard[counter.TasksOther]
	if float64(ns-most) > .01*wall || float64(ns-least) < -.01*wall-float64(top) {
		t.Errorf("%.4f of the CPU, its clock says %.4f to %.4f (on top of others %.4f)", float64(ns)/wall,
			float64(least)/wall, float64(most)/wall, float64(top)/wall)
	}
	if all := other[counter.TaskItself]; all < ns-int64(wall)/1000 {
		t.Errorf("all others together %d ns, it alone %d", all, ns)
	}
	if d.IdleNs() < 0 || d.IdleNs() > d.WallNs() {
		t.Errorf("idle for %d of %d ns", d.IdleNs(), d.WallNs())
	}
	t.Logf("%.4f of CPU %d, its clock says %.4f to %.4f, on top of others %.4f", float64(ns)/wall, d.CPU,
		float64(least)/wall, float64(most)/wall, float64(top)/wall)
}

func clockOf(t testing.TB, pid int) int64 {
	t.Helper()
	ns, err := counter.ProcessClock(pid)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// All time of a CPU is somebody's, and the wall clock's: whenever it is read.
func TestIntegrationTasksAddUp(t *testing.T) {
	kind.Timed(t)
	tasks := openTasks(t, bpf.TasksOptions{})
	from, began := readTasks(t, tasks), counter.Monotonic()
	await.Pause("the window", 300*time.Millisecond)
	to, ended := readTasks(t, tasks), counter.Monotonic()
	if len(to.CPUs) != runtime.NumCPU() && os.Getenv("GOMAXPROCS") == "" {
		t.Errorf("%d CPUs of %d", len(to.CPUs), runtime.NumCPU())
	}
	for _, d := range to.Since(from) {
		if off := d.WallNs() - (ended - began); off < -50e6 || off > 50e6 {
			t.Errorf("CPU %d: %d ns, the clock says %d", d.CPU, d.WallNs(), ended-began)
		}
	}
	if to.EventNs <= 0 || to.EventNs > 20e3 || to.Missed != from.Missed {
		t.Errorf("a switch costs %g ns; %d missed", to.EventNs, to.Missed-from.Missed)
	}
}

// What a busy loop of known load used of turns of 20 ms is read within 1 %, against its own clock,
// and what is neither rest nor stolen is work: all of it is the wall clock's within 0.5 %.
func TestIntegrationTurnsOfABurner(t *testing.T) {
	kind.Timed(t)
	for _, share := range []float64{.2, .6, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			tasks := openTasks(t, bpf.TasksOptions{})
			pid, cpu := burner(t, share)
			cpus := []int{cpu}
			r, err := counter.OpenTurns(counter.TurnConfig{CPUs: cpus, Tasks: tasks})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			await.Pause("the shell begins its loop", 100*time.Millisecond)
			for try := 1; ; try++ {
				var sum counter.TurnSum
				missed := r.Missed()
				var least, most int64 // by its own clock
				for range 50 {
					c0 := clockOf(t, pid)
					before, err := r.Read(false)
					c1 := clockOf(t, pid)
					await.Pause("the turn", 20*time.Millisecond)
					c2 := clockOf(t, pid)
					after, aerr := r.Read(true)
					c3 := clockOf(t, pid)
					if err != nil || aerr != nil {
						t.Fatal(err, aerr)
					}
					sum.Add(r, before, after)
					least, most = least+c2-c1, most+c3-c0
				}
				sum.Missed = r.Missed() - missed
				from := counter.Snapshot{Config: counter.Config{CPUs: cpus, OfFlow: true}}
				to := from
				sum.Between(&from, &to)
				d := on(t, from.Tasks, to.Tasks, cpu)
				// This thread had to wait, or so many others ran that the burner lost its row.
				if off := checkTurns(t, from, to, &d, pid, least, most); try < 5 &&
					(float64(most-least) > .005*float64(d.WallNs()) || math.Abs(off) > .01) {
					continue
				} else if math.Abs(off) > .01 {
					t.Errorf("what the burner used is off by %+.4f of the CPU", off)
				}
				return
			}
		})
	}
}

func checkTurns(t *testing.T, from, to counter.Snapshot, d *counter.CPUTasks, pid int, least, most int64) (
	off float64) {
	t.Helper()
	_, c := counter.Delta(from, to)
	u, wall := c.CPU.PerCPU[0], float64(d.WallNs())
	if !c.CPU.Exact {
		t.Fatalf("not exact: %+v", c.CPU)
	}
	var burnt int64
	for _, r := range d.Top {
		if r.Key == uint64(pid) {
			burnt = r.Ns
		}
	}
	rest := float64(d.IdleNs()) / wall
	others := 1 - rest - *u.StealCores - float64(burnt)/wall // softirq and the probe, too
	got, mine := *u.BusyCores-others, float64(least+most)/2/wall
	t.Logf("busy %.4f, idle %.4f, stolen %.4f, others %.4f, the burner %.4f, its clock %.4f, off by %+.4f, "+
		"covered %.4f",
		*u.BusyCores, rest, *u.StealCores, others, float64(burnt)/wall, mine, got-mine, *u.Coverage)
	if all := *u.BusyCores + rest + *u.StealCores; all < .995-u.UncertaintyCores || all > 1.005 || *u.Coverage < .995 ||
		*u.Coverage > 1.005 {
		t.Errorf("busy, idle and stolen are %.4f, and cover %.4f of the time", all, *u.Coverage)
	}
	return got - mine
}

// Threads of this process are its own.
func TestIntegrationTasksOwn(t *testing.T) {
	kind.Timed(t)
	tasks := openTasks(t, bpf.TasksOptions{})
	cpu := lastCPU(t)
	var began int64
	stop, ran := make(chan struct{}), make(chan int64)
	from := readTasks(t, tasks)
	go func() { // the thread ends with its affinity
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(cpu)
		unix.SchedSetaffinity(0, &set)
		began, _ = counter.ThreadClock(unix.Gettid())
		for {
			select {
			case <-stop:
				ns, _ := counter.ThreadClock(unix.Gettid())
				ran <- ns
				return
			default:
			}
		}
	}()
	await.Pause("the window", 500*time.Millisecond)
	close(stop)
	clock := <-ran - began
	d := on(t, from, readTasks(t, tasks), cpu)
	if own := d.Ns[counter.TasksOwn][counter.TaskItself]; clock == 0 || own < clock*9/10 {
		t.Errorf("own threads %d ns on CPU %d, one of them alone %d", own, cpu, clock)
	}
	for _, r := range d.Top {
		if r.Key == uint64(os.Getpid()) {
			t.Errorf("others: %+v", r)
		}
	}
}

// Softirq is of the interface that it polls, or whose packets it finds in a backlog: the flow's, or
// another one's, which says its name.
func TestIntegrationTasksOfOtherTraffic(t *testing.T) {
	kind.Timed(t)
	hostOnly(t)
	for _, x := range []struct {
		name            string
		napi, byPacket  bool
		foreign, theirs bool // other interfaces are surely others'; the traffic is theirs
		right           int
	}{
		{"polled", true, false, true, false, counter.TaskNetOwn},
		{"polled, another's", true, false, true, true, counter.TaskNetOther},
		{"polled, perhaps another's", true, false, false, true, counter.TaskNetUntold},
		{"backlog", false, true, true, false, counter.TaskNetOwn},
		{"backlog, another's", false, true, true, true, counter.TaskNetOther},
		{"backlog, by polls alone", false, false, true, true, counter.TaskNetUntold},
	} {
		t.Run(x.name, func(t *testing.T) {
			mine, other := newPair(t), newPair(t)
			for _, e := range []veth.End{mine.SUT, mine.TG, other.SUT, other.TG} {
				if !x.napi {
					break
				}
				vethtest.GRO(t, e, true)
				vethtest.NoTSO(t, e)
			}
			inode := func(e veth.End) uint32 { return uint32(in(t, e.Netns, bpf.NetnsInode)) }
			tasks := openTasks(t, bpf.TasksOptions{Ifindexes: []int{indexOf(t, mine.SUT)}, Netns: inode(mine.SUT),
				PairIfindex: indexOf(t, mine.TG), PairNetns: inode(mine.TG), OthersForeign: x.foreign,
				ByPacket: x.byPacket})
			p := mine
			if x.theirs {
				p = other
			}
			stop := bulk(t, p)
			defer stop()
			from := readTasks(t, tasks)
			await.Pause("the window", 500*time.Millisecond)
			// There may be other traffic on the machine: that of the other pair is told by its
			// name.
			var right, own, named int64
			for _, d := range readTasks(t, tasks).Since(from) {
				for class := range counter.TaskClasses {
					right, own = right+d.Ns[class][x.right], own+d.Ns[class][counter.TaskNetOwn]
				}
				for _, r := range d.Devs {
					for _, e := range []veth.End{p.SUT, p.TG} {
						if r.Key == uint64(inode(e))<<32|uint64(indexOf(t, e)) && r.Name == e.Dev {
							named += r.Ns
						}
					}
				}
			}
			if right < 5e6 {
				t.Errorf("softirq of it: %d ns", right)
			}
			if x.right != counter.TaskNetOwn && own > 1e6 {
				t.Errorf("the flow, which is still, has %d ns of softirq", own)
			}
			if foreign := x.right == counter.TaskNetOther; foreign && named < 5e6 || !foreign && named > 0 {
				t.Errorf("%d ns of %d have its name", named, right)
			}
			t.Logf("softirq: right %d ns, own %d, named %d", right, own, named)
		})
	}
}

func indexOf(t testing.TB, e veth.End) int {
	t.Helper()
	return in(t, e.Netns, func() (int, error) {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return 0, err
		}
		defer d.Close()
		return d.Index, nil
	})
}

// A process of the same program is a peer, whoever started it.
func TestIntegrationTasksOfAPeer(t *testing.T) {
	if os.Getenv("TASKS_PEER") != "" {
		for {
		}
	}
	kind.Timed(t)
	tasks := openTasks(t, bpf.TasksOptions{})
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestIntegrationTasksOfAPeer$")
	cmd.Env = append(os.Environ(), "TASKS_PEER=1", "GOMAXPROCS=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	await.Pause("it begins", 200*time.Millisecond)
	from := readTasks(t, tasks)
	await.Pause("the window", 500*time.Millisecond)
	var peer int64
	for _, d := range readTasks(t, tasks).Since(from) {
		peer += d.Ns[counter.TasksPeer][counter.TaskItself]
		for _, r := range d.Top {
			if r.Key == uint64(cmd.Process.Pid) {
				t.Errorf("others: %+v", r)
			}
		}
	}
	if peer < 20e6 {
		t.Errorf("peers had %d ns", peer)
	}
}

// A thread that polls the flow's interface serves the flow, also where nobody says its number; one
// of another interface may serve anybody.
func TestIntegrationTasksOfNAPIThreads(t *testing.T) {
	kind.Timed(t)
	hostOnly(t)
	mine, other := newPair(t), newPair(t)
	for _, e := range []veth.End{mine.SUT, mine.TG, other.SUT, other.TG} {
		vethtest.GRO(t, e, true)
		vethtest.NoTSO(t, e)
		if err := e.Netns.Do(func() error { return threaded(e.Dev) }); err != nil {
			t.Skip(err)
		}
	}
	inode := func(e veth.End) uint32 { return uint32(in(t, e.Netns, bpf.NetnsInode)) }
	tasks := openTasks(t, bpf.TasksOptions{Ifindexes: []int{indexOf(t, mine.SUT)}, Netns: inode(mine.SUT),
		PairIfindex: indexOf(t, mine.TG), PairNetns: inode(mine.TG), OthersForeign: true})
	for _, h := range tasks.Hooks {
		if h.Reason != "" {
			t.Logf("%s: %s", h.Function, h.Reason)
		}
	}
	for _, x := range []struct {
		pair  *veth.Pair
		class int
	}{{mine, counter.TasksServing}, {other, counter.TasksUntold}} {
		stop := bulk(t, x.pair)
		from := readTasks(t, tasks)
		await.Pause("the window", 300*time.Millisecond)
		to := readTasks(t, tasks)
		stop()
		var ns [counter.TaskClasses]int64
		for _, d := range to.Since(from) {
			for class := range ns {
				ns[class] += d.Ns[class][counter.TaskItself]
			}
			for _, r := range d.Top {
				if strings.HasPrefix(r.Name, "napi/") {
					t.Errorf("others: %+v", r)
				}
			}
		}
		if ns[x.class] < 5e6 {
			t.Errorf("class %d has %d ns of %v", x.class, ns[x.class], ns)
		}
		t.Log(ns)
	}
}

// threaded lets kernel threads poll an interface. Sysfs is that of the namespace in which it is
// mounted.
func threaded(dev string) error {
	out, err := exec.Command("unshare", "-m", "sh", "-c", "mount -t sysfs s /sys && echo 1 >/sys/class/net/"+
		dev+"/threaded").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Without the right to load programs the error says so, and nothing is left.
func TestTasksDenied(t *testing.T) {
	var tasks *bpf.Tasks
	var err error
	if derr := denied.Run(unix.SYS_BPF, unix.EPERM,
		func() { tasks, err = bpf.OpenTasks(bpf.TasksOptions{}) }); derr != nil {
		t.Skip(derr)
	}
	if err == nil || tasks != nil || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("%v, %v", tasks, err)
	}
}
