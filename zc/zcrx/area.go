// SPDX-License-Identifier: MIT

package zcrx

import (
	"os"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// area is the memory that payload is written into.
type area struct {
	kind string // as the options have it
	*dmabuf.Memory
}

// areaBytes computes the size of the area: what the options ask for, which must fill the ring of
// d's queue, else the default, or more where ring and application need it. Without a NIC there is
// no ring.
func areaBytes(q stream.NICQueue, d *nic.Device) (int, error) {
	size := q.AreaBytes
	if size == 0 {
		size = stream.DefaultAreaBytes
	}
	if d == nil {
		return size, nil
	}
	buf := max(q.BufLen, os.Getpagesize())
	ring, err := d.PayloadRing(buf)
	if err != nil {
		return 0, err
	}
	if q.AreaBytes == 0 {
		return max(size, dmabuf.SizeFor(ring.Buffers, buf, q.HoldBytes)), nil
	}
	return size, dmabuf.CheckSize(size, ring.Buffers, buf, d.Name, ring.Most(d.Name, size/buf/4))
}

// newArea allocates size bytes, or more, of what the options ask for, for a NIC if there is one.
func newArea(q stream.NICQueue, size int, d *nic.Device) (*area, error) {
	unit := max(q.BufLen, os.Getpagesize())
	a := &area{kind: q.Area}
	if a.kind == "" {
		a.kind = dmabuf.Pages
		if q.BufLen > os.Getpagesize() {
			a.kind = dmabuf.Huge
		}
	}
	word, err := dmabuf.NearTo(d, a.kind)
	if err != nil {
		return nil, err
	}
	a.Memory, err = dmabuf.MakeAny(word, (size+unit-1)/unit*unit)
	return a, err
}

// registration describes the area as a ring takes it.
func (a *area) registration() uring.ZcrxArea {
	return uring.ZcrxArea{Bytes: a.Bytes, DMABuf: a.FD >= 0, FD: a.FD, Size: int(a.Size)}
}
