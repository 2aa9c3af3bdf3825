// SPDX-License-Identifier: MIT

package hops

// relation is how packets come from an interface of the path to the next one.
type relation string

// The relations. What is said of a direction is of that of the list; the other one is its mirror.
const (
	Wire   relation = "wire"   // what one sends the other receives: a veth link, or a cable
	up     relation = "up"     // the next stands on it: a VLAN, a bond, a bridge on its port
	down   relation = "down"   // it stands on the next
	Across relation = "across" // what one receives the other sends: bridged or routed
)

// Link is two neighbours of the path whose packets are compared: those beside each other, but for
// a bridge between two of its ports, which does not count what it passes on
// (net/bridge/br_input.c: br_handle_frame, Linux 7.3.4).
type Link struct {
	From, To int // numbers of the hops
	Relation relation
	Sure     bool // the kernel says that the two are related so
}

// links derives the links of a path from its hops.
func links(all []Hop) (out []Link) {
	for i := 0; i+1 < len(all); i++ {
		from, to := i, i+1
		if to+1 < len(all) && bridges(&all[to], &all[from], &all[to+1]) {
			out = append(out, Link{from, to + 1, Across, true})
			i++
			continue
		}
		r, sure := relate(&all[from], &all[to])
		out = append(out, Link{from, to, r, sure})
	}
	return out
}

func bridges(b, x, y *Hop) bool {
	return b.Kind == "bridge" && together(x, b) && together(y, b) && x.Master == b.Index && y.Master == b.Index
}

// together reports whether two interfaces are in one namespace. Those of two readers never are,
// even where the numbers are the same: each machine gives its first namespace the same one
// (include/linux/proc_ns.h: PROC_NET_INIT_INO).
func together(x, y *Hop) bool { return x.reader == y.reader && x.Inode == y.Inode }

// relate finds how two interfaces are related. Of two that stand in no relation that the kernel
// knows, those of one namespace are taken for a host's that forwards, and those of two for the
// ends of a cable.
func relate(x, y *Hop) (r relation, sure bool) {
	here := together(x, y)
	switch {
	case paired(x, y) && paired(y, x):
		return Wire, true
	case here && (x.Master == y.Index || y.Lower == x.Index):
		return up, true
	case here && (y.Master == x.Index || x.Lower == y.Index):
		return down, true
	case here:
		return Across, x.Master != 0 && x.Master == y.Master
	}
	return Wire, false
}

// paired reports whether x names y as its other end.
func paired(x, y *Hop) bool {
	if x.Peer == 0 || x.Peer != y.Index || x.reader != y.reader {
		return false
	}
	if x.PeerNetns < 0 {
		return together(x, y)
	}
	if x.space == nil { // a far host's, all of which are in one namespace
		return false
	}
	id, known := x.space.ids[y.space]
	return known && id == x.PeerNetns
}
