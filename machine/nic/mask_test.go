// SPDX-License-Identifier: MIT

package nic

import (
	"math/big"
	"strings"
	"testing"
)

func TestCPUMask(t *testing.T) {
	for cpu, want := range map[int]string{0: "1", 3: "8", 31: "80000000", 32: "1,00000000", 65: "2,00000000,00000000"} {
		if got := CPUMask(cpu); got != want {
			t.Errorf("CPU %d: %s, want %s", cpu, got, want)
		}
		if got, err := canonicalMask(CPUMask(cpu)); err != nil || got != want {
			t.Errorf("CPU %d is not canonical: %s, %v", cpu, got, err)
		}
	}
	for want, cpus := range map[string][]int{"d": {0, 3, 2, 0}, "80000000,00000001": {63, 0},
		"2,00000000,00000100": {65, 8}} {
		if got := CPUMask(cpus...); got != want {
			t.Errorf("CPUs %v: %s, want %s", cpus, got, want)
		}
	}
}

// However wide the kernel prints a mask, it is the one that was set.
func TestCanonicalMask(t *testing.T) {
	for in, want := range map[string]string{"0": "0", "00": "0", "00000000,00000000": "0", "00000000,0000000f": "f",
		"00000001,00000000": "1,00000000", "FF": "ff", "3": "3"} {
		if got, err := canonicalMask(in); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{"", ",", "x", "1,", "000000001", "-1", "+1", "0x1", "1 "} {
		if got, err := canonicalMask(bad); err == nil || !strings.Contains(err.Error(), "CPU mask") {
			t.Errorf("%q is taken as %s, %v", bad, got, err)
		}
	}
}

func FuzzCanonicalMask(f *testing.F) {
	for _, s := range []string{"0", "00000000,0000000f", "1,00000000", "ff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := canonicalMask(s)
		if err != nil {
			return
		}
		if again, err := canonicalMask(got); err != nil || again != got {
			t.Errorf("%q became %q and then %q, %v", s, got, again, err)
		}
		if a, b := value(s), value(got); a.Cmp(b) != 0 {
			t.Errorf("%q became %q: %v, not %v", s, got, b, a)
		}
	})
}

// value is the number that a mask is.
func value(mask string) *big.Int {
	v := new(big.Int)
	for word := range strings.SplitSeq(mask, ",") {
		n, _ := new(big.Int).SetString(word, 16)
		v.Add(v.Lsh(v, 32), n)
	}
	return v
}
