// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/tune"
	"github.com/zcbench/zcbench/machine/veth"
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
		for _, name := range []string{"mtu", "gso-max-size", "gro-max-size", "gso-ipv4-max-size", "gro-ipv4-max-size",
			"feature " + nic.FeatureGRO, "rps 0"} {
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
	status = p.Wait(await.Hang)
	return status, p.Out.String(), p.Err.String()
}

// A run that is killed with -9, agents and all, leaves what it set; it is refused
// to nobody, said, and restored. A run that ends restores by itself.
func TestIntegrationRestore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	dir := leaseDir(t)
	pair := newPair(t)
	before := linkOf(t, pair.SUT)
	args := func(duration string, more ...string) []string {
		return append([]string{"run", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg",
			"netns:" + pair.TG.Netns.Path(), "--duration", duration, "--ramp-up", "500ms", "--pace", "500M",
			"--mtu", "2000", "--gro", "on", "--big-tcp", "131072", "--set", "sut:rps 0=1"}, more...)
	}

	// Undisturbed.
	out := filepath.Join(t.TempDir(), "out")
	// On a machine whose CPUs are kept from it the window may be late, which is not what this is
	// about.
	if status, table, stderr := zcbench(t, args("500ms", "--out", out)...); status != 0 && !onlyLate(t, out) {
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
	if status, table, _ := zcbench(t, args("500ms", "--set", "tg:coalesce rx-usecs=5")...); status != 1 ||
		!strings.Contains(table, "unsupported [1]") || !strings.Contains(table, "EOPNOTSUPP") {
		t.Errorf("exit status %d: %s", status, table)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after a refusal:\n%s", d)
	}

	// Ended by a signal.
	run := startSet(t, pair, args("10m"))
	run.Signal(unix.SIGTERM)
	if status := run.Wait(await.Hang); status != 1 {
		t.Errorf("exit status %d: %s", status, &run.Err)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after SIGTERM:\n%s", d)
	}

	// Killed.
	run = startSet(t, pair, args("10m"))
	agents := childrenOf(t, run.Process.Pid)
	status, table, _ := zcbench(t, args("500ms")...)
	said := strings.Join(strings.Fields(table), " ")
	if status != 1 || !slices.ContainsFunc(agents, func(pid int) bool {
		return strings.Contains(said, fmt.Sprintf("is leased to process %d (zcbench agent, session 20", pid))
	}) || !strings.Contains(said, "of: zcbench run") {
		t.Errorf("a second run: exit status %d: %s", status, table)
	}
	kill9(t, append([]int{run.Process.Pid}, agents...)...)
	run.Wait(await.Hang)
	if linkOf(t, pair.SUT)["mtu"] != "2000" {
		t.Error("the MTU came back by itself: the test shows nothing")
	}
	if status, text, _ := zcbench(t, "restore", "--dry-run"); status != 0 ||
		!strings.Contains(text, "mtu of zcsut: would be restored to 4148 (is 2000)") {
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
	if err := json.Unmarshal([]byte(text), &reports); err != nil || status != 1 ||
		!strings.Contains(text, "changed by somebody else") {
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

// What an older zcbench left is shown by every start, restored on request, and not
// before. Nothing of what was typed as a secret is in locks, journals or reasons.
func TestIntegrationRestoreAdopt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	dir := leaseDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // as an older one made it
		t.Fatal(err)
	}
	pair := newPair(t)
	before := linkOf(t, pair.SUT)
	args := func(duration string) []string {
		return []string{"run", "--sut", "netns:" + pair.SUT.Netns.Path(), "--tg", "netns:" + pair.TG.Netns.Path(),
			"--duration", duration, "--ramp-up", "500ms", "--mtu", "2000", "--pace", "500M",
			"--power", "sut:command=PASS=SECRET-1 echo 5 # -u admin:SECRET-2", "--power-idle", "0", "--power-guard",
			"0"}
	}
	run := startSet(t, pair, args("10m"))
	agents := childrenOf(t, run.Process.Pid)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", st.Mode(), err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		st, serr := os.Stat(f)
		if err := errors.Join(err, serr); err != nil || st.Mode().Perm() != 0o600 ||
			strings.Contains(string(b), "SECRET") || !strings.Contains(string(b), "zcbench run --sut netns:") {
			t.Errorf("%s: %v, %v: %s", f, st.Mode(), err, b)
		}
	}
	status, table, said := zcbench(t, args("500ms")...)
	if all := strings.Join(strings.Fields(table+said), " "); status != 1 ||
		!strings.Contains(all, "is leased to process") || !strings.Contains(all, "of: zcbench run --sut") ||
		strings.Contains(all, "SECRET") {
		t.Errorf("a second run: exit status %d: %s%s", status, table, said)
	}
	kill9(t, append([]int{run.Process.Pid}, agents...)...)
	run.Wait(await.Hang)

	journals, _ := filepath.Glob(filepath.Join(dir, "*.lease"))
	if len(journals) != 2 {
		t.Fatalf("journals %q", journals)
	}
	for _, path := range journals {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b = regexp.MustCompile(`,"sum":"[0-9a-f]*"}`).ReplaceAll(b, []byte("}"))
		b = regexp.MustCompile(`"version":[0-9]+`).ReplaceAll(b, []byte(`"version":2`)) // which had no sums
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(what, text string) {
		t.Helper()
		for _, path := range journals {
			if !strings.Contains(text, path) {
				t.Errorf("%s does not name %s: %s", what, path, text)
			}
		}
		if !strings.Contains(text, "mtu of zcsut: recorded as found 4148, set 2000") ||
			!strings.Contains(text, "zcbench restore --adopt") || linkOf(t, pair.SUT)["mtu"] != "2000" {
			t.Errorf("%s: MTU %s: %s", what, linkOf(t, pair.SUT)["mtu"], text)
		}
	}
	status, text, _ := zcbench(t, "restore")
	if shown("restore", text); status != 1 {
		t.Errorf("exit status %d", status)
	}
	_, _, said = zcbench(t, "run", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg", "netns:"+pair.TG.Netns.Path(),
		"--duration", "200ms", "--ramp-up", "0", "--ramp-down", "0")
	shown("a run", said)
	if status, text, _ := zcbench(t, "restore", "--adopt", "--dry-run"); status != 0 ||
		!strings.Contains(text, "mtu of zcsut: would be restored to 4148 (is 2000)") {
		t.Errorf("dry run: exit status %d: %s", status, text)
	}
	if status, text, _ := zcbench(t, "restore", "--adopt"); status != 0 {
		t.Errorf("exit status %d: %s", status, text)
	}
	if d := cmp.Diff(before, linkOf(t, pair.SUT)); d != "" {
		t.Errorf("after restore --adopt:\n%s", d)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// Root restores nothing from a folder that another user owns.
func TestIntegrationRestoreStranger(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives a folder to another user")
	}
	dir := leaseDir(t)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	// it is as the journal wants it: nothing is changed whatever happens
	now, err := tune.FS{}.Sysctl("vm.stat_interval")
	if err != nil {
		t.Fatal(err)
	}
	journal := fmt.Sprintf(`{"kind":"zcbench-lease","version":2,"boot_id":%q,"owner":{"pid":4194303,"command":"x","since_utc_ns":1}}
{"steps":[{"setting":"sysctl vm.stat_interval","before":%q,"set":"7"}]}
`, strings.TrimSpace(string(boot)), now)
	path := filepath.Join(dir, "1-1-0.lease")
	const stranger = 4711
	if err := errors.Join(os.WriteFile(path, []byte(journal), 0o644), os.Chown(path, stranger, stranger),
		os.Chown(dir, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"--dry-run=false", "--adopt"} {
		status, text, _ := zcbench(t, "restore", more)
		if status != 1 || !strings.Contains(text, "belongs to user 4711") ||
			!strings.Contains(text, "sysctl vm.stat_interval of this host: recorded as found") ||
			!strings.Contains(text, "chown 0 ") {
			t.Errorf("restore %s: exit status %d: %s", more, status, text)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != journal {
		t.Errorf("the journal is %q, %v", b, err)
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
	pair := newPair(t)
	ends := []veth.End{pair.SUT, pair.TG}
	before := []map[string]string{linkOf(t, ends[0]), linkOf(t, ends[1])}
	run := built.Start(t, "zcbench", "run", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
		"netns:"+pair.TG.Netns.Path(), "--duration", "10m", "--pace", "500M", "--layout", "2cpu")
	placed := func(i int) bool { return linkOf(t, ends[i])["rps 0"] != before[i]["rps 0"] }
	await.Until(t, "a layout on both hosts", func() bool { return placed(0) && placed(1) })
	kill9(t, append([]int{run.Process.Pid}, childrenOf(t, run.Process.Pid)...)...)
	run.Wait(await.Hang)
	if !placed(0) || !placed(1) {
		t.Error("RPS came back by itself: the test shows nothing")
	}
	if status, text, _ := zcbench(t, "restore"); status != 0 ||
		!strings.Contains(text, "rps 0 of zcsut: restored to 0") ||
		!strings.Contains(text, "rps 0 of zctg: restored to 0") {
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

// startSet starts a run and waits until all is set that it sets: it flows.
func startSet(t *testing.T, pair *veth.Pair, args []string) *built.Process {
	t.Helper()
	p := built.Start(t, "zcbench", args...)
	await.Until(t, "what the run sets", func() bool { return linkOf(t, pair.TG)["mtu"] == "2000" })
	waitForFlow(t, pair, 1<<20)
	return p
}

// childrenOf are the two agents of a run.
func childrenOf(t *testing.T, pid int) (out []int) {
	t.Helper()
	out = counter.Children(pid)
	if len(out) != 2 {
		t.Fatalf("agents %v of %d", out, pid)
	}
	return out
}
