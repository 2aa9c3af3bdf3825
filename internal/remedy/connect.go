// SPDX-License-Identifier: MIT

package remedy

import "golang.org/x/sys/unix"

// Connect is the call by which a sender reaches its receiver.
const Connect Call = "connect: TCP"

func connectRows() []Row {
	return []Row{
		{Call: Connect, Errno: unix.ENETUNREACH,
			Cause: "no route to the receiver", Look: "ip route get ADDRESS", Do: "check addresses, link and routes",
			Kernel: "net/ipv4/route.c: ip_route_output_key_hash_rcu"},
	}
}
