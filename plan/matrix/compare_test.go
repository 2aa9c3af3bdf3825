// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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

// What primary cells are compared with may have what does not concern them. What makes no partner
// of one is refused in its place.
func TestAgainst(t *testing.T) {
	const factors = "name: x\nfactors: {rx: [tcp, uring, zcrx], tx: [tcp, sendfile], header_split: [false, true], " +
		"rx_buffer: [hot, cold]}\n"
	const text = factors + "baseline: {rx: tcp, tx: tcp, header_split: false, rx_buffer: cold}\n"
	s := mustParse(t, text+"compare: {primary: [{rx: zcrx, tx: tcp}], against: [{header_split: true, rx_buffer: "+
		"[hot, cold]}, {rx_buffer: 1M}]}\nexclude: [{rx: uring}]\ninclude: [{rx: tcp, tx: tcp, header_split: "+
		"false, rx_buffer: 1M}]\n")
	want := []map[string]string{{"header_split": "true", "rx_buffer": "262144"}, {"header_split": "true",
		"rx_buffer": "67108864"}, {"rx_buffer": "1048576"}}
	if !reflect.DeepEqual(s.Against, want) || !slices.Equal(s.Primary, []string{"zcrx/tcp"}) {
		t.Errorf("against %v, primary %q", s.Against, s.Primary)
	}
	p, err := Replay("j", recorded(t, s))
	if err != nil || !reflect.DeepEqual(p.Spec.Against, want) || p.Spec.Hash() != s.Hash() {
		t.Errorf("%v, %v", p, err)
	}
	if s.Hash() == mustParse(t, strings.Replace(s.File, ", {rx_buffer: 1M}]", "]", 1)).Hash() {
		t.Error("a journal goes on although other comparisons count")
	}
	const declared = text + "compare: {primary: [{rx: zcrx}], "
	for _, c := range []struct {
		text, want   string
		line, column int
	}{
		{declared + "against: [{header_split: true}, {color: red}]}\n", "unknown factor", 4, 67},
		{declared + "against: []}\n", "want what partners", 4, 43},
		{declared + "against: hot}\n", "must be a mapping", 4, 43},
		{declared + "against: {header_split: maybe}}\n", "maybe", 4, 58},
		{declared + "against: {rx_buffer: 1M}}\n", "no primary cell has a partner with rx_buffer=1048576", 4, 43},
		{declared + "against: {tx: tcp}}\n", "tx applies to every primary cell", 4, 44},
		{declared + "against: {rx: tcp}}\n", "rx applies to every primary cell", 4, 44},
		{text + "compare: {primary: [{rx: uring}], against: {header_split: true}}\n",
			"header_split applies to every primary cell", 4, 45},
		// By what senders do, no receiver's options are brought.
		{declared + "about: [tx], against: {header_split: true}}\n", "no primary cell has a partner", 4, 56},
		{text + "compare: {against: {header_split: true}}\n", "no compare.primary", 4, 20},
		{declared + "against: {rx_buffer: [" + strings.Join(sizes(21), ", ") + "]}}\n", "more than 20 partners", 4, 43},
		// zcrx comes to tcp, and the plan has no such tcp.
		{declared + "against: {header_split: true, rx_buffer: hot}}\nexclude: [{header_split: true, rx_buffer: hot}]\n",
			"no primary cell has a partner with header_split=true, rx_buffer=262144", 4, 43},
	} {
		_, err := Parse("x", []byte(c.text))
		e := (*Error)(nil)
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column || !strings.Contains(e.Msg, c.want) {
			t.Errorf("%q: %v, want %q at %d:%d", c.text[len(text):], err, c.want, c.line, c.column)
		}
	}
	for name, against := range map[string][]map[string]string{"no factor": {{"color": "red"}},
		"no value":  {{"rx_buffer": "1"}},
		"two lines": {{"congestion": "a\nb"}}, "too many": make([]map[string]string, plan.MaxAgainst+1)} {
		forged := *s
		if forged.Against = against; forged.checkPlayed(false) == nil {
			t.Errorf("%s: a journal with partners %v is played", name, against)
		}
	}
}

func sizes(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(1<<20+i<<12))
	}
	return all
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
