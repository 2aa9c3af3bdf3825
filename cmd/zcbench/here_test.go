// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/doctor"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Five lines say what a machine is, and what is proposed is what it can do.
func TestAboutHere(t *testing.T) {
	for _, x := range []struct {
		name  string
		brief doctor.Brief
		kvm   bool
		want  []string
	}{
		{"a server", doctor.Brief{Kernel: "7.0.1", CPUs: 64, Admin: true,
			Cards: []doctor.Card{{Dev: "eth0", Driver: "igb"}, {Dev: "eth1", Driver: "mlx5_core", Known: true,
				Since: "6.17", Takes: true}}},
			true, []string{"eth1 (mlx5_core): can do zcrx", "a driver zcbench does not know", "KVM found",
				"  zcbench demo ", "doctor --dev eth1", "no settings left behind"}},
		{"a laptop", doctor.Brief{Kernel: "6.1.0", CPUs: 4, Ring: unix.EPERM, Left: 2}, false,
			[]string{"no CAP_NET_ADMIN", "operation not permitted", "none: zcrx", "emulated",
				"run --sut local --tg local", "sudo zcbench demo", "2 killed runs"}},
		{"one run was killed", doctor.Brief{Kernel: "6.1.0", CPUs: 4, Left: 1}, false,
			[]string{"a killed run left settings behind: zcbench restore"}},
		{"an older kernel", doctor.Brief{Kernel: "6.12.1", CPUs: 2, Admin: true, Left: -1,
			Cards: []doctor.Card{{Dev: "ens3", Known: true, Since: "6.16", Driver: "bnxt_en"}}}, true,
			[]string{"from Linux 6.16 on", "cannot be read", "doctor --dev ens3"}},
	} {
		lines := aboutHere(x.brief, x.kvm)
		if len(lines) != 5 {
			t.Errorf("%s: %d lines", x.name, len(lines))
		}
		var b bytes.Buffer
		for _, l := range lines {
			b.WriteString(l[0] + " " + l[1] + "\n")
		}
		nextHere(&b, x.brief)
		for _, want := range x.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", x.name, want, &b)
			}
		}
	}
}

// After a demo nothing is proposed that cannot be done: no comparison of one cell, no NIC that is
// not there.
func TestSayNext(t *testing.T) {
	ran := func(ids ...string) (recs []results.Record) {
		for _, id := range ids {
			recs = append(recs, results.Record{Cell: plan.Cell{ID: id}, Verdict: results.OK},
				results.Record{Cell: plan.Cell{ID: "c"}, Verdict: results.Invalid},
				results.Record{Cell: plan.Cell{ID: "w"}, Verdict: results.OK, Warmup: true})
		}
		return recs
	}
	f := decideFlags{out: "out/demo"}
	for _, x := range []struct {
		recs          []results.Record
		dev           string
		want, wantNot string
	}{
		{ran("a", "b"), "ens3", " compare out/demo ", "eth0"},
		{ran("a", "a"), "ens3", " doctor --dev ens3 ", " compare "},
		{ran("a"), "", " doctor ", "--dev"},
	} {
		var b bytes.Buffer
		cmd := &cobra.Command{Use: "zcbench"}
		cmd.SetErr(&b)
		f.sayNext(cmd, comparable(x.recs), x.dev)
		if !strings.Contains(b.String(), x.want) || strings.Contains(b.String(), x.wantNot) {
			t.Errorf("%q in and %q not in\n%s", x.want, x.wantNot, &b)
		}
	}
}

// nobody runs a command as a user without capabilities, whose home is not there.
func nobody(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	needRoot(t)
	dir := built.Dir(t)
	for d := dir; d != "/"; d = filepath.Dir(d) { // others may not look into a test's folder
		if st, err := os.Stat(d); err != nil || st.Mode().Perm()&0o005 != 0o005 {
			if err := os.Chmod(d, 0o755); d != dir || err != nil {
				t.Skipf("other users cannot get into %s", d)
			}
		}
	}
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=/nonexistent", "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{}}}
	return cmd
}

// Without a command it says what to do here: anybody may ask, at once, and nothing is sent.
func TestHere(t *testing.T) {
	for name, cmd := range map[string]*exec.Cmd{"as root": exec.Command(filepath.Join(built.Dir(t), "zcbench")),
		"as nobody": nobody(t, "zcbench")} {
		p := built.StartCommand(t, cmd)
		if status := p.Wait(await.Hang); status != 0 || p.Err.Len() > 0 {
			t.Errorf("%s: exit status %d: %s", name, status, &p.Err)
		}
		for _, want := range []string{"machine ", "io_uring ", "NICs ", "lab ", "settings ", "What to do here:",
			"zcbench lab demo", "zcbench doctor"} {
			if !strings.Contains(p.Out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, &p.Out)
			}
		}
		for line := range strings.Lines(p.Out.String()) {
			if n := utf8.RuneCountInString(line); n > 101 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}
