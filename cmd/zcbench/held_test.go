// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// settingArgs are those of a run that sets something on both hosts.
func settingArgs(pair *veth.Pair, duration string) []string {
	return []string{"run", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg", "netns:" + pair.TG.Netns.Path(),
		"--duration", duration, "--ramp-up", "100ms",
		"--sample-interval", "0", "--pace", "500M", "--mtu", "2000", "--gro", "on", "--big-tcp", "131072", "--set",
		"sut:rps 0=1"}
}

func newHosts(t *testing.T) *veth.Pair {
	t.Helper()
	needRoot(t)
	return newPair(t)
}

// newPair makes two hosts in one, until the test ends.
func newPair(t *testing.T) *veth.Pair {
	t.Helper()
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pair.Close() })
	return pair
}

func both(t *testing.T, pair *veth.Pair) [2]map[string]string {
	t.Helper()
	return [2]map[string]string{linkOf(t, pair.SUT), linkOf(t, pair.TG)}
}

// withMounts runs f on a thread that sees mounts of its own, and so do the
// processes that f starts. The thread ends with f.
func withMounts(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	var begin func()
	begin = func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the main thread does not end: take another while it is held
			inner := make(chan struct{})
			go func() { defer close(inner); begin() }()
			<-inner
			runtime.UnlockOSThread()
			return
		}
		err := errors.Join(unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		if err == nil {
			err = f()
		}
		done <- err
	}
	go begin()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// watchLinks looks at both hosts until it is told to stop, and returns what it saw
// changed.
func watchLinks(t *testing.T, pair *veth.Pair, before [2]map[string]string) (stop func() string) {
	quit, done, diff := make(chan struct{}), make(chan struct{}), ""
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			await.Pause("the CPUs are the run's", 20*time.Millisecond)
			if d := cmp.Diff(before, both(t, pair)); d != "" && diff == "" {
				diff = d
			}
		}
	}()
	return func() string { close(quit); <-done; return diff }
}

// Where nothing can be written down, because the folder of leases is full, has no
// inode left or is read-only, nothing is changed at any moment; the run says which
// call failed.
func TestIntegrationNoRoomForTheLease(t *testing.T) {
	pair := newHosts(t)
	built.Dir(t)
	before := both(t, pair)
	fill := func(dir string) error {
		f, err := os.OpenFile(filepath.Join(dir, "fill"), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		for b := make([]byte, 4096); err == nil; {
			_, err = f.Write(b)
		}
		if !errors.Is(err, unix.ENOSPC) {
			return err
		}
		return nil
	}
	for _, x := range []struct {
		name, options string
		flags         uintptr
		then          func(dir string) error
		say           string
	}{
		{"full disk", "size=16k,mode=700", 0, fill, "no space left on device"},
		{"no inodes", "nr_inodes=1,mode=700", 0, nil, "no space left on device"},
		{"read-only", "mode=700", unix.MS_RDONLY, nil, "read-only file system"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := leaseDir(t)
			stop := watchLinks(t, pair, before)
			withMounts(t, func() error {
				if err := unix.Mount("tmpfs", dir, "tmpfs", x.flags, x.options); err != nil {
					return err
				}
				if x.then != nil {
					if err := x.then(dir); err != nil {
						return err
					}
				}
				status, out, stderr := zcbench(t, settingArgs(pair, "1s")...)
				said := strings.Join(strings.Fields(out+stderr), " ")
				if status != 1 || !strings.Contains(said, x.say) || strings.Contains(said, "panic") {
					t.Errorf("exit status %d, want 1 and %q: %s", status, x.say, said)
				}
				return nil
			})
			if d := stop(); d != "" {
				t.Errorf("something was set all the same:\n%s", d)
			}
			if d := cmp.Diff(before, both(t, pair)); d != "" {
				t.Errorf("after the run:\n%s", d)
			}
		})
	}
}

// A read-only /run, and a home that is so too: nothing is changed. With a home that
// can be written to, the run keeps its journal there or refuses; either way the
// hosts are as before when it has ended.
func TestIntegrationReadOnlyRun(t *testing.T) {
	pair := newHosts(t)
	built.Dir(t)
	before := both(t, pair)
	for _, x := range []struct {
		name  string
		flags uintptr
	}{{"read-only home", unix.MS_RDONLY}, {"home", 0}} {
		t.Run(x.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv(lease.DirEnv, "")
			t.Setenv("HOME", home)
			t.Setenv("XDG_STATE_HOME", "")
			stop := watchLinks(t, pair, before)
			withMounts(t, func() error {
				if err := errors.Join(unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_RDONLY, "mode=755"),
					unix.Mount("tmpfs", home, "tmpfs", x.flags, "mode=700")); err != nil {
					return err
				}
				status, out, stderr := zcbench(t, settingArgs(pair, "500ms")...)
				if x.flags != 0 && (status != 1 || !strings.Contains(strings.Join(strings.Fields(out+stderr), " "),
					"read-only file system")) {
					t.Errorf("exit status %d: %s%s", status, out, stderr)
				}
				left, _ := filepath.Glob(home + "/.local/state/zcbench/*.lease*")
				if len(left) > 0 {
					t.Errorf("left %q", left)
				}
				return nil
			})
			if d := stop(); d != "" && x.flags != 0 {
				t.Errorf("something was set all the same:\n%s", d)
			}
			if d := cmp.Diff(before, both(t, pair)); d != "" {
				t.Errorf("after the run:\n%s", d)
			}
		})
	}
}

// kill9 kills a run and its agents at once: none of them may see that another one is gone, and take
// back what it can, so all are stopped first.
func kill9(t *testing.T, pids ...int) {
	t.Helper()
	for _, sig := range []unix.Signal{unix.SIGSTOP, unix.SIGKILL} {
		for _, pid := range pids {
			if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Error(err)
			}
		}
	}
}

// killAll kills a run and its agents, and waits until they are gone.
func killAll(t *testing.T, run *built.Process, pids []int) {
	t.Helper()
	kill9(t, pids...)
	run.Wait(await.Hang)
	mustEnd(t, append([]int(nil), pids...))
}

// Six that restore at the same moment what a killed run left: each setting is
// restored once, by one of them, and none of the others fails or undoes it.
func TestIntegrationRestoresAtOnce(t *testing.T) {
	dir := leaseDir(t)
	pair := newHosts(t)
	before := both(t, pair)
	for range long.Rounds(2, 20) {
		run := startSet(t, pair, settingArgs(pair, "10m"))
		killAll(t, run, append([]int{run.Process.Pid}, childrenOf(t, run.Process.Pid)...))
		if linkOf(t, pair.SUT)["mtu"] != "2000" {
			t.Fatal("the MTU came back by itself: the test shows nothing")
		}
		var all []*built.Process
		for range 6 {
			all = append(all, built.Start(t, "zcbench", "restore"))
		}
		said := ""
		for _, p := range all {
			if status := p.Wait(await.Hang); status != 0 {
				t.Errorf("exit status %d: %s%s", status, &p.Out, &p.Err)
			}
			said += p.Out.String()
		}
		for _, what := range []string{"mtu of zcsut: restored to", "mtu of zctg: restored to",
			"rps 0 of zcsut: restored to"} {
			if n := strings.Count(said, what); n != 1 {
				t.Errorf("%q %d times:\n%s", what, n, said)
			}
		}
		if d := cmp.Diff(before, both(t, pair)); d != "" {
			t.Errorf("after six restores:\n%s", d)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left %v", left)
		}
	}
}

// Kill -9 at random moments of runs that set much, of the controller, of an agent
// or of all: after zcbench restore the settings are the same, every time. In the
// lab TestLabKill of package lease does the same with a NIC that has more to set.
func TestIntegrationKills(t *testing.T) {
	leaseDir(t)
	pair := newHosts(t)
	before := both(t, pair)
	rnd := rand.New(rand.NewPCG(20, 20))
	rounds, same, owed := long.Rounds(3, 20), 0, 0
	for i := range rounds {
		moment := time.Duration(50+rnd.IntN(1200)) * time.Millisecond
		// Every other one is killed after it has set something, however late that is.
		duration, set := "2s", i%2 == 1
		if set {
			duration = "10m"
		}
		run := built.Start(t, "zcbench", settingArgs(pair, duration)...)
		if set {
			await.Until(t, "a setting", func() bool { return !cmp.Equal(before, both(t, pair)) })
		}
		await.Pause("any moment will do", moment)
		pids := append([]int{run.Process.Pid}, agentsOf(t, run)...)
		victims := [][]int{pids[:1], pids[len(pids)-1:], pids}[rnd.IntN(3)]
		for _, pid := range victims {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Error(err)
			}
		}
		run.Wait(await.Hang)
		mustEnd(t, pids)
		if !cmp.Equal(before, both(t, pair)) {
			owed++
		}
		status, out, stderr := zcbench(t, "restore")
		if status != 0 {
			t.Errorf("round %d: restore: exit status %d: %s%s", i, status, out, stderr)
		}
		if d := cmp.Diff(before, both(t, pair)); d != "" {
			t.Errorf("round %d, killed %d of %d after %v: the hosts are not as they were:\n%s\nrestore said: %s", i,
				len(victims), len(pids), moment, d, out)
			continue
		}
		same++
	}
	if rounds >= 20 && owed == 0 {
		t.Errorf("none of %d kills left anything to restore: they came at moments that test nothing", rounds)
	}
	t.Logf("%d of %d the same, %d of them by zcbench restore", same, rounds, owed)
}

func anyRunning(pids []int) bool {
	for _, pid := range pids {
		if running(pid) {
			return true
		}
	}
	return false
}

const many = `
name: many
factors: {rx: [tcp, uring], tx: tcp, probe: [none, latency, syscalls, zc], gro: on, message: 256K}
duration: 100ms
pace: 2G
ramp_up: 20ms
ramp_down: 10ms
sample_interval: 50ms
warmup: false
repetitions: %d
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off, replace: 0}
`

// holding is what the processes of a session hold, at most, while runs of it come
// and go.
type holding struct{ files, programs, maps, mounts, namespaces, threads int }

func (h holding) most(o holding) holding {
	return holding{max(h.files, o.files), max(h.programs, o.programs), max(h.maps, o.maps), max(h.mounts, o.mounts),
		max(h.namespaces, o.namespaces), max(h.threads, o.threads)}
}

// heldBy looks at processes through /proc. bpf and spaces collect what they hold
// there by its number.
func heldBy(pids []int, bpf, spaces map[string]bool) (h holding) {
	for _, pid := range pids {
		dir := fmt.Sprintf("/proc/%d", pid)
		files, _ := os.ReadDir(dir + "/fd")
		h.files += len(files)
		for _, f := range files {
			to, _ := os.Readlink(dir + "/fd/" + f.Name())
			switch {
			case to == "anon_inode:bpf-prog":
				h.programs++
				bpf["prog "+idOf(dir+"/fdinfo/"+f.Name(), "prog_id:")] = true
			case to == "anon_inode:bpf-map":
				h.maps++
				bpf["map "+idOf(dir+"/fdinfo/"+f.Name(), "map_id:")] = true
			case strings.HasPrefix(to, "net:["):
				h.namespaces++
				spaces[to] = true
			}
		}
		tasks, _ := os.ReadDir(dir + "/task")
		h.threads += len(tasks)
		mounts, _ := os.ReadFile(dir + "/mountinfo")
		h.mounts += strings.Count(string(mounts), "\n")
	}
	return h
}

func idOf(path, key string) string {
	b, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(b), key)
	id, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return id
}

// Two hundred runs, with probes, leave no descriptor, program, map, mount or
// namespace behind, neither while the session goes on nor after it.
func TestIntegrationTwoHundredRuns(t *testing.T) {
	needRoot(t)
	long.Test(t)
	leaseDir(t)
	const reps, cells = 25, 8
	file, out := filepath.Join(t.TempDir(), "many.yaml"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(file, fmt.Appendf(nil, many, reps), 0o600); err != nil {
		t.Fatal(err)
	}
	there := whatIsThere(t)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	p := built.Start(t, "zcbench", "matrix", file, "--out", out)
	var early, late holding
	bpf, spaces := map[string]bool{}, map[string]bool{}
	var pids []int
	done := 0
	for end := time.Now().Add(15 * time.Minute); done < reps*cells && running(p.Process.Pid) &&
		time.Now().Before(end); {
		await.Pause("the CPUs are the runs'", 5*time.Millisecond)
		done = runLines(out)
		pids = append(agentsOf(t, p), p.Process.Pid)
		h := heldBy(pids, bpf, spaces)
		switch {
		case done >= 16 && done < reps*cells/2: // many, so that the most of a run is seen on a busy machine, too
			if done >= 48 {
				h.files, h.threads = 0, 0 // these have some slack: what leaks in time would be within it
			}
			early = early.most(h)
		case done >= reps*cells-32:
			late = late.most(h)
		}
	}
	status := p.Wait(5 * time.Minute)
	if done < reps*cells-1 || status > 1 {
		t.Fatalf("%d runs, exit status %d: %s", done, status, &p.Err)
	}
	const slack = 4 // of what comes and goes within a run
	if early.files == 0 || early.programs == 0 || late.files > early.files+slack ||
		late.programs > early.programs || late.maps > early.maps ||
		late.mounts > early.mounts || late.namespaces > early.namespaces || late.threads > early.threads+8 {
		t.Errorf("at most %+v at the beginning, %+v at the end", early, late)
	}
	t.Logf("%d runs: at most %+v at the beginning, %+v at the end; %d programs and maps, %d namespaces in all", done,
		early, late, len(bpf), len(spaces))
	mustEnd(t, pids)
	if now := whatIsThere(t); now != there {
		t.Errorf("left behind: %s, before %s", now, there)
	}
	if now, _ := os.ReadFile("/proc/self/mountinfo"); string(now) != string(mounts) {
		t.Errorf("mounts:\n%s\nbefore:\n%s", now, mounts)
	}
	noneLeft(t, bpf, spaces)
}

// noneLeft waits until the kernel has let go of programs and maps, which it does in
// its own time, and looks for processes in namespaces.
func noneLeft(t *testing.T, bpf, spaces map[string]bool) {
	t.Helper()
	var left []string
	if !await.So(func() bool { left = alive(t, bpf); return len(left) == 0 }) {
		t.Errorf("left in the kernel: %v", left)
	}
	delete(spaces, readLink("/proc/self/ns/net"))
	links, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, l := range links {
		if ns := readLink(l); spaces[ns] {
			t.Errorf("%s is in %s, which was the session's", l, ns)
		}
	}
}

func readLink(path string) string {
	to, _ := os.Readlink(path)
	return to
}

// alive are those of the session's programs and maps that the kernel still has.
func alive(t *testing.T, bpf map[string]bool) (left []string) {
	t.Helper()
	var prog ebpf.ProgramID
	var err error
	for prog, err = ebpf.ProgramGetNextID(0); err == nil; prog, err = ebpf.ProgramGetNextID(prog) {
		if name := fmt.Sprintf("prog %d", prog); bpf[name] {
			left = append(left, name)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var m ebpf.MapID
	for m, err = ebpf.MapGetNextID(0); err == nil; m, err = ebpf.MapGetNextID(m) {
		if name := fmt.Sprintf("map %d", m); bpf[name] {
			left = append(left, name)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return left
}
