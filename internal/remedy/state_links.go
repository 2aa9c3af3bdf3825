// SPDX-License-Identifier: MIT

package remedy

import (
	"net"
	"strings"
)

// Looks at the interfaces of this network namespace, for who finds no route: an interface that is
// down has none, and of IPv6 it loses its addresses, too.
var (
	onlyLoopback = &state{Name: "the network namespace has no interface but loopback", From: "rtnetlink: RTM_GETLINK",
		Holds: func(On) (string, bool) {
			up, down := links()
			return "", up == nil && down == nil
		}}
	allDown = &state{Name: "no interface is up", From: "rtnetlink: RTM_GETLINK: IFF_UP",
		Holds: func(On) (string, bool) {
			up, down := links()
			return "no interface is up; down: " + strings.Join(down, ", "), up == nil && down != nil
		}}
	someDown = &state{Name: "an interface is down, and none that is up has a route",
		From: "rtnetlink: RTM_GETLINK: IFF_UP",
		Holds: func(On) (string, bool) {
			_, down := links()
			return "no interface that is up leads there; down: " + strings.Join(down, ", "), down != nil
		}}
)

// links names the interfaces beside loopback.
func links() (up, down []string) {
	all, _ := net.Interfaces()
	for _, i := range all {
		switch {
		case i.Flags&net.FlagLoopback != 0:
		case i.Flags&net.FlagUp != 0:
			up = append(up, i.Name)
		default:
			down = append(down, i.Name)
		}
	}
	return up, down
}
