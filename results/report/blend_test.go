// SPDX-License-Identifier: MIT

package report

import "testing"

func TestBlend(t *testing.T) {
	texts := []string{
		"foreign load 0.23 cores on CPU 1, split 0.50",
		"foreign load 0.9 cores on CPU 1, split 0.50",
		"foreign load 0.10 cores on CPU 1, split 0.50",
	}
	b := newBlend(texts[0])
	for _, s := range texts[1:] {
		if mask(s) != mask(texts[0]) {
			t.Fatalf("mask %q differs from %q", mask(s), mask(texts[0]))
		}
		b.add(s)
	}
	if got, want := b.String(), "foreign load 0.10..0.9 cores on CPU 1, split 0.50"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b = newBlend("only 32 % of the bytes on CPU 3")
	b.add("only 9 % of the bytes on CPU 3")
	if got, want := b.String(), "only 9..32 % of the bytes on CPU 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if mask("load 0.1 on CPU 1") == mask("load 0.1 on CPU 2") {
		t.Error("messages about different CPUs have one mask")
	}
	percent := newBlend("only 50 % of the bytes passed on CPU 3")
	percent.add("only 7 % of the bytes passed on CPU 3")
	if got, want := percent.String(), "only 7..50 % of the bytes passed on CPU 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, s := range []string{"", "no figure", "1.5", "ends in 2.25"} {
		if got := newBlend(s).String(); got != s {
			t.Errorf("one message %q became %q", s, got)
		}
	}
}
