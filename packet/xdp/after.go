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

func (a *after) dropped() (uint64, error) {
	l, err := a.route.Link(a.index)
	if err != nil || l.Stats == nil {
		return 0, err
	}
	return l.Stats.TxDropped, nil
}

// came is how many frames got to where the rung sends them, of those that it had at the last look
// and at this one. r is nil where the program is none of XDP's.
func (a *after) came(r *Rung, last, now Counts) (uint64, error) {
	switch {
	case r == nil:
		return now.Frames, nil
	case r.Action == ToCPU:
		all, err := r.Behind()
		return Sum(all).Frames, err
	case !r.Action.sendsBack():
		return now.Frames, nil
	case a.route != nil:
		n, err := a.dropped()
		if err != nil {
			return 0, err
		}
		a.refused = n - min(a.before, n)
	}
	// What was not yet sent at the last look is by now, or is counted as refused.
	sent := last.Frames - last.Missed
	return sent - min(a.refused, sent), nil
}

func (a *after) close() {
	if a.route != nil {
		a.route.Close()
		a.route = nil
	}
}
