// SPDX-License-Identifier: MIT

package explain

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/docs"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

const _ = kind.Pure

const page = "# Ways\n\nIntro about `tcp` and others.\n\n## tcp\n\nPlain sockets copy.\n\n```\ncode " +
	"tcp\n```\n\n| mode | what |\n|---|---|\n| `tcp`, `tcp-trunc` | copies \\| or not |\n| EINVAL | wrong |\n\n" +
	"- `--rx-buf-len`: long\n  buffers\n\n**Cell**: one combination.\n\n    $ zcbench explain tcp\n"

func book(t *testing.T) *Book {
	t.Helper()
	b, err := New(fstest.MapFS{"ways.md": {Data: []byte(page)},
		"hardening.md": {Data: []byte("**Cell**: not for users.\n")}},
		[]Flag{{"rx-buf-len", "zcbench run", "buffers"}, {"rx-buf-len", "zcbench demo", "buffers"},
			{"dev", "zcbench run", "one"}, {"dev", "zcbench doctor", "another"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func titles(all []Answer) (out []string) {
	for _, a := range all {
		out = append(out, a.Title())
	}
	return out
}

func TestLookup(t *testing.T) {
	b := book(t)
	for word, want := range map[string][]string{
		"tcp": {"rx:tcp", "tx:tcp"}, "rx:tcp": {"rx:tcp"}, "--rx-buf-len": {"flag:rx-buf-len", "column:rx_buf_len"},
		"rx_buf_len": {"flag:rx-buf-len", "column:rx_buf_len"},
		"EINVAL":     {"errno:EINVAL"}, "einval": {"errno:EINVAL"}, "invalid": {"verdict:invalid"},
		"cannot tell": {"verdict:cannot tell"}, "throughput_cv": {"gate:throughput_cv"},
		"flow_waits": {"metric:flow_waits"}, "cell": {":cell"}, "busy-sibling": {"mark:busy-sibling"},
		"over-vlan": {"mark:over-vlan"}, "sender": {"limit:sender"}, "zzz": nil, "tx:zcrx": nil, "": nil,
	} {
		if got := titles(b.Lookup(word)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestPassages(t *testing.T) {
	b := book(t)
	texts := func(word string) string {
		var out []string
		for _, a := range b.Lookup(word) {
			for _, p := range a.Passages {
				out = append(out, p.String()+"> "+p.Text)
			}
		}
		return strings.Join(out, "\n")
	}
	for word, want := range map[string]string{
		"rx:tcp": "docs/ways.md, tcp> Plain sockets copy.\ndocs/ways.md, tcp> `tcp`, `tcp-trunc`; what: " +
			"copies | or not",
		"EINVAL":          "docs/ways.md, tcp> EINVAL; what: wrong",
		"flag:rx-buf-len": "docs/ways.md, tcp> `--rx-buf-len`: long buffers",
		"cell":            "docs/ways.md, tcp> **Cell**: one combination.",
	} {
		if got := texts(word); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
	for _, not := range []string{"code tcp", "not for users", "$ zcbench"} {
		if strings.Contains(texts("tcp")+texts("cell"), not) {
			t.Errorf("%q is shown", not)
		}
	}
}

// What several commands say alike is said once.
func TestFlagsOfSeveralCommands(t *testing.T) {
	b := book(t)
	if got := strings.Join(b.Lookup("flag:rx-buf-len")[0].Lines, "\n"); !strings.Contains(got,
		"zcbench run, zcbench demo: buffers") {
		t.Error(got)
	}
	if got := strings.Join(b.Lookup("flag:dev")[0].Lines, "\n"); !strings.Contains(got,
		"zcbench run: one\nzcbench doctor: another") {
		t.Error(got)
	}
}

// The real pages say something about every mode, gate, limit and verdict. A mark names a page.
func TestRealPages(t *testing.T) {
	b, err := New(docs.Pages, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"rx", "tx", "gate", "mark", "limit", "verdict"} {
		names := b.Named(kind)
		if len(names) == 0 {
			t.Errorf("no %s", kind)
		}
		for _, name := range names {
			a := b.Lookup(kind + ":" + name)
			if len(a) != 1 || len(a[0].Lines) == 0 || len(a[0].Passages) == 0 &&
				kind != "mark" && !strings.Contains(name, " ") {
				t.Errorf("%s:%s: %+v", kind, name, a)
			}
		}
	}
	// a help text that names another flag is told whole
	own, err := New(docs.Pages, []Flag{{"queues", "zcbench run", plan.LookupOption("queues").Help}})
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Lookup("flag:queues")[0].Lines[0]; !strings.Contains(got, "at --queue, else the last ones") {
		t.Errorf("%q", got)
	}
	for _, word := range []string{"EOPNOTSUPP", "ERANGE", "SUT", "zcrx", "cpu0_busy_cores", "roi_cpu"} {
		if len(b.Lookup(word)) == 0 {
			t.Errorf("nothing about %s", word)
		}
	}
	for _, p := range b.passages {
		if strings.Contains(p.Text, "```") || strings.TrimSpace(p.Text) == "" {
			t.Errorf("%s: %q", p, p.Text)
		}
	}
}

// One entry of modes.All adds a mode here: it is explained by what it declares, and an option of
// its kind names it.
func TestOneLineAddsAMode(t *testing.T) {
	before := modes.All
	defer func() { modes.All = before }()
	fake := baseline.TCP
	fake.Name, fake.Summary, fake.Kernel = "borrowed", "recv, by another name", "4.9"
	modes.All = append(before[:len(before):len(before)], fake)
	b := book(t)
	a := b.Lookup("borrowed")
	if len(a) != 1 || !slices.Equal(a[0].Lines, []string{"receive mode: recv, by another name",
		"promise: none: the kernel may copy the payload", "kernel: from Linux 4.9 on"}) {
		t.Errorf("%+v", a)
	}
	if !slices.Contains(b.Words(), "borrowed") || !slices.Contains(plan.LookupOption("rx_buffer").Modes(), "borrowed") {
		t.Errorf("words: %q; modes of rx_buffer: %q", b.Words(), plan.LookupOption("rx_buffer").Modes())
	}
}

// Every rule that runs are judged by is explained, as a gate, a mark or a rule.
func TestEveryRule(t *testing.T) {
	b := book(t)
	for _, r := range judge.Rules() {
		if !slices.ContainsFunc(b.Lookup(r.Name), func(a Answer) bool {
			return slices.Contains([]string{"gate", "mark", "rule"}, a.Kind)
		}) {
			t.Errorf("nothing of the rule %s", r.Name)
		}
	}
}

// Of an errno, the rows of the table of errors come first, each with the call that gives it.
func TestErrnoRowsFirst(t *testing.T) {
	b, err := New(docs.Pages, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ENOBUFS": "errno: ENOBUFS", "EINVAL": "errno: EINVAL",
		"ERANGE": "errno: ERANGE", "EOPNOTSUPP": "errno: EOPNOTSUPP"} {
		a := b.Lookup(name)
		if len(a) != 1 || len(a[0].Passages) == 0 {
			t.Fatalf("%s: %+v", name, a)
		}
		for i, p := range a[0].Passages[:min(3, len(a[0].Passages))] {
			if p.Page != "errors.md" || !strings.Contains(p.Text, "; "+want) {
				t.Errorf("%s, %d: %s: %s", name, i, p, p.Text)
			}
		}
	}
}

func TestFits(t *testing.T) {
	for _, x := range []struct {
		form, name string
		want       bool
	}{
		{"cpuN_user", "cpu0_user", true}, {"cpuN_user", "cpu_user", false}, {"cpuN_user", "cpu12_users", false},
		{"queue_N", "queue_7", true},
		{"NAME_x", "anything", false}, {"plain", "plain", true}, {"qstats_rxN_NAME", "qstats_rx3_packets", true},
	} {
		if got := fits(x.form, x.name); got != x.want {
			t.Errorf("%s, %s: %v", x.form, x.name, got)
		}
	}
}

// Of a mode only pages about modes are shown, where its name is also that of a probe or a class; of
// any word the glossary comes first.
func TestOwnPagesAndGlossary(t *testing.T) {
	b, err := New(fstest.MapFS{
		"glossary.md": {Data: []byte("**tcp**: the protocol.\n")},
		"matrix.md":   {Data: []byte("| mode | what |\n|---|---|\n| `tcp` | the mode |\n")},
		"probes.md":   {Data: []byte("| probe | what |\n|---|---|\n| `tcp` | the probe |\n")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pages := func(word string) (out []string) {
		for _, a := range b.Lookup(word) {
			for _, p := range a.Passages {
				out = append(out, p.Page)
			}
		}
		return out
	}
	if got := pages("rx:tcp"); !slices.Equal(got, []string{"glossary.md", "matrix.md"}) {
		t.Errorf("rx:tcp: %q", got)
	}
	for word, want := range map[string]string{"tcp-trunc": "", "xdp-drop": "", "zcrx": "promise: zero copy",
		"tcp": "promise: none"} {
		for _, a := range b.Lookup("rx:" + word) {
			if text := strings.Join(a.Lines, "\n"); !strings.Contains(text, want) || want == "" &&
				strings.Contains(text, "promise") {
				t.Errorf("%s: %s", word, text)
			}
		}
	}
}
