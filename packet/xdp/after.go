// SPDX-License-Identifier: MIT

package xdp

import (
	"cmp"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// after looks at what becomes of the frames that a rung sends on: those have come that got there.
type after struct {
	route   *rtnl.Conn // of an interface that frames leave by; nil: what it loses is not known here
	index   int
	before  rtnl.Stats
	dev     *nic.Device // the same, where its driver tells redirected frames from others; nil: it does not
	frames  linkCounts  // what that had counted before
	passed  uint64      // frames that it has counted since
	refused uint64      // frames that it has not sent since
	left    uint64      // packets that it has, others' too
}

// open begins to look. Of the drivers, only veth is known to count in tx_dropped each frame that it
// sends back and for which there was no room (drivers/net/veth.c: veth_get_stats64); the sender's
// host counts what comes back on any. What leaves by another interface nobody else counts: there
// the interface's tx_packets say what left, and its tx_dropped what did not, or its driver's own
// counters of redirected frames, if it has any.
func (a *after) open(r *Rung) error {
	if !r.sendsBack() && r.Action != toDev {
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
	if a.before, err = a.stats(); err != nil {
		return err
	}
	// Generic XDP redirects packets of the stack, which leave as any others do.
	if r.sendsBack() || r.Attach == Generic {
		return nil
	}
	if a.dev, err = nic.Open(l.Name); err != nil {
		return err
	}
	if a.frames = redirectedBy(a.dev); !a.frames.countsPassed {
		a.dev.Close()
		a.dev = nil
	}
	return nil
}

// looks reports whether the interface that frames leave by is looked at.
func (a *after) looks() bool { return a.route != nil }

func (a *after) stats() (s rtnl.Stats, err error) {
	l, err := a.route.Link(a.index)
	if err != nil || l.Stats == nil {
		return s, err
	}
	return *l.Stats, nil
}

// look reads what the interface that frames leave by has counted.
func (a *after) look() error {
	s, err := a.stats()
	if err != nil {
		return err
	}
	a.refused, a.left = s.TxDropped-min(a.before.TxDropped, s.TxDropped), s.TxPackets-min(a.before.TxPackets,
		s.TxPackets)
	if a.dev == nil {
		return nil
	}
	now := redirectedBy(a.dev)
	if !now.countsPassed {
		return &fault.Error{Op: "read what " + a.dev.Name + " counts of redirected frames", Err: unix.ENODATA,
			How: "it was there before: leave the interface alone while a run lasts"}
	}
	a.passed, a.refused = now.passed-min(a.frames.passed, now.passed), now.notTaken-min(a.frames.notTaken, now.notTaken)
	return nil
}

// out computes how many of the redirected frames left by another interface.
func (a *after) out(redirected uint64) uint64 {
	if a.dev != nil {
		return min(a.passed, redirected)
	}
	return min(a.left, redirected) // others' packets are in what left, too
}

// others computes how many packets of others, at least, left by another interface whose driver does
// not distinguish them from frames: of as many frames it is not known whether they left.
func (a *after) others(redirected uint64) uint64 {
	if a.dev != nil {
		return 0
	}
	return a.left - min(a.left, redirected)
}

// untold computes how many frames are in none of the counters of a driver that has some for them.
func (a *after) untold(redirected uint64) uint64 {
	if a.dev == nil {
		return 0
	}
	return redirected - min(a.passed+a.refused, redirected)
}

// came computes how many frames got to where the rung sends them, of those that it has now. Of
// those that it sends back, only the ones that it had at sentBy have been sent by now, or are
// counted as refused. r is nil where the program is none of XDP's.
func (a *after) came(r *Rung, sentBy, now Counts) (uint64, error) {
	switch {
	case r == nil:
		return now.Frames, nil
	case r.Action == toCPU:
		return Sum(r.Behind()).Frames, nil
	case !r.sendsBack() && r.Action != toDev:
		return now.Frames, nil
	case a.looks():
		if err := a.look(); err != nil {
			return 0, err
		}
	}
	if !r.sendsBack() {
		return a.out(now.Redirected()), nil
	}
	sent := sentBy.Redirected()
	return sent - min(a.refused, sent), nil
}

func (a *after) close() {
	if a.route != nil {
		a.route.Close()
		a.route = nil
	}
	if a.dev != nil {
		a.dev.Close()
		a.dev = nil
	}
}
