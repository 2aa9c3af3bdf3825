// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
)

// emulator runs programs for arm64 on this machine.
func emulator(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH == "arm64" {
		t.Skip("this machine is an arm64")
	}
	need(t, "qemu-aarch64-static")
	p, err := exec.LookPath("qemu-aarch64-static")
	must(t, err)
	return p
}

// The programs of the arm64 package say what they are, and move a flow over loopback, every byte
// of which is compared. What qemu-user has not, they call unsupported.
func TestIntegrationARM64Programs(t *testing.T) {
	long.Test(t)
	qemu, bin := emulator(t), filepath.Join(unpacked(t, "arm64"), "usr/bin")
	run := func(want int, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(await.Context(t), qemu, append([]string{filepath.Join(bin, name)}, args...)...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s %v: exit status %d, %v, want %d\n%s", name, args, got, err, want, out)
		}
		return string(out)
	}
	if got := run(0, "zcbench", "version"); !strings.Contains(got, "linux/arm64") ||
		!strings.Contains(got, "giouring") {
		t.Error(got)
	}
	native := command(t, filepath.Join(unpacked(t, runtime.GOARCH), "usr/bin/zcbench"), "run", "--help-all")
	if got := run(0, "zcbench", "run", "--help-all"); got != native {
		t.Errorf("its help is another one:\n%s", got)
	}
	run(0, "zcbench", "explain", "zcrx")
	run(2, "zcbench", "run", "--rx", "nonsense")
	if got := run(1, "zcrecv", "--mode", "uring", "--listen", "127.0.0.1:0"); !strings.Contains(got,
		"not supported here") {
		t.Errorf("a ring that qemu-user has not: %s", got)
	}
	flow(t, qemu, bin)
}

// flow moves a verified flow between emulated programs.
func flow(t *testing.T, qemu, bin string) {
	t.Helper()
	ctx := await.Context(t)
	recv := exec.CommandContext(ctx, qemu, filepath.Join(bin, "zcrecv"), "--listen", "127.0.0.1:0", "--touch", "verify",
		"--accept-timeout", "3m", "--duration", "5s", "--verbose")
	stderr, err := recv.StderrPipe()
	must(t, err)
	var out strings.Builder
	recv.Stdout = &out
	must(t, recv.Start())
	said, addr := "", ""
	for b := make([]byte, 4096); addr == ""; {
		n, err := stderr.Read(b)
		said += string(b[:n])
		if m := regexp.MustCompile(`listening on (\S+:\d+),`).FindStringSubmatch(said); m != nil {
			addr = m[1]
		} else if err != nil {
			t.Fatalf("zcrecv does not listen: %s", said)
		}
	}
	go func() {
		for b := make([]byte, 4096); ; {
			if _, err := stderr.Read(b); err != nil {
				return
			}
		}
	}()
	sent, err := exec.CommandContext(ctx, qemu, filepath.Join(bin, "zcsend"), "--mode", "sendfile", "--message-size",
		"1M", "--duration", "5s", "--json", addr).Output()
	if err != nil {
		t.Errorf("zcsend: %v: %s", err, sent)
	}
	if err := recv.Wait(); err != nil {
		t.Errorf("zcrecv: %v: %s", err, out.String())
	}
	var r struct {
		Verdict string
		Bytes   int64
	}
	if err := json.Unmarshal(sent, &r); err != nil || r.Verdict != "ok" || r.Bytes < 1<<20 {
		t.Errorf("%v: %s", err, sent)
	}
	t.Logf("zcrecv: %s\nzcsend: %s", out.String(), sent)
}

// emulated are packages whose tests need no more of a kernel than qemu-user has.
var emulated = []string{"./internal/units", "./internal/plaintext", "./results", "./results/stat", "./results/gobench",
	"./bench/wire", "./machine/setting", "./profile"}

// beyond are tests that start their binary again, without the emulator, or load eBPF programs; and
// those that simulate experiments or cut journals by the hundred, which emulated takes minutes.
// Statistics of known numbers (TestTypicalValues and its like), records and journals stay.
const beyond = `^TestAttachKilled$|^TestParseFindsHeaders|^TestQuickAgrees$|^Test(Journal|Resume)Cut` +
	`|^TestFindable$|^TestBootEffects$|^TestWithinBoots$|^TestRunsAbout$`

// structs are tests of what kernel and programs must agree on to the byte.
const structs = `Size|Struct|Layout|UAPI|Offset|Parse|Decode|Pattern`

// ofKernel are packages with such tests.
var ofKernel = []string{"./flow/uring", "./machine/nic", "./machine/place", "./profile/perf", "./zc/dmabuf",
	"./packet/xdp", "./power"}

// Unit tests, among them all of the kernel's structs, pass as arm64.
func TestARM64Units(t *testing.T) {
	long.Test(t)
	qemu := emulator(t)
	for _, args := range [][]string{
		append([]string{"-skip", beyond}, emulated...),
		append([]string{"-skip", beyond, "-run", structs}, ofKernel...),
	} {
		cmd := exec.Command("go", append([]string{"test", "-vet=off", "-exec", qemu, "-timeout", "20m"}, args...)...)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0", long.Env+"=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		t.Logf("%s", out)
	}
}

// heldUp reports whether a run is invalid because other work kept it off the CPUs, which says
// nothing of the program: it is made again.
func heldUp(said string) bool {
	return strings.Contains(said, "its edges ") || strings.Contains(said, "no payload was transferred in the window")
}

// A controller of this architecture copies to a host that says aarch64 the arm64 program of its
// package, which answers. ssh is a shell here, and what the host would run an emulator runs: the
// exec of knock.sh is the one word that is changed on the way.
func TestIntegrationARM64Agent(t *testing.T) {
	long.Test(t)
	qemu, dir := emulator(t), unpacked(t, runtime.GOARCH)
	home := t.TempDir()
	put(t, filepath.Join(home, "bin/uname"),
		"#!/bin/sh\ncase $1 in -m) echo aarch64 ;; *) exec /bin/uname \"$@\" ;; esac\n")
	put(t, filepath.Join(home, "bin/ssh"), `#!/bin/bash
line=${!#}
export HOME=`+home+`/far PATH=`+home+`/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$HOME"
unset XDG_CACHE_HOME
exec /bin/sh -c "${line//exec \/proc\/self\/fd\/9/exec `+qemu+` \/proc\/self\/fd\/9}"
`)
	for _, p := range []string{"uname", "ssh"} {
		must(t, os.Chmod(filepath.Join(home, "bin", p), 0o755))
	}
	zcbench := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(await.Context(t), filepath.Join(dir, "usr/bin/zcbench"), args...)
		cmd.Env = append(os.Environ(), "ZCBENCH_SSH="+filepath.Join(home, "bin/ssh"))
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want && !(got == 1 && heldUp(string(out))) {
			t.Errorf("%v: exit status %d, %v, want %d\n%s", args, got, err, want, out)
		}
		return string(out)
	}
	said := zcbench(0, "doctor", "--host", "ssh:root@arm")
	t.Log(said)
	if !strings.HasPrefix(said, "host ssh:root@arm, zcbench ") {
		t.Error(said)
	}
	sum := strings.Fields(command(t, "sha256sum", filepath.Join(dir, "usr/lib/zcbench/agents/linux-arm64/zcbench")))[0]
	there := filepath.Join(home, "far/.cache/zcbench/agent", sum, "zcbench")
	if _, err := os.Stat(there); err != nil {
		t.Errorf("the agent for arm64 was not copied: %v", err)
	}
	for n := 1; ; n++ {
		out := filepath.Join(home, fmt.Sprint("out", n))
		said = zcbench(0, "run", "--sut", "ssh:root@arm", "--tg", "local", "--dev", "lo", "--rx", "tcp", "--tx", "tcp",
			"--touch", "verify", "--duration", "1s", "--gate", "foreign_cores=off", "--gate", "replace=0", "--out", out)
		t.Log(said)
		if !heldUp(said) {
			break
		}
		if n == 20 {
			t.Fatal("other work kept the CPUs busy in each run")
		}
	}
	if err := os.Remove(filepath.Join(dir, "usr/lib/zcbench/agents/linux-arm64/zcbench")); err != nil {
		t.Fatal(err)
	}
	said = zcbench(1, "doctor", "--host", "ssh:root@arm")
	for _, want := range []string{"it is Linux/aarch64", "agents/linux-arm64/zcbench is not there", "make package"} {
		if !strings.Contains(said, want) {
			t.Errorf("lacks %q: %s", want, said)
		}
	}
}
