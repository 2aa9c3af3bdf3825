// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

func TestLockedDown(t *testing.T) {
	refused := func(lines ...string) error {
		return fmt.Errorf("program ip4_receive: %w", &ebpf.VerifierError{Cause: unix.EINVAL, Log: lines})
	}
	for _, x := range []struct {
		err  error
		want bool
	}{
		{refused("98: (85) call bpf_probe_read_kernel#113",
			"program of this type cannot use helper bpf_probe_read_kernel#113", ""), true},
		{refused("unknown func bpf_probe_read_kernel#113"), true},
		{refused("98: (85) call bpf_probe_read#4", "program of this type cannot use helper bpf_probe_read#4", ""),
			true},
		{refused("98: (85) call bpf_probe_read_kernel#113", "R1 type=scalar expected=fp"), false}, // it has the helper
		{refused("program of this type cannot use helper bpf_get_current_task#35"), false},
		{refused(), false},
		{errors.New("program of this type cannot use helper bpf_probe_read_kernel#113"), false},
	} {
		if got := lockedDown(x.err); got != x.want {
			t.Errorf("%v: %v", x.err, got)
		}
		if got := reason(Hook{}, x.err); (got == lockdownReason) != x.want {
			t.Errorf("%v: reason %q", x.err, got)
		}
	}
}
