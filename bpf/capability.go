// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// ErrCapability is that the calling thread may not load the programs.
var ErrCapability = errors.New("not allowed")

// CheckCapabilities checks what the calling thread lacks to open probes; the error says what to do
// about it. It needs CAP_BPF and CAP_PERFMON, for which CAP_SYS_ADMIN does too, and CAP_NET_ADMIN;
// with admin it needs CAP_SYS_ADMIN whatever else it has. The kernel wants them over the machine
// (kernel/bpf/syscall.c: bpf_prog_load): root of a user namespace has none of that.
func CheckCapabilities(admin bool) error { return checkCapabilities(privilege.Look(), admin) }

func checkCapabilities(s privilege.State, admin bool) error {
	caps := []privilege.Cap{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN}
	if admin {
		caps = append(caps, unix.CAP_SYS_ADMIN)
	}
	var names []string
	var how string
	for _, c := range caps {
		switch why := s.Lacks(privilege.Machine, c); why {
		case privilege.Granted:
			continue
		case privilege.NotRoot:
			how = "sudo zcbench probe, or grant that"
		default:
			how = why.Cause(caps...) + ": " + why.Do(caps...)
		}
		names = append(names, c.String())
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("%w: it needs %s (%s)", ErrCapability, strings.Join(names, ", "), how)
}
