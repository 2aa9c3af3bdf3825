// SPDX-License-Identifier: MIT

package remedy

import (
	"golang.org/x/sys/unix"
)

// lacks is a look at whether the thread has a capability in the user namespace of its own: what the
// kernel asks of the machine's first one may still be refused where it has.
func lacks(capability int, name string) *State {
	return &State{Name: "the thread has no " + name, From: "capget: effective",
		Holds: func(On) (string, bool) {
			h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var d [2]unix.CapUserData
			if unix.Capget(&h, &d[0]) != nil {
				return "", false
			}
			return "", d[capability/32].Effective&(1<<(capability%32)) == 0
		}}
}
