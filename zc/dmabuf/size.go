// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
)

// ErrRing is memory that does not even fill the NIC's ring.
var ErrRing = errors.New("smaller than the NIC's ring")

// SizeFor computes how much memory an RX queue needs whose ring holds entries buffers of page
// bytes, for an application that keeps hold bytes: four times the ring, and what is kept. One part
// fills the ring. The other three are payload between ring and application: in the socket, and with
// the application until it gives it back. That suffices while three rings are more than the flow's
// window, which is at least bandwidth x round trip.
func SizeFor(entries, page, hold int) int {
	return (4*entries*page + hold + page - 1) / page * page
}

// CheckSize refuses memory of size bytes that cannot fill the ring, with
// [ErrRing]: no NIC works well with it, and some not at all. smaller is the command for
// a ring of a quarter of the memory.
func CheckSize(size, entries, page int, dev, smaller string) error {
	if size >= entries*page {
		return nil
	}
	return &fault.Error{Op: fmt.Sprintf("memory of %d bytes for the RX ring of %s, %d buffers of %d bytes", size, dev,
		entries, page), Err: ErrRing,
		How: fmt.Sprintf("choose --area-size %d or more (ideally %d), or leave it out; or use a smaller ring: %s",
			entries*page, SizeFor(entries, page, 0), smaller)}
}
