// SPDX-License-Identifier: MIT

package host_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host/sshtest"
	"golang.org/x/sys/unix"
)

// oldDir is a folder with a file in it that nobody has touched for months.
func oldDir(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zcbench"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	ago := time.Now().AddDate(0, 0, -100)
	if err := os.Chtimes(dir, ago, ago); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The folder that ZCBENCH_AGENT_DIR names is others', too: nothing of theirs goes.
// In ours, programs that are not used go, unless somebody only looks.
func TestIntegrationSSHLeavesOthersAlone(t *testing.T) {
	f := newFar(t)
	dir := t.TempDir()
	t.Setenv("ZCBENCH_AGENT_DIR", dir)
	name := strings.Repeat("0123456789abcdef", 4)
	var theirs []string
	for _, n := range []string{"backup", "containerd", "data", "amazon", "deadbeef", "0", name} {
		theirs = append(theirs, oldDir(t, dir, n))
	}
	theirs = append(theirs, oldDir(t, dir, "zcbench-agent", "backup"), oldDir(t, dir, "zcbench-agent", name+"0"))
	unused := oldDir(t, dir, "zcbench-agent", name)
	for _, c := range []struct {
		look bool
		left bool
	}{{look: true, left: true}, {look: false, left: false}} {
		programs, _ := filepath.Glob(dir + "/zcbench-agent/*/.*")
		if len(programs) > 0 {
			t.Errorf("left: %v", programs)
		}
		o := options()
		o.KeepLeases = c.look
		h, err := f.dial("ssh:box", o)
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.Info.PID))
		if err != nil || filepath.Dir(filepath.Dir(exe)) != dir+"/zcbench-agent" {
			t.Errorf("the agent is %s, %v", exe, err)
		}
		h.Close()
		os.Remove(exe) // the next one copies it again
		for _, d := range theirs {
			if b, err := os.ReadFile(d + "/zcbench"); err != nil || string(b) != "precious" {
				t.Errorf("look only %v: %s: %v", c.look, d, err)
			}
		}
		if _, err := os.Stat(unused); (err == nil) != c.left {
			t.Errorf("look only %v: the unused program: %v", c.look, err)
		}
	}
}

// Where a stranger could swap the program, it is not even looked at.
func TestIntegrationSSHStrangers(t *testing.T) {
	f := newFar(t)
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZCBENCH_AGENT_DIR", shared)
	h := f.mustDial("ssh:box")
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.Info.PID))
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	os.Chown(shared, 4711, 4711)
	f.refused("ssh:box", "shared belongs to user 4711")
	os.Chown(shared, 0, 0)
	os.Chmod(shared, 0o777)
	f.refused("ssh:box", "shared is writable by everybody")
	os.Chmod(shared, 0o755)
	os.Chown(exe, 0, 4711)
	os.Chmod(exe, 0o770)
	f.refused("ssh:box", "zcbench is writable by group 4711")
	os.Chmod(exe, 0o700)
	f.mustDial("ssh:box")
}

// The agent is what was hashed, also where somebody swaps the program right then,
// and a process like others: by its name, and without a descriptor that it would
// hand on.
func TestIntegrationSSHSwapped(t *testing.T) {
	bin := t.TempDir()
	f := newFar(t, strings.Replace(path, "PATH=", "PATH="+bin+":", 1)).placed()
	h := f.mustDial("ssh:box")
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.Info.PID))
	if err != nil {
		t.Fatal(err)
	}
	if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", h.Info.PID)); string(comm) != "zcbench\n" {
		t.Errorf("the agent's name is %q", comm)
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", h.Info.PID))
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); strings.HasPrefix(to, filepath.Dir(exe)) {
			t.Errorf("%s is %s", fd, to)
		}
	}
	h.Close()
	sshtest.Program(t, bin, "evil", "touch "+bin+"/ran")
	sshtest.Program(t, bin, "sha256sum", "/usr/bin/sha256sum; cp "+bin+"/evil "+bin+"/new; mv "+bin+"/new "+exe)
	f.mustDial("ssh:box")
	var st unix.Stat_t
	if err := unix.Stat(exe, &st); err != nil || st.Size > 1000 {
		t.Fatalf("the program was not swapped: the test proves nothing (%d bytes, %v)", st.Size, err)
	}
	if _, err := os.Stat(bin + "/ran"); err == nil {
		t.Error("what was put in the program's place ran")
	}
}

// Addresses of IPv6 reach their host in every form, with a zone, too.
func TestIntegrationSSHv6(t *testing.T) {
	f := newFar(t).placed()
	v6 := f.pair.SUT.IPv6
	if v6 == nil {
		t.Skip("this kernel has no IPv6")
	}
	f.Also(f.pair.SUT.Netns, v6.String())
	for _, form := range []string{"ssh:root@[%s]:22", "ssh://[%s]", "ssh:%s"} {
		f.mustDial(fmt.Sprintf(form, v6)).Close()
	}
	f.refused(fmt.Sprintf("ssh:root@[%s]:23", v6), "Connection refused")
	// it listens on the other
	f.refused(fmt.Sprintf("ssh:root@[%s%%%s]:22", f.linkLocal(), f.pair.TG.Dev), "Connection refused")
}

// linkLocal is the far host's address of that kind.
func (f *far) linkLocal() (ip net.IP) {
	f.t.Helper()
	err := f.pair.SUT.Netns.Do(func() error {
		dev, err := net.InterfaceByName(f.pair.SUT.Dev)
		if err != nil {
			return err
		}
		addrs, err := dev.Addrs()
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsLinkLocalUnicast() && n.IP.To4() == nil {
				ip = n.IP
			}
		}
		return err
	})
	if err != nil || ip == nil {
		f.t.Fatalf("no link-local address: %v", err)
	}
	return ip
}
