// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
)

// hostile is what a terminal obeys: OSC, CSI, DCS, C1, DEL, a bell, a return to the line's
// beginning, the order of writing, what has no width.
const hostile = "\x1b]0;owned\x07\x1b[2J\x1bPq\x1b\\\u009b31m\u009d0;x\u009c\u0085\x7f\b\rok\u202elive\u2066\u200b\U000e0041"

// wantPlain requires that a text has nothing that a terminal obeys.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s: bytes that are no UTF-8", what)
	}
	for i, c := range text {
		if !plaintext.Safe(c) {
			t.Errorf("%s: %q at ...%q", what, c, text[max(0, i-30):min(len(text), i+30)])
			return
		}
	}
}

// poison makes every text of a record hostile. Words that readers know stay.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			poison(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(v.String() + hostile)
		}
	}
}

// hostileFolder has runs of every verdict of a far host that means ill.
func hostileFolder(t *testing.T) string {
	t.Helper()
	j := journal(t, sampleFolder(t))
	base := j.Records[0]
	dir := filepath.Join(t.TempDir(), "x"+strings.ReplaceAll(hostile, "/", ""))
	h := j.Header
	poison(reflect.ValueOf(&h).Elem())
	h.Cells = nil
	w, err := results.Create(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []results.Verdict{results.OK, results.OK, results.Invalid, results.Failed, results.Unsupported} {
		data, err := json.Marshal(base)
		if err != nil {
			t.Fatal(err)
		}
		var r results.Record
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		r.Reason, r.Fix, r.Warnings, r.Flags = "why", "how", []string{"note"}, []string{"flag"}
		r.Cell.RX = []string{"tcp", "uring", "tcp", "zcrx", "devmem"}[i]
		r.SUT.Env.CPUModel, r.SUT.PowerSource, r.SUT.PowerScope = "cpu", "wt310", "wall"
		r.SUT.PowerW = r.SUT.ThroughputGbps
		poison(reflect.ValueOf(&r).Elem())
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			for n := range h.Flows { // one that is well has no reason
				h.Flows[n].Dev = "eth0" // another is refused when it is read
				if h.Flows[n].Verdict = results.Invalid; v == results.OK {
					h.Flows[n].Verdict, h.Flows[n].Reason = results.OK, ""
				}
			}
		}
		r.RunID, r.SessionID, r.Seq, r.Verdict = r.RunID+string(rune('0'+i)), "s", i, v
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What a folder of results from elsewhere says reaches no terminal as more than text, nor
// do the files made of it; and JSON means what the journal means.
func TestHostileResults(t *testing.T) {
	dir := hostileFolder(t)
	for _, line := range []string{
		`zcbench report "$1"`, `zcbench report --json "$1"`, `zcbench report --idle "$1"`,
		`zcbench export --csv --json --benchfmt "$1"`,
		`zcbench compare "$1" "$1"`, `zcbench compare "$1"`, `zcbench compare --json "$1" "$1"`,
		`zcbench compare "$1/runs.csv" "$1"`,
		`zcbench power import "$1" --log csv=/dev/null --out "$1/x"`,
		`echo torn >>"$1/journal.jsonl"; zcbench report "$1"`,
	} {
		p := built.Shell(t, line, dir)
		p.Wait(await.Hang)
		if p.Out.Len()+p.Err.Len() == 0 {
			t.Errorf("%s: said nothing", line)
		}
		wantPlain(t, line+", stdout", p.Out.String())
		wantPlain(t, line+", stderr", p.Err.String())
		if strings.Contains(line, "report --json") && !strings.Contains(p.Out.String(), `\u009b31m`) {
			t.Errorf("the JSON lost what the journal has: %s", &p.Out)
		}
	}
	for _, pattern := range []string{"*.csv", "*.html", "*.json*", "*.bench", "plots/*.svg"} {
		// The folder's own name has signs that patterns know.
		files, err := os.ReadDir(filepath.Join(dir, filepath.Dir(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range files {
			if ok, _ := filepath.Match(filepath.Base(pattern), f.Name()); ok {
				n++
				data, err := os.ReadFile(filepath.Join(dir, filepath.Dir(pattern), f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				wantPlain(t, f.Name(), string(data))
			}
		}
		if n == 0 {
			t.Errorf("no %s", pattern)
		}
	}
	j := journal(t, dir)
	if got := j.Records[0].SUT.Env.CPUModel; got != "cpu"+hostile {
		t.Errorf("the journal has %q", got)
	}
}

// fakeSSH is an ssh to a host whose agent means ill: it runs the far command here, with
// hostile words in what it answers and says.
const fakeSSH = `#!/bin/sh
printf '\033]0;owned\007\302\2332J \342\200\256 banner\r\n' >&2
[ -z "$FAKE_SSH_DIES" ] || { printf 'ssh: \033[31m\233dead\n' >&2; exit 255; }
for last; do :; done
/bin/sh -c "$last" | sed -u 's/"\(found\|fix\|needed\|summary\|hostname\|kernel\|error\|op\|how\)":"/&\\u001b]0;x\\u0007\\u009b2J\\u202e\\u0085\\r/g'
`

// What agents, the far shell, meters and the user's own words bring along is text.
func TestHostileWords(t *testing.T) {
	dir := t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	if err := os.WriteFile(ssh, []byte(fakeSSH), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZCBENCH_SSH", ssh)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	plan := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(plan, []byte("name: \"a\\e]0;x\\a\"\nfactors: {rx: [\"tcp\\e[2J\\u009b\"]}\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	const first = `zcbench doctor --host ssh:far` // it copies the agent, for all
	const meter = `printf '\033]0;x\007\233 \342\200\256W\n'; printf '\033[2J\233why\n' >&2; exit 3`
	for _, x := range []struct{ line, says string }{
		{first, "host ssh:far"},
		{`zcbench doctor --host ssh:far --json`, `]0;x`}, {`zcbench doctor --host ssh:far --fix`, ""},
		{`zcbench restore --host ssh:far --dry-run`, ""},
		{`zcbench run --sut ssh:far --tg ssh:far --duration 200ms`, ""},
		{`FAKE_SSH_DIES=1 zcbench doctor --host ssh:far`, "dead"},
		{`zcbench matrix --dry-run "$2"`, "plan.yaml"},
		{`zcbench power --duration 600ms --every 200ms --source "command=$3"`, "power source command=printf"},
		{`zcbench power --duration 600ms --every 200ms --csv - --source "command=$3"`, "power source command=printf"},
		{`zcbench run --sut "$1" --tg local`, "owned"}, {`zcbench "$1"`, "owned"}, {`zcbench report "$1"`, "owned"},
		{`zcbench "--$1"`, "owned"},
		{`zcbench compare "$1"`, "owned"}, {`zcbench export --json "$1"`, "owned"}, {`zcsend "$1"`, "owned"},
		{`zcrecv --mode "$1"`, "owned"},
		{`zcrecv --json --mode "$1"`, "owned"}, {`zcbench probe --addr "$1"`, ""},
		{`zcbench lab exec --kernel "$1" --cache "$1" /bin/true`, ""},
	} {
		t.Run(strings.ReplaceAll(x.line, "/", "_"), func(t *testing.T) {
			if x.line != first {
				t.Parallel()
			}
			p := built.Shell(t, x.line, hostile, plan, meter)
			p.Wait(await.Hang)
			said := p.Out.String() + p.Err.String()
			if said == "" || !strings.Contains(said, x.says) {
				t.Errorf("said %q", said)
			}
			wantPlain(t, "stdout", p.Out.String())
			wantPlain(t, "stderr", p.Err.String())
		})
	}
}
