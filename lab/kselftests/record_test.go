// SPDX-License-Identifier: MIT

package kselftests

import "testing"

// What is recorded is as expected from then on.
func TestRecord(t *testing.T) {
	t.Parallel()
	said := []Case{{"x", pass, ""}, {"y.a b", skip, "no\tY"}, {"z", fail, ""}}
	e, err := parseExpected("f", Record("7.3.4+deb13-amd64", judge(nil, "a.py", said)))
	if err != nil {
		t.Fatal(err)
	}
	got := judge(e["a.py"], "a.py", said)
	if !AsExpected(got) || got[1].Because != "no Y" || got[2].Because != "no output" {
		t.Errorf("%+v", got)
	}
	if again := Record("7.3.4", got); again != Record("7.3.4", judge(e["a.py"], "a.py", said)) {
		t.Error(again)
	}
}
