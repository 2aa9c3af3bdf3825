// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// ringElsewhere says that the ring belongs to another thread than the one that calls: the
// kernel looks at that before all else (io_uring/register.c: __io_uring_register).
var ringElsewhere = &state{Name: "the ring belongs to another thread", From: "gettid(2)",
	Holds: func(on On) (string, bool) {
		tid := unix.Gettid()
		return fmt.Sprintf("this is thread %d, and the ring is thread %d's", tid, on.Thread), on.Thread != 0 &&
			on.Thread != tid
	}}

// uringDisabled is the file of sysctl kernel.io_uring_disabled (6.6): 0 all may, 1 a group and
// CAP_SYS_ADMIN, 2 nobody. It is another in tests.
var uringDisabled = "/proc/sys/kernel/io_uring_disabled"

// uringOff makes the state that the sysctl has a value.
func uringOff(value string) *state {
	return &state{Name: "sysctl kernel.io_uring_disabled is " + value,
		From: "/proc/sys/kernel/io_uring_disabled", Holds: func(On) (string, bool) {
			b, err := kernelfile.ReadFile(uringDisabled)
			if err != nil || strings.TrimSpace(string(b)) != value {
				return "", false
			}
			// Whoever has the capability over the machine is not what 1 keeps out.
			return "", value != "1" || privilege.Look().Lacks(privilege.Machine,
				unix.CAP_SYS_ADMIN) != privilege.Granted
		}}
}

// uringOffForUsers is uringOff("1") for root of a user namespace, whom being root does not help.
var uringOffForUsers = &state{Name: "sysctl kernel.io_uring_disabled is 1, and this is a user namespace",
	From: "/proc/sys/kernel/io_uring_disabled, /proc/thread-self/ns/user",
	Holds: func(on On) (string, bool) {
		_, off := uringOff("1").Holds(on)
		return "", off && privilege.Look().Lacks(privilege.Machine, unix.CAP_SYS_ADMIN) == privilege.OfUsers
	}}
