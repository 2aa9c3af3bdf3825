// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A file's short version is what is played unless the whole is asked for, wherever in the file it
// stands.
func TestShort(t *testing.T) {
	const text = "name: x\nshort: {duration: 3s, exclude: [{mtu: 9000}, {rx: uring, tx: sendfile}]}\nfactors: {rx: " +
		"[tcp, uring], tx: [tcp, sendfile], mtu: [1500, 9000]}\nduration: 20s\nexclude: [{rx: uring, mtu: 9000}]\n"
	s := mustParse(t, text)
	if want := []string{"tcp/tcp", "tcp/sendfile", "uring/tcp"}; !slices.Equal(ids(s), want) || !s.Short ||
		s.Duration != 3*time.Second {
		t.Errorf("%q, %v", ids(s), s.Duration)
	}
	whole, err := ParseWhole("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Cells) != 6 || whole.Short || whole.Duration != 20*time.Second || whole.Hash() == s.Hash() {
		t.Errorf("%q, %v", ids(whole), whole.Duration)
	}
	// As if the file had no other.
	i, k := strings.Index(text, "short:"), strings.Index(text, "factors:")
	if none := mustParse(t, text[:i]+text[k:]); none.Short || none.Hash() != whole.Hash() {
		t.Error("the whole is another plan than that of the file without its short version")
	}
	for more, want := range map[string]struct {
		msg          string
		line, column int
	}{
		"short: {}\n":                              {"says nothing", 3, 8},
		"short: 8h\n":                              {"must be a mapping", 3, 8},
		"short: {repetitions: 6}\n":                {"unknown key", 3, 9},
		"short: {duration: 1ms}\n":                 {"is outside", 3, 19},
		"short: {exclude: [{rx: devmem}]}\n":       {"matches no cell", 3, 19},
		"short: {exclude: [{color: red}]}\n":       {"unknown factor", 3, 20},
		"short: {exclude: [{rx: [tcp, uring]}]}\n": {"every cell is excluded", 1, 5},
	} {
		_, err := Parse("x", []byte("name: x\nfactors: {rx: [tcp, uring], tx: tcp}\n"+more))
		e := (*Error)(nil)
		if !errors.As(err, &e) || e.Line != want.line || e.Column != want.column || !strings.Contains(e.Msg, want.msg) {
			t.Errorf("%q: %v, want %+v", more, err, want)
		}
	}
	if _, err := ParseWhole("x", []byte(text[:i]+text[k:])); err == nil ||
		!strings.Contains(err.Error(), "leave out --whole") {
		t.Errorf("the whole of a file without a short version: %v", err)
	}
}

// One night answers what the reference asked: each receiver on one and two CPUs, each sender, what
// is declared, and no less of that than the whole has.
func TestBattleOfOneNight(t *testing.T) {
	text := file(t, "battle-of-the-zcs")
	s := mustParse(t, text)
	whole, err := ParseWhole("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Short || s.Repetitions != whole.Repetitions || s.Duration < 30*time.Second {
		t.Errorf("%d repetitions of %v", s.Repetitions, s.Duration)
	}
	all, n := map[string]bool{}, map[string]int{}
	primary := 0
	for _, c := range whole.Cells {
		all[string(c.Key())] = true
	}
	for _, c := range s.Cells {
		if !all[string(c.Key())] {
			t.Errorf("the whole has no %s", c.ID)
		}
		n[c.RX+" "+c.CPULayout]++
		n["from "+c.TX+" to "+c.RX]++
		if slices.Contains(s.Primary, c.ID) {
			primary++
		}
	}
	for _, rx := range []string{"tcp", "devmem", "zcrx"} {
		for _, of := range []string{rx + " 1cpu", rx + " 2cpu", "from tcp to " + rx, "from devmem to " + rx,
			"from uring-zc to " + rx} {
			if n[of] == 0 {
				t.Errorf("no cell: %s", of)
			}
		}
	}
	if primary != len(whole.Primary) || primary != 8 {
		t.Errorf("%d cells count, in the whole %d", primary, len(whole.Primary))
	}
}
