// SPDX-License-Identifier: MIT

package xdp

import (
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// wayOut finds the index of an interface, in the calling thread's network namespace, by which
// frames are to leave that came by another one. It refuses one that takes none, or would make them
// come again.
func wayOut(name string) (int, error) {
	const op = "redirect to"
	l, err := rtnl.LinkNamed(name)
	if err != nil {
		return 0, &fault.Error{Op: op + " " + name, Err: err,
			How: "name an interface of the receiver's host, in its network namespace (ip link)"}
	}
	refuse := func(why, how string) error {
		return &fault.Error{Op: op + " " + name + ": " + why, Err: unix.EOPNOTSUPP, How: how}
	}
	switch {
	case l.Flags&unix.IFF_LOOPBACK != 0:
		return 0, refuse("it is the loopback", "name an interface with a link behind it")
	case l.Flags&unix.IFF_UP == 0:
		return 0, refuse("it is down", "ip link set "+name+" up")
	case l.Flags&unix.IFF_RUNNING == 0:
		return 0, refuse("it has no carrier", "connect it: set the other end up, too")
	}
	return l.Index, transmits(op, name)
}
