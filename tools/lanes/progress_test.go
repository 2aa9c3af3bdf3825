// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The line of progress says what runs, how far it is and how long it may take; on a terminal it is
// below what is printed, and goes at the end.
func TestProgress(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var errs bytes.Buffer
			r := newRunner("", &errs, &errs, io.Discard) // a terminal shows both
			l := &laneRun{name: "host"}
			r.lanes = []*laneRun{l, {name: "vet", ended: true}}
			done := r.progress(past{Seconds: 481, Tests: 4900}, terminal)
			r.heard(l, []byte(`{"Action":"pass","Package":"github.com/zcbench/zcbench/bench/host","Test":"TestX"}`),
				r.account.of("host"))
			time.Sleep(2*time.Minute + time.Second/2)
			synctest.Wait()
			said := errs.String()
			if want := "2m0s of about 8m0s, 1 of about 4900 tests, 0 failed: bench/host [host]"; !strings.Contains(said,
				want) {
				t.Errorf("terminal %v: %q is not in %q", terminal, want, said)
			}
			if n := strings.Count(said, "\n"); terminal && n != 0 || !terminal && n != 2 {
				t.Errorf("terminal %v: %d lines", terminal, n)
			}
			r.complained(l, []byte("hello\n"))
			before := errs.Len()
			r.stdout.print([]byte("ok\n"))
			if printed := errs.String()[before:]; terminal && !strings.HasPrefix(printed, wipe+"ok\n2m0s of ") ||
				!terminal && printed != "ok\n" {
				t.Errorf("terminal %v: %q", terminal, printed)
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			done()
			said = errs.String()
			if terminal && !strings.HasSuffix(said, wipe) || !strings.Contains(said, "host: hello\n") ||
				!strings.Contains(said, ", longer than the 8m0s of last time") {
				t.Errorf("terminal %v: %q", terminal, said[max(0, len(said)-300):])
			}
		})
	}
}

func TestCut(t *testing.T) {
	for line, want := range map[string]string{"abcdef": "abcd", "abcd": "abcd", "ä€fgh": "ä€fg"} {
		if got := cut(line, 5); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
	if cut("abc", 0) != "abc" {
		t.Error("a terminal that does not say its width")
	}
}

// What a run took, the next one is told; a damaged note is none.
func TestRemembers(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if got := usual("test"); got != first["test"] {
		t.Errorf("at first: %v", got)
	}
	if err := remember("test", 90*time.Second, 12); err != nil {
		t.Fatal(err)
	}
	if got := usual("test"); got != (past{90, 12}) {
		t.Errorf("then: %v", got)
	}
	if err := remember("test", 0, -1); err != nil {
		t.Fatal(err)
	}
	if got := usual("test"); got != first["test"] {
		t.Errorf("damaged: %v", got)
	}
	if got := usual(""); got != (past{}) {
		t.Errorf("of no kind: %v", got)
	}
}
