// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/cmd/internal/ktap/ktaptest"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/plantest"
)

// folder is a results folder of a journal that was made up.
func folder(t *testing.T, name string, j results.Journal) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	w, err := results.Create(dir, j.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Records {
		r.SessionID, r.RunID = fmt.Sprint(name, r.Rep), name+r.RunID // a replay of each repetition
		err = errors.Join(err, w.Append(r))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// compared is what compare prints, its messages, and the exit status.
func compared(t *testing.T, args ...string) (out, messages string, status int) {
	t.Helper()
	cmd := compareCommand()
	var stdout, stderr strings.Builder
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		status = cli.Failed
		if s := (*cli.StatusError)(nil); errors.As(err, &s) {
			status = s.Status
		}
	}
	return stdout.String(), stderr.String(), status
}

func made(rx string, gbps float64, more ...func(*plantest.Cell)) plantest.Cell {
	c := plantest.Cell{Cell: plantest.Modes(rx, "tcp"), Gbps: gbps, Cores: 1, CV: .002}
	for _, m := range more {
		m(&c)
	}
	return c
}

func TestCompareKTAP(t *testing.T) {
	few := func(c *plantest.Cell) { c.Most = 2 }
	ends := func(v results.Verdict, reason string) func(*plantest.Cell) {
		return func(c *plantest.Cell) { c.Verdict, c.Reason = v, reason }
	}
	a := folder(t, "a", plantest.Journal(1, 12, made("tcp", 20), made("uring", 20), made("zcrx", 40),
		made("devmem", 40), made("tcp-mmap", 0, ends(results.Unsupported, "no split")),
		made("zcrx-nodev", 30, few), made("tcp-trunc", 50)))
	b := folder(t, "b", plantest.Journal(2, 12, made("tcp", 20), made("uring", 16),
		made("zcrx", 0, ends(results.Unsupported, "the kernel has no zcrx")),
		made("devmem", 0, ends(results.Invalid, "all was copied")), made("tcp-mmap", 9), made("zcrx-nodev", 30, few)))
	for _, x := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{a, b, "--ktap", "--fail-if-slower", "5%"}, 1, []string{"tcp/tcp ok ", "uring/tcp not ok ",
			"zcrx/tcp not ok ", "devmem/tcp not ok ", "tcp-mmap/tcp ok ",
			"zcrx-nodev/tcp SKIP cannot tell: throughput_gbps may be worse by more than 5%",
			"tcp-trunc/tcp SKIP B has no such cell"}},
		// Without a criterion it is not asked how fast.
		{[]string{a, b, "--ktap"}, 1, []string{"tcp/tcp ok ", "uring/tcp ok ", "zcrx/tcp not ok ", "devmem/tcp not ok ",
			"tcp-mmap/tcp ok ", "zcrx-nodev/tcp ok ", "tcp-trunc/tcp SKIP B has no such cell"}},
		{[]string{a + "@rx=tcp", b + "@rx=tcp", "--ktap", "--fail-if-slower", "5%"}, 0, []string{"tcp/tcp ok "}},
		{[]string{a + "@rx=zcrx-nodev", b + "@rx=zcrx-nodev", "--ktap", "--fail-if-slower", "5%"}, 4,
			[]string{"zcrx-nodev/tcp SKIP cannot tell: throughput_gbps may be worse by more than 5%"}},
		{[]string{a + "@rx=zcrx-nodev", b + "@rx=zcrx-nodev", "--ktap", "--fail-if-slower", "5%", "--if-unsure", "125"},
			125, []string{"zcrx-nodev/tcp SKIP cannot tell: throughput_gbps may be worse by more than 5%"}},
		{[]string{a + "@rx=zcrx", b + "@rx=zcrx", "--ktap", "--if-unsure", "125"}, 1, []string{"zcrx/tcp not ok "}},
	} {
		out, messages, status := compared(t, x.args...)
		all, err := ktaptest.Parse(out)
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s %s %s", s.Name, s.Status(), s.Reason))
		}
		if d := cmp.Diff(x.want, got); err != nil || status != x.status || d != "" {
			t.Errorf("%q: exit status %d, %v\n%s%s%s", x.args[2:], status, err, d, out, messages)
		}
	}
	out, _, _ := compared(t, a, b, "--ktap", "--fail-if-slower", "5%")
	for _, want := range []string{"# uring/tcp: throughput_gbps is worse by more than 5%\n",
		"zcrx/tcp: it ran in A, and not in B: unsupported: the kernel has no zcrx\n",
		"# devmem/tcp: it ran in A, and not in B: invalid: all was copied\n", "# tcp/tcp: throughput_gbps: ratio "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// Several sources beside A have subtests of their own.
	if out, _, status := compared(t, a+"@rx=tcp", b+"@rx=tcp", a+"@rx=uring", "--ktap"); status != 0 ||
		strings.Count(out, "\nok ") != 2 {
		t.Errorf("exit status %d: %s", status, out)
	}
	if _, _, status := compared(t, a, "--ktap"); status != cli.Usage {
		t.Errorf("one source: exit status %d", status)
	}
}
