package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/lease"
	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/tune"
	"github.com/zcbench/zcbench/veth"
	"golang.org/x/sys/unix"
)

// linkOf is what the runs below set of one end.
func linkOf(t *testing.T, e veth.End) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		for _, name := range []string{"mtu", "gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size", "feature " + nic.FeatureGRO, "rps 0"} {
			s, err := d.Setting(name)
			if err == nil {
				all[name], err = s.Get()
			}
			if err != nil {
				return err
			}
		}
		all["tcp_rmem"], err = tune.FS{}.Sysctl("net.ipv4.tcp_rmem")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leaseDir gives the commands of a test a folder for leases of their own.
func leaseDir(t *testing.T) string {
	dir := t.TempDir()
	t.Setenv(lease.DirEnv, dir)
	return dir
}

func zcbench(t *testing.T, args ...string) (status int, out, stderr string) {
	t.Helper()
	p := built.Start(t, "zcbench", args...)
	status = p.Wait(time.Minute)
	return status, p.Out.String(), p.Err.String()
}

// A run that is killed with -9, agents and all, leaves what it set; it is refused
// to nobody, said, and restored. A run that ends restores by itself.
func TestIntegrationRestore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	dir := leaseDir(t)
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	before := linkOf(t, pair.SUT)
	args := func(duration string, more ...string) []string {
		return append([]string{"run", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg", "netns:" + pair.TG.Netns.Path(), "--duration", duration, "--ramp-up", "500ms",
			"--mtu", "2000", "--gro", "on", "--big-tcp", "131072", "--set", "sut:rps 0=1"}, more...)
	}

	// Undisturbed.
	out := filepath.Join(t.TempDir(), "out")
	// On a machine whose CPUs are kept from it the window may be late, which is not what this is about.
	if status, table, stderr := zcbench(t, args("2s", "--out", out)...); status != 0 && !strings.Contains(table, "its edges") {
		t.Errorf("exit status %d: %s%s", status, table, stderr)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after a run:\n%s", d)
	}
	rows, err := os.ReadFile(filepath.Join(out, "runs.csv"))
	if err != nil || !strings.Contains(string(rows), ",true,,131072,,,2000,") {
		t.Errorf("gro, hw_gro, big_tcp_bytes ... mtu in %s, %v", rows, err)
	}

	// Refused half way.
	if status, table, _ := zcbench(t, args("500ms", "--set", "tg:coalesce rx-usecs=5")...); status != 1 || !strings.Contains(table, "unsupported [1]") || !strings.Contains(table, "EOPNOTSUPP") {
		t.Errorf("exit status %d: %s", status, table)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after a refusal:\n%s", d)
	}

	// Ended by a signal.
	run := startSet(t, pair, args("20s"))
	run.Signal(unix.SIGTERM)
	if status := run.Wait(20 * time.Second); status != 1 {
		t.Errorf("exit status %d: %s", status, &run.Err)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after SIGTERM:\n%s", d)
	}

	// Killed.
	run = startSet(t, pair, args("20s"))
	agents := childrenOf(t, run.Process.Pid)
	status, table, _ := zcbench(t, args("500ms")...)
	said := strings.Join(strings.Fields(table), " ")
	if status != 1 || !slices.ContainsFunc(agents, func(pid int) bool {
		return strings.Contains(said, fmt.Sprintf("is leased to process %d (zcbench agent, session 20", pid))
	}) || !strings.Contains(said, "of: zcbench run") {
		t.Errorf("a second run: exit status %d: %s", status, table)
	}
	for _, pid := range append([]int{run.Process.Pid}, agents...) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	run.Wait(10 * time.Second)
	if linkOf(t, pair.SUT)["mtu"] != "2000" {
		t.Error("the MTU came back by itself: the test shows nothing")
	}
	if status, text, _ := zcbench(t, "restore", "--dry-run"); status != 0 || !strings.Contains(text, "mtu of zcsut: would be restored to 4148 (is 2000)") {
		t.Errorf("dry run: exit status %d: %s", status, text)
	}
	// Somebody changes one of them meanwhile.
	err = pair.SUT.Netns.Do(func() error {
		d, err := nic.Open(pair.SUT.Dev)
		if err != nil {
			return err
		}
		s, err := d.Setting("mtu")
		return errors.Join(err, s.Set("3000"), d.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	var reports []lease.Report
	status, text, _ := zcbench(t, "restore", "--json")
	if err := json.Unmarshal([]byte(text), &reports); err != nil || status != 1 || !strings.Contains(text, "changed by somebody else") {
		t.Errorf("exit status %d, %v: %s", status, err, text)
	}
	want := map[string]string{}
	for k, v := range before {
		want[k] = v
	}
	want["mtu"] = "3000"
	if d := cmp.Diff(want, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after restore:\n%s", d)
	}
	if status, text, _ := zcbench(t, "restore", "--force"); status != 0 {
		t.Errorf("restore --force: exit status %d: %s", status, text)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after restore --force:\n%s", d)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if status, text, _ := zcbench(t, "restore"); status != 0 || text != "nothing to restore\n" {
		t.Errorf("exit status %d: %s", status, text)
	}
}

// A CPU layout is undone like everything else when the agents are killed with -9.
func TestIntegrationRestoreLayout(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	if runtime.NumCPU() < 2 {
		t.Skip("needs 2 CPUs")
	}
	dir := leaseDir(t)
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	ends := []veth.End{pair.SUT, pair.TG}
	before := []map[string]string{linkOf(t, ends[0]), linkOf(t, ends[1])}
	run := built.Start(t, "zcbench", "run", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg", "netns:"+pair.TG.Netns.Path(), "--duration", "20s", "--layout", "2cpu")
	placed := func(i int) bool { return linkOf(t, ends[i])["rps 0"] != before[i]["rps 0"] }
	for end := time.Now().Add(20 * time.Second); !placed(0) || !placed(1); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the run places nothing: %s", &run.Err)
		}
	}
	time.Sleep(100 * time.Millisecond)
	for _, pid := range append(childrenOf(t, run.Process.Pid), run.Process.Pid) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	run.Wait(10 * time.Second)
	if !placed(0) || !placed(1) {
		t.Error("RPS came back by itself: the test shows nothing")
	}
	if status, text, _ := zcbench(t, "restore"); status != 0 || !strings.Contains(text, "rps 0 of zcsut: restored to 0") || !strings.Contains(text, "rps 0 of zctg: restored to 0") {
		t.Errorf("exit status %d: %s", status, text)
	}
	for i, e := range ends {
		if d := cmp.Diff(before[i], linkOf(t, e)); d != "" {
			t.Errorf("after restore:\n%s", d)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// startSet starts a run and waits until it has set the MTU.
func startSet(t *testing.T, pair *veth.Pair, args []string) *built.Process {
	t.Helper()
	p := built.Start(t, "zcbench", args...)
	for end := time.Now().Add(20 * time.Second); linkOf(t, pair.TG)["mtu"] != "2000"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the run sets nothing")
		}
	}
	time.Sleep(300 * time.Millisecond)
	return p
}

func childrenOf(t *testing.T, pid int) (out []int) {
	t.Helper()
	b, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(pid)).Output()
	for _, f := range strings.Fields(string(b)) {
		n, _ := strconv.Atoi(f)
		out = append(out, n)
	}
	if len(out) != 2 {
		t.Fatalf("agents %v of %d: %v", out, pid, err)
	}
	return out
}
