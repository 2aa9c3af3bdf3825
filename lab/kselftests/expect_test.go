// SPDX-License-Identifier: MIT

package kselftests

import (
	"slices"
	"strings"
	"testing"
)

// What is on record can be read, and is of tests that there are.
func TestExpected(t *testing.T) {
	t.Parallel()
	if len(known()) == 0 {
		t.Fatal("nothing recorded for this test")
	}
	for _, s := range known() {
		e, err := expectedOf(s + ".0+test-amd64")
		if err != nil {
			t.Error(err)
		}
		for test, cases := range e {
			if !slices.ContainsFunc(tests, func(x Test) bool { return x.Name == test }) {
				t.Errorf("%s: %s: no such test", s, test)
			}
			if len(cases) == 0 {
				t.Errorf("%s: %s: no case", s, test)
			}
		}
	}
}

func TestParseExpected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"# c\na.py\n  pass x\n  skip y z | because\n", ""},
		{"  pass x\n", "f:1: a case before the first test"},
		{"a.py\n  pass x | because\n", "f:2: a pass needs no reason"},
		{"a.py\n  fail x\n", "f:2: a reason is missing"},
		{"a.py\n  good x\n", "f:2: want pass, skip, xfail, fail or pass/fail"},
		{"a.py\n  pass/fail x | a timer\n", ""},
		{"a.py\n  pass/fail x\n", "f:2: a reason is missing"},
		{"a.py\n  pass x\n\n  skip x | y\n", "f:4: duplicate case"},
		{"a.py\n  pass x\na.py\n", "f:3: duplicate test"},
	} {
		_, err := parseExpected("f", tc.text)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	want, err := parseExpected("f", "a.py\n  pass x\n  skip y | no y\n  fail z | a gap\n  pass gone\n")
	if err != nil {
		t.Fatal(err)
	}
	got := judge(want["a.py"], "a.py", []Case{
		{"x", fail, "boom"}, {"y", skip, "said"}, {"z", pass, ""}, {"new", pass, ""}, {"odd", skip, "why"},
		{"y", skip, "said"},
	})
	wrong := map[string]string{}
	for i, j := range got {
		if i < 5 || j.Name == "gone" {
			wrong[j.Name] = j.Wrong
		}
	}
	for name, w := range map[string]string{"x": "expected pass", "y": "", "z": "expected fail (a gap)", "new": "",
		"odd": "not recorded", "gone": "expected pass"} {
		if wrong[name] != w {
			t.Errorf("%s: %q, want %q", name, wrong[name], w)
		}
	}
	if got[5].Wrong != "said twice" || AsExpected(got) || !AsExpected(got[1:2]) {
		t.Errorf("%+v", got)
	}
	if s := Sum(got); s != "2 pass, 3 skip, 2 fail, 1 not recorded, so without expectation, 5 not as expected" {
		t.Error(s)
	}
}

// A case that flips may pass or fail, and nothing else. What is recorded of it is that it
// flips, whatever it did this time.
func TestJudgeFlips(t *testing.T) {
	t.Parallel()
	const text = "a.py\n  pass/fail x | a timer\n  pass y\n"
	want, err := parseExpected("f", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Outcome{pass, fail} {
		got := judge(want["a.py"], "a.py", []Case{{"x", o, "said"}, {"y", pass, ""}})
		if !AsExpected(got) || got[0].Because != "a timer" || got[0].Outcome != o {
			t.Errorf("%s: %+v", o, got)
		}
		if again := Record("7.3.4", got); !strings.HasSuffix(again, "\n"+text) {
			t.Errorf("%s is recorded as\n%s", o, again)
		}
		var b strings.Builder
		if Table(&b, got); !strings.Contains(b.String(), "a timer") || strings.Contains(b.String(), "!") {
			t.Errorf("%s is shown as\n%s", o, b.String())
		}
	}
	for _, all := range [][]Case{{{"x", skip, "said"}, {"y", pass, ""}}, {{"y", pass, ""}}} {
		got := judge(want["a.py"], "a.py", all)
		if AsExpected(got) || !strings.Contains(Record("7.3.4", got), " x | ") || strings.Contains(Record("7.3.4", got),
			"pass/fail") {
			t.Errorf("%+v", got)
		}
	}
	// It is told apart in the sum, which counts what it did.
	if got := Sum(judge(want["a.py"], "a.py",
		[]Case{{"x", pass, ""}, {"y", pass, ""}})); got != "2 pass, 1 of them may pass or fail" {
		t.Error(got)
	}
}

// A test of which nobody has looked at anything yet is told, and does not count.
func TestJudgeUnknown(t *testing.T) {
	t.Parallel()
	got := judge(nil, "a.py", []Case{{"x", fail, "boom"}})
	if !AsExpected(got) || got[0].Because == "" || got[0].Known {
		t.Errorf("%+v", got)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	got, err := Select([]string{"rss_ctx", "hw/rss_ctx.py", "queues.py"})
	if err != nil || len(got) != 2 || got[0].Name != "hw/rss_ctx.py" || got[1].Name != "queues.py" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Select([]string{"ctx"}); err == nil || !strings.Contains(err.Error(), `--only "ctx"`) {
		t.Error(err)
	}
}
