// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

func TestPrimary(t *testing.T) {
	const text = "name: x\nfactors: {rx: [tcp, uring], tx: [tcp, sendfile]}\nbaseline: {rx: tcp, tx: tcp}\n"
	s := mustParse(t, text)
	all := s.Hash()
	if s.Primary != nil || s.Purpose != "" {
		t.Errorf("primary %q, purpose %q of a file that says nothing", s.Primary, s.Purpose)
	}
	s = mustParse(t, text+"purpose: check\ncompare:\n  primary:\n    - {tx: tcp}\n    - {rx: [tcp], tx: sendfile}\n")
	if want := []string{"tcp/sendfile", "uring/tcp"}; !slices.Equal(s.Primary, want) || s.Purpose != Check {
		t.Errorf("primary %q, want %q; purpose %q", s.Primary, want, s.Purpose)
	}
	if g := mustParse(t, text+"gates: {limit: receiver}\n").Gates; g.Limit != plan.ByReceiver || *g.Copied != .01 {
		t.Errorf("gates %+v", g)
	}
	if s := mustParse(t, text+"compare: {about: [tx, rx], between_boots: 0.5%}\n"); !slices.Equal(s.About,
		[]string{"tx", "rx"}) || s.BetweenBoots != .005 {
		t.Errorf("about %q, %v between boots", s.About, s.BetweenBoots)
	}
	if s := mustParse(t, text+"compare: {between_boots: 1% of 6, between_starts: 2%}\n"); s.BetweenBoots != .01 ||
		s.BetweenBootsOf != 6 || s.BetweenStarts.SD != .02 || s.BetweenStarts.Of != 0 {
		t.Errorf("%v of %d between boots, %+v between starts", s.BetweenBoots, s.BetweenBootsOf, s.BetweenStarts)
	}
	for _, bad := range []string{"1% of 1", "1% of", "1% of x", "200% of 6"} {
		if _, err := Parse("x", []byte(text+"compare: {between_starts: "+bad+"}\n")); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if s.Hash() == all {
		t.Error("a journal goes on although other comparisons count")
	}
	for _, c := range []struct {
		text         string
		line, column int
	}{
		{text + "compare: {primary: [{rx: zcrx}]}\n", 4, 21},
		{text + "compare: {primary: [{rx: tcp, tx: tcp}]}\n", 4, 21}, // the baseline itself
		{text + "compare: {primary: []}\n", 4, 20},
		{text + "compare: {primary: [{color: red}]}\n", 4, 22},
		{text + "compare: {about: [rx, color]}\n", 4, 23},
		{text + "compare: {about: [rx, mtu]}\n", 4, 23}, // all cells have the same
		{text + "compare: {about: []}\n", 4, 18},
		{text + "compare: {between_boots: much}\n", 4, 26},
		{text + "compare: {secondary: [{rx: tcp}]}\n", 4, 11},
		{text + "purpose: fun\n", 4, 10},
		{text + "gates: {limit: me}\n", 4, 16},
		{"name: x\nfactors: {rx: [tcp, uring], tx: tcp}\ncompare: {primary: [{rx: uring}]}\n", 3, 21}, // no baseline
	} {
		_, err := Parse("x", []byte(c.text))
		e := (*Error)(nil)
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column {
			t.Errorf("%q: %v, want an error at %d:%d", c.text[len(c.text)-40:], err, c.line, c.column)
		}
	}
}

// A plan without a file compares each mode beside the baseline's mode of the other end.
func TestPrimaryModes(t *testing.T) {
	s := mustParse(t, "name: x\nfactors: {rx: [tcp, uring], tx: [tcp, sendfile]}\n")
	s.PrimaryModes(s.Cells[0])
	if want := []string{"tcp/sendfile", "uring/tcp"}; !slices.Equal(s.Primary, want) ||
		s.Base.Key() != (plan.Cell{RX: "tcp", TX: "tcp"}).Key() {
		t.Errorf("primary %q, baseline %+v", s.Primary, s.Base)
	}
}
