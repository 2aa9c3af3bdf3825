// SPDX-License-Identifier: MIT

package xdp

import (
	"strings"
	"testing"
)

// Kernels on which counts may be too few are told from those where they are exact.
func TestInexactCounts(t *testing.T) {
	for _, x := range []struct {
		release, version string
		want             bool
	}{
		{"6.18.44", "#1 SMP PREEMPT_DYNAMIC Debian 6.18.44-1", false},
		{"6.12.1-rt-amd64", "#1 SMP PREEMPT_RT Debian 6.12.1-1", false},
		{"5.18.0-rt11", "#1 SMP PREEMPT_RT", false},
		{"6.18.0-rt-arm64", "#1 SMP PREEMPT_RT Debian 6.18-1", true},
		{"7.0.1", "#1 SMP PREEMPT_RT", true},
		{"custom", "#1 SMP PREEMPT_RT", true},
	} {
		got := inexactOn(x.release, x.version)
		if (got != "") != x.want || x.want && !strings.Contains(got, x.release) {
			t.Errorf("%s, %s: %q", x.release, x.version, got)
		}
	}
}

// A path whose program counts says so in its notes; one without a program has nothing to say of it.
func TestInexactCountsAreNoted(t *testing.T) {
	was := inexactHere
	defer func() { inexactHere = was }()
	inexactHere = func() string { return "too few" }
	for _, x := range []struct {
		r     *receiver
		notes int
	}{{&receiver{counter: silent{}}, 1}, {&receiver{counter: silent{}, rung: &Rung{}}, 1}, {&receiver{}, 0}} {
		if e := x.r.Evidence(); len(e.Notes) != x.notes || x.notes > 0 && e.Notes[0] != "too few" {
			t.Errorf("%+v: %q", x.r, e.Notes)
		}
	}
}
