// SPDX-License-Identifier: MIT

package survey

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/frugal"
)

func sample() *Snapshot {
	return New([]Fact{{"sysctl/net.core.rmem_max", "212992"}, {"kernel/release", "7.3.4"}, {"nic/ring rx", "1024"},
		{"boot/id", "a"}})
}

// One form, whatever the order; the hash is of what is in the file.
func TestCanonical(t *testing.T) {
	a := sample()
	b := New([]Fact{{"boot/id", "a"}, {"kernel/release", "7.3.4"}, {"nic/ring rx", "1024"},
		{"sysctl/net.core.rmem_max", "212992"}, {"boot/id", "second"}})
	if !bytes.Equal(a.Encode(), b.Encode()) || a.Hash() != b.Hash() || !IsHash(a.Hash()) {
		t.Fatalf("%s\n%s", a.Encode(), b.Encode())
	}
	got, err := Parse(a.Encode())
	if err != nil || got.Hash() != a.Hash() {
		t.Fatal(err)
	}
	// Between two hosts it lies in a line of JSON, without its line breaks.
	got, err = Parse(bytes.ReplaceAll(a.Encode(), []byte("\n"), nil))
	if err != nil || got.Hash() != a.Hash() {
		t.Fatal(err)
	}
	if v, ok := got.Value("nic/ring rx"); !ok || v != "1024" {
		t.Error(v)
	}
	if _, ok := got.Value("nic/ring"); ok {
		t.Error("there is no such fact")
	}
}

// Whatever a host says, there is a snapshot that passes its own check.
func TestNewBounds(t *testing.T) {
	var many []Fact
	for i := range 400 {
		many = append(many, Fact{"sysctl/" + strings.Repeat("x", i), strings.Repeat("\"", 11*i)})
		many = append(many, Fact{fmt.Sprintf("config/%04d", i), "\x1b[2J\nnext \u202e" + strings.Repeat("\\", 11*i)})
	}
	for i := range maxFacts + 100 {
		many = append(many, Fact{fmt.Sprintf("a/%d", i), "x"})
	}
	many = append(many, Fact{"", "x"}, Fact{"no area", "x"}, Fact{"UPPER/x", "x"}, Fact{"area/", "x"})
	s := New(many)
	if len(s.Facts) < 100 {
		t.Fatal("almost nothing is left")
	}
	if _, err := Parse(s.Encode()); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(s.Encode(), "\x1b\u202e") {
		t.Error("a terminal would obey it")
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(sample().Encode())
	for name, x := range map[string]struct{ text, want string }{
		"nothing": {"", "1:1: not a snapshot"},
		"null":    {"null", "1:1: not a snapshot"},
		"torn":    {good[:80], "it ends in the middle"},
		"more":    {good + "{}", "7:1: data after"},
		"unknown": {strings.Replace(good, `"version"`, `"serial":"X","version"`, 1),
			`1:33: unknown field "serial"`},
		"version":       {strings.Replace(good, `"version":1`, `"version":2`, 1), "version 2"},
		"format":        {strings.Replace(good, format, "other", 1), "format"},
		"order":         {strings.Replace(good, "boot/id", "zoot/id", 1), "does not come after"},
		"escape":        {strings.Replace(good, `"a"`, `"\u001b[2J"`, 1), "not one line of plain text"},
		"two lines":     {strings.Replace(good, `"a"`, `"a\nb"`, 1), "not one line of plain text"},
		"name":          {strings.Replace(good, "boot/id", "id", 1), "not a name"},
		"gone, no base": {strings.Replace(good, "]}", `],"gone":["boot/id"]}`, 1), "no base"},
		"base, a path": {strings.Replace(good, `"version":1`, `"version":1,"base":"../../etc/passwd"`, 1),
			"not a hash"},
		"a long value":   {strings.Replace(good, `"a"`, `"`+strings.Repeat("x", maxValue+1)+`"`, 1), "too long"},
		"a huge file":    {good + strings.Repeat(" ", MaxBytes), "longer than"},
		"facts: a word":  {`{"format":"` + format + `","version":1,"facts":"x"}`, "1:"},
		"version: words": {`{"format":"` + format + `","version":"1","facts":[]}`, "1:"},
	} {
		_, err := Parse([]byte(x.text))
		if err == nil || !strings.Contains(err.Error(), x.want) || !errors.As(err, new(*syntaxError)) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
}

func TestChange(t *testing.T) {
	base := sample()
	now := New([]Fact{{"nic/ring rx", "4096"}, {"nic/ring tx", "512"}, {"boot/id", "not live: does not count"}})
	whole := base.Now(now)
	if len(whole.Facts) != 4 {
		t.Fatalf("%+v", whole)
	}
	if v, _ := whole.Value("boot/id"); v != "a" {
		t.Error("what does not change while a host is up has changed")
	}
	c := whole.Since(base)
	if c.Base != base.Hash() || len(c.Facts) != 2 || len(c.Gone) != 1 || c.Gone[0] != "sysctl/net.core.rmem_max" {
		t.Fatalf("%s", c.Encode())
	}
	read, err := Parse(c.Encode())
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.On(base)
	if err != nil || again.Hash() != whole.Hash() {
		t.Fatal(err)
	}
	if _, err := read.On(whole); err == nil {
		t.Error("a change of another base was taken")
	}
	if named := whole.SinceNamed(base, "known"); named.Base != "known" || !slices.Equal(named.Facts, c.Facts) {
		t.Errorf("the base was hashed again: %+v", named)
	}
	if base.Since(base) != base {
		t.Error("no change is a change")
	}
	d := Diff(base, whole)
	if len(d) != 3 || d[0].Name != "nic/ring rx" || *d[0].A != "1024" || *d[0].B != "4096" || d[1].A != nil ||
		d[2].B != nil {
		t.Errorf("%+v", d)
	}
}

// Whatever a snapshot is, it is refused, or has one form in which a terminal obeys nothing.
func FuzzParse(f *testing.F) {
	base := sample()
	f.Add(base.Encode())
	f.Add(base.Now(New([]Fact{{"nic/ring rx", "1"}})).Since(base).Encode())
	f.Add([]byte(`{"format":"zcbench-environment","version":1,"facts":[{"name":"a/b","value":"\u001b"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		frugal.Do(t, func() {
			s, err := Parse(text)
			if err != nil {
				if !oneLine(err.Error()) {
					t.Fatalf("%q", err)
				}
				return
			}
			b := s.Encode()
			again, err := Parse(b)
			if err != nil || again.Hash() != s.Hash() {
				t.Fatalf("%v\n%s", err, b)
			}
			for _, x := range s.Facts {
				if !oneLine(x.Name + x.Value) {
					t.Fatalf("%q", x)
				}
			}
		})
	})
}
