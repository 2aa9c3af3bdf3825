// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// preempted reports, from what uname(2) says, whether programs may preempt one another on a kernel.
//
// A program counts by a load, an addition and a store. That is exact where nothing on the same CPU
// counts in between: softirqs do not preempt one another, and threads of NAPI run with bottom
// halves disabled. With PREEMPT_RT that holds before 6.18, where these sections hold a lock of the
// CPU; later kernels have it with CONFIG_PREEMPT_RT_NEEDS_BH_LOCK alone (kernel/softirq.c:
// __local_bh_disable_ip).
func preempted(release, version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return strings.Contains(version, "PREEMPT_RT") && (err != nil || major > 6 || major == 6 && minor >= 18)
}

// inexactHere is inexactOn of this kernel. Tests have another one.
var inexactHere = func() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail
	return inexactOn(unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Version[:]))
}

// inexactOn warns that counts may be too few on a kernel; "": they are exact.
func inexactOn(release, version string) string {
	if !preempted(release, version) {
		return ""
	}
	return fmt.Sprintf("counts of frames may be too few: Linux %s has PREEMPT_RT, where the program may preempt "+
		"itself on one CPU if that takes frames of several queues, and loses a count then; use one queue for "+
		"each CPU, a kernel with CONFIG_PREEMPT_RT_NEEDS_BH_LOCK, or one without PREEMPT_RT", release)
}
