// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
)

// The tests of booting need QEMU, a filled cache (or a network to fill it) and
// minutes: they run when this is set, as make test-lab does.
const integrationEnv = "ZCBENCH_LAB_TEST"

// helperEnv makes the test binary behave like a command that is run in the
// guest.
const helperEnv = "ZCBENCH_LAB_HELPER"

func TestMain(m *testing.M) {
	if guest.IsInit() {
		guest.Main()
	}
	if path := os.Getenv(hostEnv); path != "" {
		os.Exit(hostHelper(path))
	}
	if h := os.Getenv(helperEnv); h != "" && os.Getenv(guest.Env) != "" {
		os.Exit(helper(h))
	}
	os.Exit(m.Run())
}

// helper is the command in the guest.
func helper(what string) int {
	switch what {
	case "files":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		out := os.Getenv("OUT")
		os.MkdirAll(filepath.Join(out, "sub"), 0o755)
		os.WriteFile(filepath.Join(out, "sub/big"), bytes.Repeat([]byte("zcbench\n"), 1<<20), 0o644)
		data, err := os.ReadFile("testdata/carried")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		os.Stdout.Write(data)
		return 42
	case "leave":
		return leave()
	case "change":
		if err := os.Chmod("/etc/hosts", 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	case "look":
		return look()
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGTERM)
	case "orphan":
		// A process that outlives the command must not keep the guest up.
		p, err := os.StartProcess("/init", []string{"/init"}, &os.ProcAttr{
			Env: append(os.Environ(), helperEnv+"=hang"), Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			return 1
		}
		p.Release()
		return 0
	case "hang":
		signal.Ignore(syscall.SIGQUIT, syscall.SIGTERM)
	case "uptime":
		b, err := os.ReadFile("/proc/uptime")
		if err != nil {
			return 1
		}
		os.Stdout.Write(b)
		return 0
	case "moment":
		b, err := os.ReadFile("/proc/sys/kernel/random/uuid")
		if err != nil {
			return 1
		}
		fmt.Println(time.Now().Format(time.RFC3339Nano), string(b))
		return 0
	case "warn":
		os.WriteFile("/dev/kmsg", []byte("<4>WARNING: made by a test\n"), 0)
		return 0
	case "panic":
		os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0)
	}
	await.Kill()
	return 1
}

// exec runs a helper in the guest.
func execHelper(t *testing.T, what string, o ExecOptions) (exit int, stdout, log string, err error) {
	t.Helper()
	var out, errs, logs bytes.Buffer
	o.Args = []string{os.Args[0]}
	o.Env = append(o.Env, helperEnv+"="+what)
	o.Out = filepath.Join(t.TempDir(), "out")
	o.Stdout, o.Stderr, o.Log = &out, &errs, &logs
	exit, err = Exec(t.Context(), o)
	t.Logf("%s: exit status %d, %v; stderr %q", what, exit, err, errs.String())
	if what == "files" {
		checkFiles(t, o.Out, errs.String())
	}
	return exit, out.String(), logs.String(), err
}

func checkFiles(t *testing.T, out, stderr string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(out, "sub/big"))
	if err != nil || !bytes.Equal(got, bytes.Repeat([]byte("zcbench\n"), 1<<20)) {
		t.Errorf("the file under $OUT: %d bytes, %v", len(got), err)
	}
	if stderr != "to stderr\n" {
		t.Errorf("standard error is %q", stderr)
	}
}

func needIntegration(t *testing.T) {
	t.Helper()
	if why := os.Getenv("ZCBENCH_LAB_WHY"); why != "" {
		t.Skip("no lab here: " + why)
	}
	if os.Getenv(integrationEnv) == "" {
		t.Skipf("boots the lab: set %s=1, or run make test-lab", integrationEnv)
	}
	if err := checkStatic(os.Args[0]); err != nil {
		t.Skipf("the test binary is the guest's /init: run with CGO_ENABLED=0 (%v)", err)
	}
	noQEMULeft(t)
}

// noQEMULeft checks at the end of the test that this process has no child.
func noQEMULeft(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		lists, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil || len(lists) == 0 {
			t.Fatalf("cannot list this process's children: %v", err)
		}
		for _, l := range lists {
			b, _ := os.ReadFile(l) // a thread may end meanwhile
			if kids := strings.TrimSpace(string(b)); kids != "" {
				t.Errorf("processes left: %s", kids)
			}
		}
	})
}

// resumable are options of a machine that goes on from the state of one before, where there is one:
// it takes a command as one that boots does, and sooner.
var resumable = ExecOptions{MachineOptions: MachineOptions{Resume: true}}

func TestIntegrationLabExitStatus(t *testing.T) {
	needIntegration(t)
	exit, stdout, _, err := execHelper(t, "files", resumable)
	if exit != 42 || err != nil {
		t.Errorf("exit status %d, %v; want 42", exit, err)
	}
	if stdout != "to stdout\ncarried into the guest\n" {
		t.Errorf("standard output is %q", stdout)
	}
	if exit, _, _, err := execHelper(t, "killed", resumable); exit != 128+15 || err != nil {
		t.Errorf("killed by SIGTERM: %d, %v", exit, err)
	}
	if exit, _, _, err := execHelper(t, "orphan", resumable); exit != 0 || err != nil {
		t.Errorf("with an orphan: %d, %v", exit, err)
	}
}

func TestIntegrationLabTimeout(t *testing.T) {
	needIntegration(t)
	o := resumable
	o.Timeout = 3 * time.Second // of the command: the boot before it has its own
	exit, _, _, err := execHelper(t, "hang", o)
	if exit != ExitTimeout || err == nil {
		t.Errorf("exit status %d, %v; want %d", exit, err, ExitTimeout)
	}
}

// A kernel that complains fails the run although the command was content.
func TestIntegrationLabComplaint(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	exit, _, log, err := execHelper(t, "warn", ExecOptions{})
	if exit != ExitTrouble || err == nil || !strings.Contains(log, "WARNING: made by a test") {
		t.Errorf("exit status %d, %v; log:\n%s", exit, err, log)
	}
}

func TestIntegrationLabPanic(t *testing.T) {
	long.Test(t)
	needIntegration(t)
	exit, _, log, err := execHelper(t, "panic", ExecOptions{})
	if exit != ExitTrouble || err == nil || !strings.Contains(log, "sysrq triggered crash") {
		t.Errorf("exit status %d, %v; log:\n%s", exit, err, log)
	}
}

// Ctrl-C, or whatever cancels the context, ends the machine at once.
func TestIntegrationLabCancel(t *testing.T) {
	kind.Timed(t)
	needIntegration(t)
	const after, atOnce = 3 * time.Second, 12 * time.Second
	ctx, begun := await.Ending(t, after), time.Now()
	exit, err := Exec(ctx, ExecOptions{Args: []string{os.Args[0]}, Env: []string{helperEnv + "=hang"},
		Out: t.TempDir()})
	var le *Error
	if took := time.Since(begun); exit == 0 || !errors.As(err, &le) || took > after+atOnce {
		t.Errorf("exit status %d, %v, %v after the context had ended", exit, err, took-after)
	}
}

func TestIntegrationLabNotFound(t *testing.T) {
	needIntegration(t)
	if exit, err := Exec(t.Context(), ExecOptions{Args: []string{"/no/such/program"}}); exit != exitNotFind ||
		err == nil {
		t.Errorf("exit status %d, %v; want %d", exit, err, exitNotFind)
	}
}
