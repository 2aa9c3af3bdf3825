// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// script makes a program out of the lines of a shell.
func script(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "lane.sh")
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// Lines of lanes that write pieces of them at the same time come whole, and each event
// says its lane.
func TestLinesComeWhole(t *testing.T) {
	p := script(t, `i=0
while [ $i -lt 200 ]; do
	i=$((i+1))
	printf '{"Action":"output","Package":"a/b",'
	printf '"Output":"%s \\"Package\\":\\"x\\" %d\\n"}\n' "$1" $i
done
printf 'no event'
echo complaint >&2
`)
	var out, errs bytes.Buffer
	if !run(t.Context(), p, []string{"one", "two"}, &out, &errs) {
		t.Errorf("failed: %s", errs.String())
	}
	seen, plain := map[string]int{}, 0
	for line := range strings.Lines(out.String()) {
		if line == "no event\n" {
			plain++
			continue
		}
		var e struct{ Action, Package, Output string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name, _, _ := strings.Cut(e.Output, " ")
		if e.Package != "a/b ["+name+"]" || !strings.Contains(e.Output, `"Package":"x"`) {
			t.Errorf("%+v", e)
		}
		seen[name]++
	}
	if seen["one"] != 200 || seen["two"] != 200 || plain != 2 {
		t.Errorf("%v events, %d other lines", seen, plain)
	}
	for _, want := range []string{"one: complaint\n", "two: complaint\n"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %q", want, errs.String())
		}
	}
}

// One lane that fails makes the whole fail, and the others go on to their end.
func TestOneFails(t *testing.T) {
	p := script(t, `[ "$1" = good ] || exit 3; sleep 0.2; echo '{"Package":"p"}'`)
	var out, errs bytes.Buffer
	if run(t.Context(), p, []string{"bad", "good"}, &out, &errs) {
		t.Error("ended well")
	}
	if got, want := out.String(), `{"Package":"p [good]"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(errs.String(), "bad: ended with a failure (exit status 3) after ") {
		t.Errorf("got %q", errs.String())
	}
}

// When lanes is told to end, a lane's grandchildren end too, also one that does not
// mind being told.
func TestEndsItsLanes(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	p := script(t, `sleep 600 & a=$!
sh -c "trap '' TERM; echo \$\$ >>`+pids+`; while :; do sleep 0.1; done" >/dev/null 2>&1 &
echo $a >>`+pids+`
wait $a
`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		var out, errs bytes.Buffer
		ended <- run(ctx, p, []string{"a"}, &out, &errs)
	}()
	var all []string
	for deadline := time.Now().Add(30 * time.Second); len(all) < 2 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(pids)
		all = strings.Fields(string(b))
	}
	stop()
	if <-ended {
		t.Error("ended well")
	}
	for _, pid := range all {
		for deadline := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %s of %v is still there", pid, all)
			}
		}
	}
	if len(all) != 2 {
		t.Errorf("processes: %v", all)
	}
}

// alive reports whether the process runs: one that nobody has waited for yet does not.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// Lanes that commas join come one after another, also after one that failed.
func TestOneAfterAnother(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := script(t, "echo begin $1 >>"+log+"; sleep 0.1; echo end $1 >>"+log+"; [ $1 != a ]\n")
	var out, errs bytes.Buffer
	if run(t.Context(), p, []string{"a,b"}, &out, &errs) {
		t.Error("ended well")
	}
	b, err := os.ReadFile(log)
	if want := "begin a\nend a\nbegin b\nend b\n"; err != nil || string(b) != want {
		t.Errorf("%q, %v; want %q", b, err, want)
	}
}

// Groups with a + take the places of those that are at their end: each runs once, and never more at
// the same time than there are places.
func TestLaterTakePlaces(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := script(t, `echo begin $1 >>`+log+`
i=0
while [ $1 = long ] && ! grep -q 'end d' `+log+` && [ $i -lt 600 ]; do # as long as all others take
	sleep 0.05
	i=$((i+1))
done
echo end $1 >>`+log+`
[ $1 != bad ]
`)
	var out, errs bytes.Buffer
	if run(t.Context(), p, []string{"+c,bad", "long", "short", "+d"}, &out, &errs) {
		t.Error("ended well")
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	running, most := 0, 0
	for _, line := range lines {
		if strings.HasPrefix(line, "begin") {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	after := slices.DeleteFunc(lines, func(l string) bool { return strings.HasSuffix(l, " long") })
	want := []string{"begin short", "end short", "begin c", "end c", "begin bad", "end bad", "begin d", "end d"}
	if most != 2 || !slices.Equal(after, want) {
		t.Errorf("%d at the same time, %q; want 2, and beside long %q", most, after, want)
	}
}
