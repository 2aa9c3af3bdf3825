// SPDX-License-Identifier: MIT

package ktap

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/cmd/internal/ktap/ktaptest"
	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestWriter(t *testing.T) {
	var b strings.Builder
	w := New(&b, 4)
	w.Note("Linux 7.3")
	w.Write(Result{Name: "tcp/tcp", Notes: []string{"10.0 Gbit/s"}})
	w.Write(Result{Name: "zcrx/tcp", Status: Skip, Reason: "no queue\nof eth0"})
	w.Write(Result{Name: "devmem/tcp", Status: Fail, Reason: "all was copied # SKIP it",
		Notes: []string{"fix: steer it"}})
	w.Write(Result{Name: "tcp/uring-zc", Status: XFail, Reason: "veth copies"})
	status, err := w.End()
	if status != ExitFail || err != nil {
		t.Errorf("exit status %d, %v", status, err)
	}
	want := `KTAP version 1
1..4
# Linux 7.3
# tcp/tcp: 10.0 Gbit/s
ok 1 tcp/tcp
ok 2 zcrx/tcp # SKIP no queue of eth0
# devmem/tcp: all was copied #SKIP it
# devmem/tcp: fix: steer it
not ok 3 devmem/tcp
ok 4 tcp/uring-zc # XFAIL veth copies
# Totals: pass:1 fail:1 xfail:1 xpass:0 skip:1 error:0
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	all, err := ktaptest.Parse(b.String())
	if err != nil || len(all) != 4 || all[2].Status() != "not ok" || len(all[2].Notes) != 2 {
		t.Errorf("%v: %+v", err, all)
	}
}

// Words of others are no lines, directives or totals of ours.
func TestForged(t *testing.T) {
	var b strings.Builder
	w := New(&b, 3)
	for _, s := range []string{"Subtest: x", "# Subtest: x", "Totals: pass:9 fail:0",
		"a\nok 1 tcp/tcp\r\nok 2 x\u0085ok 3 y"} {
		w.Note(s)
	}
	w.Write(Result{Name: "a # SKIP b", Status: Fail, Reason: "x\nok 1 a"})
	w.Write(Result{Name: "b\nok 3 c", Status: Skip, Reason: "# XFAIL x\nok 2 b"})
	w.Write(Result{Name: "c", Status: XFail, Reason: "a # # SKIP"})
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	want := `KTAP version 1
1..3
# - Subtest: x
# - Subtest: x
# - Totals: pass:9 fail:0
# a ok 1 tcp/tcp\u000d ok 2 x\u0085ok 3 y
# a SKIP b: x ok 1 a
not ok 1 a SKIP b
ok 2 b ok 3 c # SKIP XFAIL x ok 2 b
ok 3 c # XFAIL a ## SKIP
# Totals: pass:0 fail:1 xfail:1 xpass:0 skip:1 error:0
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestExitStatus(t *testing.T) {
	for _, x := range []struct {
		planned int
		of      []Status
		want    int
	}{
		{1, []Status{Pass}, ExitPass}, {2, []Status{Pass, Skip}, ExitPass}, {2, []Status{Skip, Skip}, ExitSkip},
		{2, []Status{Skip, XFail}, ExitPass},
		{3, []Status{Pass, Skip, Fail}, ExitFail},
		{2, []Status{Pass}, ExitFail}, // one is missing
	} {
		w := New(&strings.Builder{}, x.planned)
		for _, s := range x.of {
			w.Write(Result{Name: "x", Status: s, Reason: "y"})
		}
		if got, err := w.End(); got != x.want || err != nil {
			t.Errorf("%v of %d: %d, %v", x.of, x.planned, got, err)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

// A result that nobody got is no pass.
func TestUnwritten(t *testing.T) {
	w := New(full{}, 1)
	w.Write(Result{Name: "x"})
	if status, err := w.End(); status != ExitFail || err == nil {
		t.Errorf("%d, %v", status, err)
	}
}

// Whatever a reason says, a parser sees one subtest of the status that was meant.
func FuzzReason(f *testing.F) {
	for _, s := range []string{"plain", "a\nok 2 b", "x # SKIP y", " # XFAIL", "#", "\x1b[2J",
		strings.Repeat("é", most), "\xff# SKIP ", "Subtest: x"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, reason string, status int) {
		s := Status(uint(status) % uint(XFail+1))
		var b strings.Builder
		w := New(&b, 1)
		w.Write(Result{Name: "tcp/tcp", Status: s, Reason: "because " + reason, Notes: []string{reason}})
		w.End()
		all, err := ktaptest.Parse(b.String())
		word := map[Status]string{Pass: "ok", Fail: "not ok", Skip: "SKIP", XFail: "XFAIL"}[s]
		if err != nil || len(all) != 1 || all[0].Name != "tcp/tcp" || all[0].Status() != word {
			t.Errorf("%v: %+v of\n%s", err, all, &b)
		}
		if !utf8.ValidString(b.String()) {
			t.Errorf("%q", b.String())
		}
	})
}
