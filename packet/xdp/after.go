// SPDX-License-Identifier: MIT

package xdp

import "github.com/zcbench/zcbench/machine/rtnl"

// after looks at what becomes of the frames that a rung sends on: those have come that got there.
type after struct {
	route   *rtnl.Conn // of a veth that sends frames back; nil: its losses are not known here
	index   int
	before  uint64 // frames that it had not sent before
	refused uint64 // and has not since
}

// open begins to look. Of the drivers, only veth is known to count in tx_dropped each frame for
// which there was no room (drivers/net/veth.c: veth_get_stats64); the sender's host counts what
// comes back on any.
func (a *after) open(r *Rung) error {
	if !r.Action.sendsBack() {
		return nil
	}
	l, err := rtnl.LinkNamed(r.Dev)
	if err != nil || l.Kind != "veth" {
		return err
	}
	a.index = l.Index
	if a.route, err = rtnl.Dial(); err != nil {
		return err
	}
	a.before, err = a.dropped()
	return err
}

// looks tells whether frames that are sent back may be refused.
func (a *after) looks() bool { return a.route != nil }

func (a *after) dropped() (uint64, error) {
	l, err := a.route.Link(a.index)
	if err != nil || l.Stats == nil {
		return 0, err
	}
	return l.Stats.TxDropped, nil
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
	case !r.Action.sendsBack():
		return now.Frames, nil
	case a.looks():
		n, err := a.dropped()
		if err != nil {
			return 0, err
		}
		a.refused = n - min(a.before, n)
	}
	sent := sentBy.Frames - sentBy.Missed
	return sent - min(a.refused, sent), nil
}

func (a *after) close() {
	if a.route != nil {
		a.route.Close()
		a.route = nil
	}
}
