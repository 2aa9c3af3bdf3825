// SPDX-License-Identifier: MIT

package gvnic

import "github.com/zcbench/zcbench/internal/cardcounts"

// WriteConfig implements vfiouser.Device: the guest asks for a count.
func (f *Function) WriteConfig(config []byte, off int, p []byte) {
	cardcounts.Write(config, off, p, &f.counts)
}

// Counts returns what the function has done since the machine was switched on.
func (f *Function) Counts() cardcounts.Of {
	f.Lock()
	defer f.Unlock()
	return f.counts
}

// wrote counts n bytes of payload in a buffer of q. The device cannot know whose memory a buffer
// is, but sees when that changes: see [Function.given].
func (f *Function) wrote(q *rxQueue, n int) {
	if c := &f.counts.RX[q.id]; f.provided[q.id] {
		c.Provider += uint64(n)
	} else {
		c.Kernel += uint64(n)
	}
}

// given notes that a queue was stopped and made anew while others stay as they are. That is what
// the kernel does to give a queue an application's memory, and to take it away again
// (netdev_rx_queue_restart of net/core/netdev_rx_queue.c); for all else gve makes all queues anew,
// and each keeps the memory that it was given (gve_adjust_config).
func (f *Function) given(id uint32) { f.provided[id] = !f.provided[id] }
