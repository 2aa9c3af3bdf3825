// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
)

// sampleFolder is a results folder with one run of this machine.
func sampleFolder(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if p := built.Shell(t, `exec `+shortRun+` --duration 200ms --out "$1"`, out); p.Wait(await.Hang) != 0 {
		// Other work on this machine makes runs invalid; the folder is there all the same.
		journal(t, out)
	}
	return out
}

// Output that could not be written is no success, whichever command it was of.
func TestOutputLost(t *testing.T) {
	out := sampleFolder(t)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(plan, []byte(killed), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"zcbench", "zcbench --help", "zcbench help run", "zcbench --version", "zcbench version",
		"zcbench version --json",
		"zcbench completion bash", "zcbench __complete run --rx z",
		"zcbench doctor", "zcbench doctor --json", "zcbench doctor --fix", "zcbench restore", "zcbench restore --json",
		"zcbench matrix --dry-run " + plan, "zcbench power --source list", "zcbench report " + out,
		"zcbench report --json " + out,
		"zcbench report --idle " + out, "zcbench export --csv --json --benchfmt " + out, "zcbench compare " + out +
			" " + out, "zcbench compare --json " + out + " " + out,
		shortRun + " --duration 200ms", shortRun + " --duration 200ms --json",
		"zcrecv --help", "zcrecv --version", "zcsend --help",
		"zcrecv --mode zcrx --dev lo --json --listen 127.0.0.1:0 --accept-timeout 100ms",
		"zcsend --json --connect-timeout 100ms 127.0.0.1:1",
	} {
		t.Run(strings.ReplaceAll(line, "/", "_"), func(t *testing.T) {
			p := built.Shell(t, line+" >/dev/full")
			if status := p.Wait(await.Hang); status != 1 {
				t.Errorf("exit status %d", status)
			}
			if !strings.Contains(p.Err.String(), "write the output: no space left on device") {
				t.Errorf("said: %s", &p.Err)
			}
		})
	}
}

// A log that cannot be written is not what was asked for: the command goes on.
func TestStderrLost(t *testing.T) {
	p := built.Shell(t, "exec "+shortRun+" --duration 200ms 2>/dev/full")
	if p.Wait(await.Hang); !strings.Contains(p.Out.String(), "Gbit/s") {
		t.Errorf("exit status %d: %s", p.ProcessState.ExitCode(), &p.Out)
	}
}

// snapshotKiB is what the snapshot of this host takes in a results folder, in whole pages.
func snapshotKiB(t *testing.T) (kib int64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if p := built.Shell(t, shortRun+" --duration 200ms --out "+dir); p.Wait(await.Hang) > 1 {
		t.Fatal(&p.Err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "environment"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Size() > 4096 { // cells have less
			kib += (info.Size() + 4095) / 4096 * 4
		}
	}
	return kib
}

// tcpRow is the line of a table about rx mode tcp and tx mode tcp, however wide its columns are.
var tcpRow = regexp.MustCompile(`(?m)^\s*tcp\s+tcp\s`)

// A disk that becomes full does not take the table of the finished runs with it, neither
// when there is room for the journal alone nor when there is none for the last run.
func TestIntegrationFullDisk(t *testing.T) {
	needRoot(t)
	for name, x := range map[string]struct{ options, want string }{
		"room for the journal": {"nr_inodes=5", "runs.csv: "}, // and for the snapshot of the host
		"no room for a run":    {fmt.Sprintf("size=%dk", snapshotKiB(t)+12), "to journal: "},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := built.ShellCommand(t, `mount -t tmpfs -o "$2" none "$1" || exit 77
				exec `+shortRun+` --duration 200ms --repetitions 2 --out "$1/out"`, t.TempDir(), x.options)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // the mount goes with it
			p := built.StartCommand(t, cmd)
			if status := p.Wait(await.Hang); status != 1 {
				t.Errorf("exit status %d", status)
			}
			if table := p.Out.String(); !tcpRow.MatchString(table) || strings.Contains(table, "not run") {
				t.Errorf("no table of the finished runs: %s", table)
			}
			for _, want := range []string{x.want, "no space left on device", "fix: free space",
				"zcbench export --csv"} {
				if !strings.Contains(p.Err.String(), want) {
					t.Errorf("not said: %q in %s", want, &p.Err)
				}
			}
		})
	}
}
