// SPDX-License-Identifier: MIT

package bpf

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

func TestCheckCapabilities(t *testing.T) {
	const bpf, perfmon, net, sys = 1 << unix.CAP_BPF, 1 << unix.CAP_PERFMON, 1 << unix.CAP_NET_ADMIN,
		1 << unix.CAP_SYS_ADMIN
	for _, c := range []struct {
		has    uint64
		admin  bool
		inside bool // a user namespace
		want   string
	}{
		{0, false, false, "it needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN (sudo"},
		{bpf | net, false, false, "it needs CAP_PERFMON ("},
		{bpf | perfmon | net, false, false, ""},
		{sys | net, false, false, ""},
		{sys, false, false, "it needs CAP_NET_ADMIN ("},
		{bpf | perfmon | net, true, false, "it needs CAP_SYS_ADMIN ("},
		{sys | net, true, false, ""},
		{sys | net, true, true, "as root outside"},
	} {
		err := checkCapabilities(privilege.State{Known: true, UID: 7, Effective: c.has, Bounding: 1<<41 - 1,
			FirstUsers: !c.inside}, c.admin)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#x, admin %t: %v, want %q", c.has, c.admin, err, c.want)
		}
	}
}
