// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
)

// image is a root for containers: busybox, and nothing else.
func image(t *testing.T) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v: apt-get install busybox-static (make test does)", err)
	}
	content, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, d := range []string{"bin", "proc", "sys", "dev", "tmp", "root", "usr", "etc"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/bin/busybox", content, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(
		"sh cat id uname stat sha256sum mktemp mkdir chmod mv rm touch ls sleep mount") {
		if err := os.Symlink("busybox", root+"/bin/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/etc/os-release", []byte("ID=test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// container is a command that runs its words in a container of the test's own: root, processes
// and mounts apart, in that network namespace.
func container(t *testing.T, ns *veth.Netns, root string) (spec string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "container")
	script := fmt.Sprintf(`#!/bin/sh
shift 2 # exec -i
exec nsenter --net=%[2]s unshare --mount --pid --fork --kill-child sh -c '
	mount -t proc proc %[1]s/proc && mount -t sysfs sysfs %[1]s/sys && exec chroot %[1]s "$@"' container env -i HOME=/root PATH=/bin "$@"
`, root, ns.Path())
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("busybox", root+"/bin/env"); err != nil {
		t.Fatal(err)
	}
	return "exec:" + name + " exec -i"
}

// A run between a container of busybox and a namespace that a command enters, with a layout on
// both; then its controller is killed: nobody is left, and the settings are as they were found.
func TestIntegrationExec(t *testing.T) {
	needRoot(t)
	built.Dir(t)
	pair := newPair(t)
	h := &twoHosts{pair: pair}
	root, home := image(t), t.TempDir()
	sut, tg := container(t, pair.SUT.Netns, root), "exec:nsenter --net="+pair.TG.Netns.Path()+" env HOME="+home
	args := func(out, duration string) []string {
		return []string{"run", "--sut", sut, "--tg", tg, "--dev", pair.SUT.Dev, "--rx", "tcp", "--tx", "tcp", "--touch",
			"verify", "--pace", "1G", "--layout", "1cpu",
			"--ramp-up", "200ms", "--duration", duration, "--gate", "foreign_cores=off", "--gate", "replace=0", "--out",
			out}
	}
	found := h.settings(t)
	out := filepath.Join(t.TempDir(), "out")
	path := "tg:" + pair.TG.Dev + ",sut:" + pair.SUT.Dev
	p := built.Start(t, "zcbench", append(args(out, "400ms"), "--path", path)...)
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	r := journal(t, out).Records[0]
	followed(t, r, path)
	if r.SUT.Name != sut || r.TG.Name != tg || r.SUT.Mismatches == nil || *r.SUT.Mismatches != 0 ||
		*r.SUT.TotalBytes == 0 || *r.SUT.TotalBytes != *r.TG.TotalBytes {
		t.Errorf("%s: %s; SUT %s, TG %s", r.Verdict, r.Reason, r.SUT.Name, r.TG.Name)
	}
	for _, dir := range []string{root + "/root", home} {
		if kept, _ := filepath.Glob(dir + "/.cache/zcbench/agent/*/zcbench"); len(kept) != 1 {
			t.Errorf("%s keeps %v", dir, kept)
		}
	}
	out = filepath.Join(t.TempDir(), "out")
	p = built.Start(t, "zcbench", append(args(out, "400ms"), "--path", path+",sut:nosuch9")...)
	if got, says := p.Wait(await.Hang), p.Err.String(); got != 2 || !strings.Contains(says, `path: host exec:`) ||
		!strings.Contains(says, `interface 3, "sut:nosuch9"`) || h.settings(t) != found {
		t.Errorf("exit status %d: %s; settings %s, had %s", got, says, h.settings(t), found)
	}
	p = built.Start(t, "zcbench", args(out, "10m")...)
	waitForFlow(t, pair, 50<<20)
	if h.settings(t) == found {
		t.Error("the layout set nothing")
	}
	commands := agentsOf(t, p)
	p.Signal(syscall.SIGKILL)
	p.Wait(await.Hang)
	mustEnd(t, commands)
	if now := ""; !await.So(func() bool { now = h.settings(t); return now == found }) {
		t.Fatalf("the hosts have RPS %s, had %s", now, found)
	}
}

// podman is a command that runs podman with state of the test's own, or why there is none.
func podman(t *testing.T) (command string) {
	t.Helper()
	long.Test(t)
	needRoot(t)
	runtime := ""
	for _, name := range []string{"runc", "crun"} { // crun 1.8 runs on no hybrid hierarchy of control groups
		if p, err := exec.LookPath(name); err == nil && runtime == "" {
			runtime = p
		}
	}
	if _, err := exec.LookPath("podman"); err != nil || runtime == "" {
		t.Skip("no podman with a runtime here: apt-get install podman runc (make test-long does)")
	}
	dir, err := os.MkdirTemp("", "zcpod-") // its names are too long for sockets in t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	command = filepath.Join(dir, "podman")
	script := fmt.Sprintf("#!/bin/sh\nexec podman --runtime %s --root %[2]s/root --runroot %[2]s/run --tmpdir "+
		"%[2]s/tmp --storage-driver vfs --cgroup-manager cgroupfs \"$@\"\n", runtime, dir)
	if err := os.WriteFile(command, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command(command, "rm", "-f", "-t", "0", "-a").Run()
		exec.Command("umount", "-l", dir+"/root/vfs").Run() // where it has mounted it over itself
		os.RemoveAll(dir)
	})
	return command
}

// A container of podman's, as a stand-in for a pod: the program is copied into it, and what keeps
// it from being a host is said.
func TestIntegrationExecPodman(t *testing.T) {
	command := podman(t)
	tar := filepath.Join(t.TempDir(), "image.tar")
	must := func(argv ...string) {
		t.Helper()
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", argv, err, out)
		}
	}
	must("tar", "-C", image(t), "-cf", tar, ".")
	must(command, "import", tar, "zcbench-test")
	var most syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most)
	out, err := exec.Command(command, "run", "-d", "--name", "box", "--network", "none", "--pull", "never", "--ulimit",
		fmt.Sprintf("nofile=%d:%d", most.Max, most.Max),
		"--ulimit", "nproc=1000:1000", "zcbench-test", "sleep", "600").CombinedOutput()
	if err != nil {
		t.Skipf("podman starts no container on this machine: %s", out)
	}
	for args, want := range map[string]string{
		"exec -i box":    "can run here: rx tcp",
		"exec box":       "need -i",
		"exec -t -i box": "its standard input is a terminal",
		"exec -i nobody": "podman ps",
	} {
		p := built.Start(t, "zcbench", "doctor", "--host", "exec:"+command+" "+args)
		got := p.Wait(await.Hang)
		if said := p.Out.String() + p.Err.String(); !strings.Contains(strings.Join(strings.Fields(said), " "),
			want) || (got == 0) != (args == "exec -i box") {
			t.Errorf("%s: exit status %d, want %q\n%s", args, got, want, said)
		}
	}
	p := built.Start(t, "zcbench", "run", "--sut", "exec:"+command+" exec -i box", "--tg",
		"exec:"+command+" exec -i box", "--addr", "127.0.0.1", "--rx", "tcp", "--tx", "tcp", "--duration", "400ms",
		"--gate", "foreign_cores=off", "--gate", "replace=0", "--out", filepath.Join(t.TempDir(), "out"))
	if got := p.Wait(await.Hang); got > 1 || !strings.Contains(p.Out.String(), "tcp") {
		t.Errorf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
}

// A file that has a program lead to a host is not run, nor is the program started, unless the
// user trusts the file; a host that the user names is theirs.
func TestExecInFiles(t *testing.T) {
	dir := t.TempDir()
	mark, join := filepath.Join(dir, "ran"), filepath.Join(dir, "join")
	if err := os.WriteFile(join, []byte("#!/bin/sh\ntouch "+mark+"\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "theirs.yaml")
	text := "name: theirs\nsut: {host: \"exec:" + join + " env\"}\ntg: {host: local}\nfactors: {rx: tcp, tx: " +
		"tcp}\nduration: 100ms\nramp_up: 50ms\nrepetitions: 1\nwarmup: false\ngates: {foreign_cores: off, replace: 0}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := func() bool { _, err := os.Stat(mark); os.Remove(mark); return err == nil }
	out := filepath.Join(dir, "out")
	for _, x := range []struct {
		args []string
		want int
		says string
		ran  bool
	}{
		{[]string{"matrix", file, "--out", out}, 2, "theirs.yaml:2:13: sut.host runs a program that the file " +
			"names: read the file, then allow it with --trust-file", false},
		{[]string{"matrix", file, "--dry-run"}, 0,
			"SUT: " + join + " env, and zcbench's own agent where that leads (" + file + ":2:13, needs --trust-file)",
			false},
		{[]string{"matrix", file, "--dry-run", "--trust-file"}, 0, "allowed by --trust-file", true},
		{[]string{"matrix", file, "--out", out + "-1", "--sut", "local"}, 0, "tcp", false},
		{[]string{"matrix", file, "--out", out, "--trust-file"}, 0, "tcp", true},
		{[]string{"rerun", out, "--out", out + "-2"}, 2, "sut.host runs a program that the file names", false},
		{[]string{"rerun", out, "--out", out + "-3", "--sut", "exec:" + join + " env"}, 0, "tcp", true},
		{[]string{"rerun", out, "--out", out + "-4", "--trust-file"}, 0, "tcp", true},
	} {
		p := built.Start(t, "zcbench", x.args...)
		got := p.Wait(await.Hang)
		said := strings.Join(strings.Fields(p.Out.String()+p.Err.String()), " ")
		if got != x.want && !(x.want == 0 && got == 1) || !strings.Contains(said, x.says) || ran() != x.ran {
			t.Errorf("%q: exit status %d, want %d, %q, started: %v\n%s%s", x.args, got, x.want, x.says, x.ran, &p.Out,
				&p.Err)
		}
	}
	if j := journal(t, out); len(j.Records) != 1 || j.Records[0].Verdict == results.Failed {
		t.Errorf("%+v", j.Records)
	}
	bad := strings.Replace(text, join+" env", "srun | tee", 1)
	if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	p := built.Start(t, "zcbench", "matrix", file, "--dry-run")
	if got := p.Wait(await.Hang); got != 2 || !strings.Contains(p.Err.String(), "theirs.yaml:2:13: sut: ") ||
		!strings.Contains(p.Err.String(), "column 6: | means") {
		t.Errorf("exit status %d\n%s", got, &p.Err)
	}
}
