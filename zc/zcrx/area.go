// SPDX-License-Identifier: MIT

package zcrx

import (
	"cmp"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// area is the memory that payload is written into.
type area struct {
	kind  string // as the options have it
	start int    // what the NIC has of it at first; 0: all
	fd    int    // its memory, where other processes can map it; -1: they cannot
	*dmabuf.Memory
}

// areaBytes computes the size of the area: what the options ask for, which must fill the ring of
// d's queue, else the default, or more where ring and application need it; and what the NIC has of
// it at first, which must fill the ring, too. Without a NIC there is no ring.
func areaBytes(q stream.NICQueue, d *nic.Device) (size, start int, err error) {
	buf := max(q.BufLen, os.Getpagesize())
	size, start = cmp.Or(q.AreaBytes, stream.DefaultAreaBytes), (q.AreaStart+buf-1)/buf*buf
	if d != nil {
		ring, err := d.PayloadRing(buf)
		if err != nil {
			return 0, 0, err
		}
		if q.AreaBytes == 0 {
			size = max(size, dmabuf.SizeFor(ring.Buffers, buf, q.HoldBytes))
		}
		for _, n := range []int{q.AreaBytes, start} {
			if n == 0 {
				continue
			}
			if err := dmabuf.CheckSize(n, ring.Buffers, buf, d.Name, ring.Most(d.Name, n/buf/4)); err != nil {
				return 0, 0, err
			}
		}
	}
	if start >= size {
		return 0, 0, &fault.Error{Op: fmt.Sprintf("memory for payload that begins with %d bytes has %d in all", start,
			size), How: "use a smaller --area-start, or a larger --area-size"}
	}
	return size, start, nil
}

// newArea allocates size bytes, or more, of what the options ask for, for a NIC if there is one.
func newArea(q stream.NICQueue, size, start int, d *nic.Device) (*area, error) {
	unit := max(q.BufLen, os.Getpagesize())
	if q.Rings != nil && q.Rings.Processes { // with base pages and no others: see plan's rules
		a, err := newSharedArea((size + unit - 1) / unit * unit)
		if err == nil {
			a.start = start
		}
		return a, err
	}
	a := &area{kind: q.Area, start: start, fd: -1}
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
