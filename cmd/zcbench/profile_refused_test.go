// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"golang.org/x/sys/unix"
)

// sysctlOf reads a number of the running kernel.
func sysctlOf(t *testing.T, name string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Who may not sample is told which setting keeps him from it, as it is, and what to do; root is not
// needed, only some of what it may do.
func TestIntegrationProfileRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives capabilities away")
	}
	path := built.ForAll(t, "zcbench")
	as := func(lock string, caps ...uintptr) (status int, said string) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -l "+lock+
			`; exec "$0" profile --duration 200ms --top 1`, path)
		cmd.Dir = filepath.Dir(path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534},
			AmbientCaps: caps}
		out, err := cmd.CombinedOutput()
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	expect := func(who string, status int, said string, want ...string) {
		t.Helper()
		for _, w := range want {
			if status != 1 || !strings.Contains(said, w) {
				t.Errorf("%s: exit status %d, no %q:\n%s", who, status, w, said)
			}
		}
	}
	restrict, paranoid := sysctlOf(t, "kptr_restrict"), sysctlOf(t, "perf_event_paranoid")
	if restrict > 1 {
		t.Skip("kernel.kptr_restrict is 2 here: nobody sees addresses")
	}
	if restrict > 0 || paranoid > 1 { // kernel/ksyms_common.c: kallsyms_for_perf
		status, said := as("0")
		expect("nobody", status, said, "kernel.kptr_restrict is "+strconv.Itoa(restrict),
			"run as root or with CAP_SYSLOG")
	}
	if paranoid > 0 {
		status, said := as("0", unix.CAP_SYSLOG)
		expect("who sees addresses", status, said, "perf_event_open", "kernel.perf_event_paranoid is "+
			strconv.Itoa(paranoid), "CAP_PERFMON")
	}
	if paranoid > -1 {
		status, said := as("0", unix.CAP_SYSLOG, unix.CAP_PERFMON)
		expect("without memory", status, said, "map the ring of samples", "CAP_IPC_LOCK", "kernel.perf_event_mlock_kb=")
	}
	if status, said := as("unlimited 2>/dev/null || :", unix.CAP_SYSLOG, unix.CAP_PERFMON,
		unix.CAP_IPC_LOCK); status != 0 || !strings.Contains(said, "samples in") {
		t.Errorf("with three capabilities: exit status %d\n%s", status, said)
	}
}

// The command's table has as many functions as asked for, its files open, and JSON has the same.
func TestIntegrationProfileOutputs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), filepath.Join(built.Dir(t), "zcbench"),
			append([]string{"profile", "--duration", "300ms"}, args...)...)
		cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &said, dir
		var stop atomic.Bool
		go func() { // a CPU has something to do
			for !stop.Load() {
			}
		}()
		err := cmd.Run()
		stop.Store(true)
		if err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		return out.String()
	}
	table := run("--top", "2", "--flame", "f.html", "--folded", "f.folded", "--out", "f.pb.gz")
	_, functions, ok := strings.Cut(table, "function\n")
	if n := strings.Count(functions, "\n"); !ok || n != 2 || !strings.Contains(table, "class") ||
		!strings.Contains(table, "samples in") {
		t.Errorf("%d functions:\n%s", n, table)
	}
	page, err := os.ReadFile(filepath.Join(dir, "f.html"))
	if err != nil || !bytes.Contains(page, []byte(`<g data-x="0.000000" data-w="1.000000" data-n="all">`)) ||
		!bytes.Contains(page, []byte(`class="find"`)) {
		t.Errorf("%v: %d bytes of a flame graph", err, len(page))
	}
	for _, name := range []string{"f.folded", "f.pb.gz"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	var o profileOutput
	if err := json.Unmarshal([]byte(run("--json")), &o); err != nil || o.Samples == 0 || len(o.Functions) == 0 ||
		len(o.Classes) == 0 || o.Hz != 999 {
		t.Errorf("%v: %+v", err, o)
	}
}
