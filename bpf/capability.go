// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrCapability is that the calling thread may not load the programs.
var ErrCapability = errors.New("not allowed")

// CheckCapabilities tells what the calling thread lacks to open probes: CAP_BPF and
// CAP_PERFMON, for which CAP_SYS_ADMIN does too, and CAP_NET_ADMIN; admin is that it
// needs CAP_SYS_ADMIN whatever else it has. The kernel asks for them in the initial
// user namespace: root of another one passes here, and is refused there.
func CheckCapabilities(admin bool) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if missing := missingCapabilities(func(c int) bool { return d[c/32].Effective&(1<<(c%32)) != 0 }, admin); len(missing) > 0 {
		return fmt.Errorf("%w: it needs %s", ErrCapability, strings.Join(missing, ", "))
	}
	return nil
}

func missingCapabilities(has func(int) bool, admin bool) (names []string) {
	for _, c := range []struct {
		name   string
		bit    int
		admins bool // CAP_SYS_ADMIN does too
	}{{"CAP_BPF", unix.CAP_BPF, true}, {"CAP_PERFMON", unix.CAP_PERFMON, true}, {"CAP_NET_ADMIN", unix.CAP_NET_ADMIN, false}} {
		if !has(c.bit) && !(c.admins && has(unix.CAP_SYS_ADMIN)) {
			names = append(names, c.name)
		}
	}
	if admin && !has(unix.CAP_SYS_ADMIN) {
		names = append(names, "CAP_SYS_ADMIN")
	}
	return names
}
