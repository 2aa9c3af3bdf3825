// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// An interface that is in another network namespace is named with that namespace.
func TestIntegrationDeviceElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	p := newPair(t)
	defer func(before string) { namedNetns = before }(namedNetns)
	namedNetns = t.TempDir()
	name := filepath.Join(namedNetns, "rx-host")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(p.SUT.Netns.Path(), name, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(name, unix.MNT_DETACH)
	if _, err := deviceHere(p.SUT.Dev, ""); err == nil ||
		!strings.Contains(err.Error(), "no such interface in this network namespace, which has: ") ||
		!strings.Contains(err.Error(), "it is there with --netns rx-host") {
		t.Errorf("in another namespace: %v", err)
	}
	if _, err := deviceHere("zcnowhere", "tx"); err == nil ||
		!strings.Contains(err.Error(), "in network namespace tx") ||
		!strings.Contains(err.Error(), "with --netns (ip netns list)") {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := openNetns("zcnowhere"); err == nil ||
		!strings.HasSuffix(err.Error(), "/run/netns/zcnowhere: no such file or directory (ENOENT); there are rx-host") {
		t.Errorf("no such namespace: %v", err)
	}
	if i, err := deviceHere("lo", ""); err != nil || i.Name != "lo" {
		t.Errorf("lo: %v, %v", i, err)
	}
	if got, want := quiet("", "", false), "nothing was received by this network namespace (softirqs are counted "+
		"for the whole machine); traffic of containers and of namespaces is seen with --netns (here: rx-host)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := quiet("eth0", "rx", true); !strings.Contains(got,
		"by eth0 of network namespace rx that the filters let pass") || strings.Contains(got, "--netns") {
		t.Errorf("%q", got)
	}
}

// probe and ksft say that there is nothing to see where they look, and name --netns.
func TestIntegrationNothingHere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces, loads eBPF programs")
	}
	ns, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	program := filepath.Join(built.Dir(t), "zcbench")
	run := func(env []string, args ...string) string {
		var out []byte
		_ = ns.Do(func() error {
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), env...)
			out, _ = cmd.CombinedOutput()
			return nil
		})
		return strings.Join(strings.Fields(string(out)), " ")
	}
	if got := run(nil, "probe", "--duration", "200ms"); !strings.Contains(got,
		"no packets: nothing was received by this network namespace") || !strings.Contains(got, "--netns") {
		t.Errorf("probe without traffic: %s", got)
	}
	if got := run(nil, "probe", "--dev", "eth9", "--duration", "200ms"); !strings.Contains(got,
		"no such interface in this network namespace, which has: lo; ") || !strings.Contains(got, "--netns") {
		t.Errorf("probe without the interface: %s", got)
	}
	ksft := []string{"NETIF=eth9", "LOCAL_V4=10.0.0.1", "REMOTE_V4=10.0.0.2", "REMOTE_TYPE=netns",
		"REMOTE_ARGS=nowhere"}
	if got := run(ksft, "ksft", "--dir", t.TempDir()); !strings.Contains(got,
		"NETIF=eth9: there is no such interface in this network namespace") || !strings.Contains(got, "--netns") {
		t.Errorf("ksft without the interface: %s", got)
	}
}
