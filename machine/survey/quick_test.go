// SPDX-License-Identifier: MIT

package survey

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Snapshots as we write them are read quickly, but for changes of others.
func TestQuick(t *testing.T) {
	s := New([]Fact{{"kernel/release", "6.18.5"}, {"config/CONFIG_X", `"quoted" \ back`}, {"dmi/board", "Käse µ"},
		{"nic/a\"b", "<&>"}, {"cpu/none", ""}})
	got := quick(string(s.Encode()))
	if d := cmp.Diff(s, got); d != "" || len(s.Facts) != 5 {
		t.Errorf("(-want +got)\n%s", d)
	}
	if _, err := ParseNamed(s.Encode(), s.Hash()); err != nil {
		t.Error("a snapshot that is the one that is named: ", err)
	}
	if got, err := ParseNamed(append(s.Encode(), 'x'), s.Hash()); got != nil || err == nil {
		t.Error("a snapshot that is not the one that is named")
	}
	if c := s.Now(New([]Fact{{"nic/speed", "1"}})).Since(s); c.Base == "" || quick(string(c.Encode())) != nil {
		t.Error("a change was read as a whole snapshot")
	}
}

// What is read quickly is what the strict reader makes of it.
func FuzzQuick(f *testing.F) {
	f.Add(New([]Fact{{"kernel/release", "6.18.5"}, {"config/CONFIG_X", `"q" \`}, {"dmi/board", "Käse"}}).Encode())
	f.Add([]byte(quickHead + `{"name":"a/b","value":"c","value":"d"}` + quickTail))
	f.Add([]byte(quickHead + `{"name":"a/b","value":"\u001b"},` + "\n" + `{"name":"a/c","value":"x"}` + quickTail))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := quick(string(text))
		if got == nil {
			return
		}
		want, err := Parse(text)
		if err != nil {
			t.Fatalf("it is none: %v", err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}
