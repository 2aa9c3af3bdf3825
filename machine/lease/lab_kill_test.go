// SPDX-License-Identifier: MIT

package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// killsEnv is how many rounds TestLabKill makes, seedEnv of which moments.
const (
	killsEnv = "ZCBENCH_LEASE_KILLS"
	seedEnv  = "ZCBENCH_LEASE_SEED"
)

// Kill -9 of the controller, of agents or of all, at a random moment of a run that
// sets everything, of one flow and of two: after zcbench restore both hosts are as
// before, with no rule more or less, and the next run, made after every other kill, works. The
// first kill comes when both of two flows are steered. In every third round the driver is busy for
// a while, and cannot read a rule back; a real one is never told to.
func TestLabKill(t *testing.T) {
	needLab(t)
	rounds := long.Rounds(1, 50)
	if n, err := strconv.Atoi(os.Getenv(killsEnv)); err == nil {
		rounds = n
	}
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		t.Fatal(err)
	}
	seed := uint64(1) // that of 0 begins with a run's last moment
	for _, c := range unix.ByteSliceToString(kernel.Release[:]) + model(t) {
		seed = seed*31 + uint64(c) // other moments on each kernel and with each driver
	}
	if n, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		seed = n
	}
	rnd := rand.New(rand.NewPCG(seed, seed))
	kinds := []*kind{{name: "two flows", args: slices.Concat(everything, twoFlows)},
		{name: "one flow", args: everything}}
	kinds[0].undisturbed(t)
	before := hosts(t)
	good, left, kills := 0, 0, 0
	for i := range rounds {
		share := rnd.Float64()
		who := victims[i%len(victims)]
		k := kinds[(i/2+i/len(victims))%2] // both of each victim, and of those after which it goes on
		k.undisturbed(t)
		busy := 0
		if i%3 == 2 && steers(t) && canBeBusy() {
			busy = 1 + rnd.IntN(busyMost)
		}
		moment, steered := fmt.Sprintf("at %.0f %%", 100*share), i == 0 && steers(t)
		if steered {
			moment = "when steered"
		}
		if busy > 0 {
			moment += fmt.Sprintf(", busy %d times", busy)
		}
		ok := t.Run(fmt.Sprintf("%02d %s, %s %s", i, k.name, who, moment), func(t *testing.T) {
			killed, after := 0, time.Duration(share*float64(k.length))
			setBusy(t, busy)
			defer setBusy(t, 0)
			if steered {
				killed = killSteered(t, k.args, who)
				if cmp.Equal(before, hosts(t)) {
					t.Error("with two rules set nothing was left to restore")
				}
			}
			for killed == 0 {
				var took time.Duration
				if killed, took = killRun(t, k.args, who, after); killed == 0 {
					// It had ended: the moment was its last, or the machine slower before.
					k.length = min(k.length, took)
					after = min(after, took) * 9 / 10
				}
			}
			kills++
			if !cmp.Equal(before, hosts(t)) {
				left++ // nobody but zcbench restore will put it right
			}
			out, err := run(t, "restore")
			for tries := 0; err != nil && tries < busy; tries++ { // what could not be read stays owed
				t.Logf("restore, while the driver is busy: %v\n%s", err, out)
				out, err = run(t, "restore")
			}
			setBusy(t, 0)
			if err != nil {
				t.Errorf("restore: %v\n%s", err, out)
			}
			if d := cmp.Diff(before, hosts(t)); d != "" {
				t.Errorf("the hosts are not as they were:\n%s\nrestore said: %s", d, out)
			}
			if files, _ := filepath.Glob("/run/zcbench/*"); len(files) > 0 {
				for _, f := range files {
					if !strings.HasSuffix(f, ".lock") { // a killed process leaves its lock files, unlocked
						t.Errorf("left %s", f)
					}
				}
			}
			t.Logf("killed %d processes; restore said: %s", killed, strings.TrimSpace(out))
			if (i+i/len(victims))%2 == 1 {
				return // of each victim every other round goes on
			}
			counted, dir := counters(t), filepath.Join(t.TempDir(), "out")
			if out, err := run(t, slices.Concat(plain, splitting(t), []string{"--out", dir})...); !worked(out, err) {
				journal, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
				t.Errorf("the next run: %v\n%s\ncounters before:\n%s\nand after:\n%s\n%s", err, out, counted,
					counters(t), journal)
			}
		})
		if ok {
			good++
		}
	}
	if kills >= 10 && left == 0 {
		t.Errorf("none of %d kills left anything to restore: they came at moments that test nothing", kills)
	}
	t.Logf("seed %d: %d of %d rounds are good, in %d something was killed, in %d of them something was left to "+
		"zcbench restore", seed, good, rounds, kills, left)
}

// busyParam is how many times reading a rule back fails with EBUSY from now on, and busyMost how
// many a test asks for.
const (
	busyParam = "/sys/module/softnic/parameters/rule_busy"
	busyMost  = 3
)

// canBeBusy tells that the driver is the soft NIC's.
func canBeBusy() bool {
	_, err := os.Stat(busyParam)
	return err == nil
}

func setBusy(t testing.TB, n int) {
	t.Helper()
	if n == 0 && !canBeBusy() {
		return
	}
	if err := os.WriteFile(busyParam, []byte(strconv.Itoa(n)), 0); err != nil {
		t.Fatal(err)
	}
}

// kind is a run that is killed, and how long it takes.
type kind struct {
	name   string
	args   []string
	length time.Duration // 0: not known yet
}

// undisturbed finds out how long it takes.
func (k *kind) undisturbed(t *testing.T) {
	t.Helper()
	if k.length > 0 {
		return
	}
	start := time.Now()
	if out, err := run(t, k.args...); !worked(out, err) {
		t.Fatalf("an undisturbed run of %s: %v\n%s", k.name, err, out)
	}
	end := time.Now()
	k.length = end.Sub(start) // for the moments of kills alone
}

// counters are what both hosts' kernels counted of packets, for when a run fails.
func counters(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	for _, e := range guest.Ends {
		inNS(t, e.NS, func() error {
			for _, name := range []string{"dev", "snmp", "netstat", "softnet_stat", "arp"} {
				b, err := os.ReadFile("/proc/thread-self/net/" + name)
				if err != nil {
					return err
				}
				fmt.Fprintf(&all, "%s, %s:\n%s", e.NS, name, b)
			}
			return nil
		})
	}
	return all.String()
}

// victims are who is killed.
var victims = []string{"all", "controller", "an agent", "both agents"}

// victim is a run that is to be killed.
type victim struct {
	cmd   *exec.Cmd
	start time.Time
	said  bytes.Buffer
	done  chan struct{}
	took  time.Duration // how long it was there, when done
}

func startVictim(t *testing.T, args []string) *victim {
	t.Helper()
	v := &victim{cmd: exec.Command("zcbench", suited(t, args)...), start: time.Now(), done: make(chan struct{})}
	v.cmd.Stdout, v.cmd.Stderr = &v.said, &v.said
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = v.cmd.Wait()
		end := time.Now()
		v.took = end.Sub(v.start) // for the moments of kills alone
		close(v.done)
	}()
	return v
}

// ended reports whether the run ends within a time. Any moment is one to kill it.
func (v *victim) ended(t *testing.T, d time.Duration) bool {
	t.Helper()
	select {
	case <-v.done:
		return true
	case <-await.Ending(t, d).Done():
		return false
	}
}

// killRun starts a run, kills who after a time and waits for the rest of it. took
// is how long the run was there.
func killRun(t *testing.T, args []string, who string, after time.Duration) (killed int, took time.Duration) {
	t.Helper()
	v := startVictim(t, args)
	if v.ended(t, after) {
		return 0, v.took
	}
	agents := counter.Children(v.cmd.Process.Pid)
	for who != "controller" && len(agents) == 0 && !v.ended(t, time.Millisecond) { // too early for any
		agents = counter.Children(v.cmd.Process.Pid)
	}
	killed = kill(t, v.cmd.Process.Pid, agents, who, after.Microseconds()%2 == 0, v.done, &v.said)
	return killed, v.took
}

// killSteered starts a run of two flows, and kills who when both have their rules.
func killSteered(t *testing.T, args []string, who string) (killed int) {
	t.Helper()
	v := startVictim(t, args)
	for rules(t) < 2 {
		if v.ended(t, 20*time.Millisecond) {
			t.Fatalf("it ended, and two flows were never steered: %s", v.said.String())
		}
	}
	return kill(t, v.cmd.Process.Pid, counter.Children(v.cmd.Process.Pid), who, false, v.done, &v.said)
}

// rules is how many ntuple rules the receiver's interface has.
func rules(t *testing.T) (n int) {
	t.Helper()
	inNS(t, guest.NSReceiver, func() error {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		if n, err = d.HasRules(); errors.Is(err, unix.EOPNOTSUPP) { // gve, while ntuple is off
			err = nil
		}
		return err
	})
	return n
}

// steers tells that the driver has rules.
func steers(t *testing.T) bool { return model(t) != "virtio_net" }

// kill kills who of a run, waits for the rest of it, and returns how many processes it killed.
func kill(t *testing.T, controller int, agents []int, who string, second bool, done <-chan struct{},
	said *bytes.Buffer) (killed int) {
	t.Helper()
	var pids []int
	switch who {
	case "controller":
		pids = []int{controller}
	case "an agent":
		pids = agents[:min(1, len(agents))]
		if second && len(agents) > 1 {
			pids = agents[1:2]
		}
	case "both agents":
		pids = agents
	case "all":
		pids = append([]int{controller}, agents...)
	}
	for _, p := range pids {
		if unix.Kill(p, unix.SIGKILL) == nil {
			killed++
		}
	}
	over := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	ended := await.So(over)
	if !ended { // an agent that died early is started again, and the run made
		ended = await.So(over)
	}
	if !ended {
		t.Fatalf("the run did not end: %s", said.String())
	}
	alive := 0
	if !await.So(func() bool {
		alive = 0
		for _, p := range agents {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p)); err == nil &&
				!strings.Contains(string(b), ") Z ") {
				alive++
			}
		}
		return alive == 0
	}) {
		t.Fatalf("%d agents live %v after the end of the run: %s", alive, await.Hang, said.String())
	}
	return killed
}
