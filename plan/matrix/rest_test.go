// SPDX-License-Identifier: MIT

package matrix

import "testing"

// A rest is a time, none, or left to the window. A file that does not say is the same
// experiment as before there were rests.
func TestRest(t *testing.T) {
	const plain = "name: x\nfactors: {rx: tcp, tx: tcp}\n"
	said := func(more string) string { return LookupKey("rest").Get(mustParse(t, plain+more)) }
	for more, want := range map[string]string{"": autoRest, "rest: auto\n": autoRest, "rest: 0\n": "0s",
		"rest: 2s\n": "2s", "rest: 100ms\n": "100ms"} {
		if got := said(more); got != want {
			t.Errorf("%q: %s, want %s", more, got, want)
		}
	}
	if mustParse(t, plain).Hash() != mustParse(t, plain+"rest: auto\n").Hash() ||
		mustParse(t, plain).Hash() == mustParse(t, plain+"rest: 2s\n").Hash() {
		t.Error("hashes do not tell experiments by their rests")
	}
	for _, bad := range []string{"99ms", "-1s", "much", "25h", "[1s]"} {
		if _, err := Parse("x.yaml", []byte(plain+"rest: "+bad+"\n")); err == nil {
			t.Errorf("rest: %s is taken", bad)
		}
	}
}
