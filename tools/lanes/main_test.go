// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/starved"
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

// got is what a run of lanes came to.
type got struct {
	ok                bool
	out, errs, events string
}

// last is the last line of its output.
func (g got) last() string {
	lines := strings.Split(strings.TrimSpace(g.out), "\n")
	return lines[len(lines)-1]
}

// ran runs lanes to their end.
func ran(t *testing.T, program string, groups, last []string) (g got) {
	t.Helper()
	var out, errs, events bytes.Buffer
	r := newRunner(program, &out, &errs, &events)
	r.watch = func() func() (starved.Load, error) { // nothing else runs
		return func() (starved.Load, error) { return starved.Load{Wall: 1e9}, nil }
	}
	r.run(t.Context(), groups, last)
	g.ok = r.summary()
	g.out, g.errs, g.events = out.String(), errs.String(), events.String()
	return g
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
echo '{"Action":"pass","Package":"a/b"}'
printf 'no event'
echo complaint >&2
`)
	g := ran(t, p, []string{"one", "two"}, nil)
	if !g.ok {
		t.Errorf("failed: %s", g.out)
	}
	seen := map[string]int{}
	for line := range strings.Lines(g.events) {
		var e struct{ Action, Package, Output string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Output == "" {
			continue
		}
		name, _, _ := strings.Cut(e.Output, " ")
		if e.Package != "a/b ["+name+"]" || !strings.Contains(e.Output, `"Package":"x"`) {
			t.Errorf("%+v", e)
		}
		seen[name]++
	}
	if seen["one"] != 200 || seen["two"] != 200 {
		t.Errorf("%v events", seen)
	}
	for _, want := range []string{"one: complaint\n", "two: complaint\n", "one: no event\n", "two: no event\n"} {
		if !strings.Contains(g.errs, want) {
			t.Errorf("%q is not in %q", want, g.errs)
		}
	}
}

// A lane that ends with a failure although no test of its has fails the whole, with what it said,
// and the others go on to their end.
func TestLaneFails(t *testing.T) {
	p := script(t, `[ "$1" = good ] || { echo "no disk" >&2; exit 3; }
echo '{"Action":"pass","Package":"p","Test":"TestX"}'`)
	g := ran(t, p, []string{"bad", "good"}, nil)
	if g.ok || g.last() != "1 passed, 1 failed, 0 skipped" {
		t.Errorf("ok %v: %s", g.ok, g.out)
	}
	for _, want := range []string{"the lane [bad]", "exit status 3", "no disk"} {
		if !strings.Contains(g.out, want) {
			t.Errorf("%q is not in %s", want, g.out)
		}
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
		r := newRunner(p, io.Discard, io.Discard, io.Discard)
		r.run(ctx, []string{"a"}, []string{"late"})
		ended <- r.summary()
	}()
	var all []string
	await.Until(t, "both processes", func() bool {
		b, _ := os.ReadFile(pids)
		all = strings.Fields(string(b))
		return len(all) == 2
	})
	stop()
	if await.Chan(t, "the end", ended) {
		t.Error("ended well")
	}
	for _, pid := range all {
		await.Until(t, "the end of process "+pid, func() bool { return !alive(pid) })
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
	if g := ran(t, p, []string{"a,b"}, nil); g.ok {
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
	if g := ran(t, p, []string{"+c,bad", "long", "short", "+d"}, nil); g.ok {
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
