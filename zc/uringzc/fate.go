// SPDX-License-Identifier: MIT

package uringzc

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
)

// Fate is what a notification says of the bytes of its request.
type Fate int

// The fates.
const (
	Sent   Fate = iota // without a copy
	Copied             // by the kernel
	Untold             // the kernel's word means nothing
)

// mostInPacket is how many bytes of payload the kernel joins to one packet before GSO, at most
// (include/linux/netdevice.h: GSO_MAX_SIZE).
const mostInPacket = 8 * 65535

// Fates judges notifications in the order in which they come.
//
// The kernel says copied of each request that was not seen to leave without a copy. It looks
// when a packet is freed, and on behalf of the first request in it alone: of one all of whose bytes
// joined the last packet of the request before, it says copied whatever happened (io_uring/notif.c:
// io_link_skb, io_tx_ubuf_complete; since Linux 6.10). So most messages of 4 KiB are "copied" on a
// NIC that copies nothing. The request that began the packet is told truly, and its notification
// comes first, in one go with those that joined, so all of them are among the few that may be
// owed at a time. Hence what fits into a packet is untold if fewer notifications than that came
// since one that left without a copy. From a path that begins to copy no more than those are
// untold, and then all is copied.
type Fates struct {
	near        int // of the next so many a packet's first request may have left without a copy
	untoldBytes uint64
	toldBytes   uint64
}

// Of judges the next notification, of a request of so many bytes.
func (f *Fates) Of(size uint64, flagged bool) Fate {
	f.near--
	switch {
	case !flagged:
		f.near = window
	case f.near > 0 && size <= mostInPacket:
		f.untoldBytes += size
		return Untold
	}
	f.near = max(f.near, 0)
	f.toldBytes += size
	if flagged {
		return Copied
	}
	return Sent
}

// Notes returns a note on how much is untold, if anything is.
func (f *Fates) Notes() []string {
	if f.untoldBytes == 0 {
		return nil
	}
	return []string{fmt.Sprintf("of %.1f %% of the payload the kernel does not tell whether it was copied: "+
		"messages that joined a packet of the one before",
		100*float64(f.untoldBytes)/float64(f.untoldBytes+f.toldBytes))}
}

// Figures returns how many bytes are untold.
func (f *Fates) Figures() []stream.Figure {
	return []stream.Figure{{Name: UntoldFigure, Unit: "bytes", Value: float64(f.untoldBytes)}}
}
