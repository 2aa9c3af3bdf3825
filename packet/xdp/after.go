// SPDX-License-Identifier: MIT

package xdp

import (
	"cmp"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// after looks at what becomes of the frames that a rung sends on: those have come that got there.
type after struct {
	route   *rtnl.Conn // of an interface that frames leave by; nil: what it loses is not known here
	index   int
	before  rtnl.Stats
	refused uint64 // frames that it has not sent since
	left    uint64 // packets that it has
}

// open begins to look. Of the drivers, only veth is known to count in tx_dropped each frame that it
// sends back and for which there was no room (drivers/net/veth.c: veth_get_stats64); the sender's
// host counts what comes back on any. What leaves by another interface nobody else counts: there
// the interface's tx_packets say what left, and its tx_dropped what did not.
func (a *after) open(r *Rung) error {
	if !r.sendsBack() && r.Action != ToDev {
		return nil
	}
	l, err := rtnl.LinkNamed(cmp.Or(r.OutDev, r.Dev))
	if err != nil || r.sendsBack() && l.Kind != "veth" {
		return err
	}
	a.index = l.Index
	if a.route, err = rtnl.Dial(); err != nil {
		return err
	}
	a.before, err = a.stats()
	return err
}

// looks tells whether the interface that frames leave by is looked at.
func (a *after) looks() bool { return a.route != nil }

func (a *after) stats() (s rtnl.Stats, err error) {
	l, err := a.route.Link(a.index)
	if err != nil || l.Stats == nil {
		return s, err
	}
	return *l.Stats, nil
}

// came is how many frames got to where the rung sends them, of those that it has now. Of those that
// it sends back, only the ones that it had at sentBy have been sent by now, or are counted as
// refused. r is nil where the program is none of XDP's.
func (a *after) came(r *Rung, sentBy, now Counts) (uint64, error) {
	switch {
	case r == nil:
		return now.Frames, nil
	case r.Action == ToCPU:
		return Sum(r.Behind()).Frames, nil
	case !r.sendsBack() && r.Action != ToDev:
		return now.Frames, nil
	case a.looks():
		s, err := a.stats()
		if err != nil {
			return 0, err
		}
		a.refused, a.left = s.TxDropped-min(a.before.TxDropped, s.TxDropped), s.TxPackets-min(a.before.TxPackets, s.TxPackets)
	}
	if !r.sendsBack() { // others' packets are in what left, too
		return min(a.left, now.Redirected()), nil
	}
	sent := sentBy.Redirected()
	return sent - min(a.refused, sent), nil
}

func (a *after) close() {
	if a.route != nil {
		a.route.Close()
		a.route = nil
	}
}
