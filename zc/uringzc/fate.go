// SPDX-License-Identifier: MIT

package uringzc

import "fmt"

// fate is what a notification says of the bytes of its request.
type fate int

const (
	sent   fate = iota // without a copy
	copied             // by the kernel
	untold             // the kernel's word means nothing
)

// mostInPacket is how many bytes of payload the kernel joins to one packet before GSO, at most
// (include/linux/netdevice.h: GSO_MAX_SIZE).
const mostInPacket = 8 * 65535

// fates judges notifications in the order in which they come.
//
// The kernel says copied of each request that was not seen to leave without a copy. It looks
// when a packet is freed, and on behalf of the first request in it alone: of one all of whose bytes
// joined the last packet of the request before, it says copied whatever happened (io_uring/notif.c:
// io_link_skb, io_tx_ubuf_complete; since Linux 6.10). So most messages of 4 KiB are "copied" on a
// NIC that copies nothing. The notifications of requests that share packets come in one go, the
// first request's at their head, and that one is told truly: a copy of a packet is booked on it.
// Hence what follows one that left without a copy, and fits into a packet, is untold.
type fates struct {
	last        fate
	begun       bool
	untoldBytes uint64
	toldBytes   uint64
}

func (f *fates) of(size uint64, flagged bool) fate {
	was := sent
	switch {
	case flagged && f.begun && f.last != copied && size <= mostInPacket:
		was = untold
		f.untoldBytes += size
	case flagged:
		was = copied
	}
	if was != untold {
		f.toldBytes += size
	}
	f.last, f.begun = was, true
	return was
}

// notes says how much is untold.
func (f *fates) notes() []string {
	if f.untoldBytes == 0 {
		return nil
	}
	return []string{fmt.Sprintf("of %.1f %% of the payload the kernel does not tell whether it was copied: messages that joined a packet of the one before",
		100*float64(f.untoldBytes)/float64(f.untoldBytes+f.toldBytes))}
}
