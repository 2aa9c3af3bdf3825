// SPDX-License-Identifier: MIT

package near

import (
	"slices"
	"strings"
	"testing"
)

func TestInstead(t *testing.T) {
	names := []string{"tcp", "tcp-trunc", "uring", "zcrx", "devmem"}
	const all = "; the modes are tcp, tcp-trunc, uring, zcrx, devmem"
	for word, want := range map[string]string{
		"zcxr":       "; did you mean zcrx?",
		"urin":       "; did you mean uring?",
		"tcp_trunc":  "; did you mean tcp-trunc?",
		"iperf3":     all,
		"":           all,
		"dev\x1bmem": "; did you mean devmem?",
	} {
		if got := Instead(word, "modes", names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// Of many names none is listed but those that were meant.
func TestInsteadOfMany(t *testing.T) {
	names := append(strings.Fields(strings.Repeat("key ", mostListed)), "touch")
	for word, want := range map[string]string{
		"x":     "; docs/matrix.md and docs/options.md list the keys",
		"tuoch": "; did you mean touch?",
	} {
		if got := Instead(word, "keys", names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	names := []string{"rx-buffer", "rx-buf-len", "duration", "channels", "sut", "tg"}
	for word, want := range map[string][]string{
		"durations": {"duration"}, "rx_buffer": {"rx-buffer"}, "rx-bufer": {"rx-buffer"}, "sutt": {"sut"}, "xy": nil,
		"dev": nil, "chan": {"channels"},
		"colour": nil, "cuts": nil, "": nil, strings.Repeat("x", 1000): nil, "SUT": {"sut"},
	} {
		if got := Names(word, names); !slices.Equal(got, want) {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"demo", "dmo", 1}, {"demo", "dmeo", 1},
		{"zcrx", "zcxr", 1}, {"nosuch", "touch", 2}} {
		if got := distance(x.a, x.b); got != x.want || distance(x.b, x.a) != x.want {
			t.Errorf("%q, %q: %d, want %d", x.a, x.b, got, x.want)
		}
	}
}
