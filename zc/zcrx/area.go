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
	kind stream.AreaKind
	mem  *uring.Memory
	dma  *dmabuf.Udmabuf
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

// newArea allocates size bytes of what the options ask for, in whole huge pages.
func newArea(q stream.NICQueue, size int) (*area, error) {
	const huge = 2 << 20
	unit := max(q.BufLen, 4096)
	a := &area{kind: q.Area}
	if a.kind == "" {
		a.kind = stream.AreaPages
		if q.BufLen > 4096 {
			a.kind = stream.AreaHuge
		}
	}
	if a.kind == stream.AreaHuge {
		unit = huge
	}
	size = (size + unit - 1) / unit * unit
	var err error
	switch a.kind {
	case stream.AreaUdmabuf:
		a.dma, err = dmabuf.NewUdmabuf(size)
	case stream.AreaHuge:
		a.mem, err = uring.NewMemory(size, uring.PagesHuge)
	case stream.AreaTHP:
		a.mem, err = uring.NewMemory(size, uring.PagesTransparent)
	default:
		a.mem, err = uring.NewMemory(size, uring.PagesBase)
	}
	return a, err
}

// registration describes the area as a ring takes it.
func (a *area) registration() uring.ZcrxArea {
	if a.dma != nil {
		return uring.ZcrxArea{Bytes: a.dma.Bytes(), DMABuf: true, FD: a.dma.FD()}
	}
	return uring.ZcrxArea{Bytes: a.mem.Bytes()}
}

func (a *area) size() int { return len(a.registration().Bytes) }

func (a *area) close() error {
	if a.dma != nil {
		return a.dma.Close()
	}
	return a.mem.Close()
}
