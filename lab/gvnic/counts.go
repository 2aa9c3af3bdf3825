// SPDX-License-Identifier: MIT

package gvnic

// Counts are what a function has done since the machine was switched on.
type Counts struct {
	RX      [maxQueues]RXCounts
	TX      [maxQueues]TXCounts
	NoQueue uint64 // packets for a queue that is not open
}

// RXCounts are those of a receive queue.
type RXCounts struct {
	Packets      uint64 // as the driver gets them: aggregated ones are one
	HeaderBytes  uint64 // written into header buffers, which are the kernel's
	PayloadBytes uint64 // written into buffers without a header before them: payload of split packets
	WholeBytes   uint64 // written into buffers, of packets with their headers
	NoBuffers    uint64 // packets dropped because buffers did not come for long
}

// wrote counts bytes in a buffer of the queue.
func (c *RXCounts) wrote(split bool, n int) {
	if split {
		c.PayloadBytes += uint64(n)
	} else {
		c.WholeBytes += uint64(n)
	}
}

// TXCounts are those of a transmit queue.
type TXCounts struct {
	Packets, Bytes uint64 // as the driver gives them: before they are cut
	Bad            uint64 // with descriptors that make no sense; they are not sent
}

// Counts returns what the function has done so far.
func (f *Function) Counts() Counts {
	f.Lock()
	defer f.Unlock()
	return f.counts
}
