// SPDX-License-Identifier: MIT

package bpf

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMissingCapabilities(t *testing.T) {
	const bpf, perfmon, net, sys = unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN
	for _, c := range []struct {
		has   []int
		admin bool
		want  string
	}{
		{nil, false, "CAP_BPF CAP_PERFMON CAP_NET_ADMIN"},
		{[]int{bpf, net}, false, "CAP_PERFMON"},
		{[]int{bpf, perfmon, net}, false, ""},
		{[]int{sys, net}, false, ""},
		{[]int{sys}, false, "CAP_NET_ADMIN"},
		{[]int{bpf, perfmon, net}, true, "CAP_SYS_ADMIN"},
		{[]int{sys, net}, true, ""},
	} {
		got := strings.Join(missingCapabilities(func(bit int) bool { return slices.Contains(c.has, bit) }, c.admin), " ")
		if got != c.want {
			t.Errorf("%v, admin %t: missing %q, want %q", c.has, c.admin, got, c.want)
		}
	}
}
